"""The bounded memory of utilities already known in this run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import FloatArray

# Measured on CPython 3.11: a bytes key of k bytes takes k + 33, a float 24, a slot of a dict that
# is two thirds full about 50.
ENTRY_OVERHEAD = 107
CACHE_BYTES = 512 * 2**20


def entry_bytes(n_players: int) -> int:
    """The memory of one utility with its coalition."""
    return ENTRY_OVERHEAD + -(-n_players // 8)


class Cache:
    """Two generations of utilities by coalition; a full young one makes the older one go.

    The generations change only between rounds, so that what is remembered does not depend on the
    size of an engine's chunks. v(∅) and v(N), which every round may need, are never dropped.
    """

    def __init__(self, n_players: int, max_bytes: int) -> None:
        self.n_players = n_players
        self.generation_size = max(1, max_bytes // (2 * entry_bytes(n_players)))
        self._young: dict[bytes, float] = {}
        self._old: dict[bytes, float] = {}
        self._ends = bits.keys(np.array([[False] * n_players, [True] * n_players]))

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: bytes) -> float | None:
        """The utility of a coalition, None when it is not remembered."""
        value = self._young.get(key)
        return self._old.get(key) if value is None else value

    def get_many(self, keys: list[bytes]) -> list[float | None]:
        """The utilities of several coalitions."""
        if self._old:
            return [self.get(key) for key in keys]
        return list(map(self._young.get, keys))

    def some(self, count: int) -> dict[bytes, float]:
        """N and the first few coalitions that are remembered, without ∅."""
        empty, full = self._ends
        keys = [full, *(key for key in islice(self._young, count + 2) if key not in (empty, full))]
        known = {key: self._young[key] for key in keys if key in self._young}
        return {key: known[key] for key in islice(known, count)}

    def update(self, entries: Iterable[tuple[bytes, float]]) -> None:
        """Remember utilities."""
        self._young.update(entries)

    def turn(self) -> None:
        """Between rounds: start a new generation when the young one is full."""
        if len(self._young) > self.generation_size:
            ends = {key: self.get(key) for key in self._ends}
            self._old, self._young = self._young, {}
            for key, value in ends.items():
                self._old.pop(key, None)
                if value is not None:
                    self._young[key] = value

    @property
    def complete(self) -> bool:
        """Whether every coalition of the game is remembered."""
        return len(self) == 1 << self.n_players

    def entries(self) -> tuple[list[bytes], FloatArray]:
        """All coalitions that are remembered, in the order of their keys, and their utilities."""
        keys = sorted({**self._old, **self._young})
        return keys, np.array([self.get(key) for key in keys], dtype=np.float64)

    def table(self) -> FloatArray:
        """All 2**n utilities, indexed by bit mask; only for a complete cache."""
        table = np.full(1 << self.n_players, np.nan)
        for generation in (self._old, self._young):
            index = [int.from_bytes(key, "little") for key in generation]
            table[index] = list(generation.values())
        return table
