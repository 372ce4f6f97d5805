"""What a run keeps in memory: utilities already known, and replicates of them.

Replicates are what utilities change by when one group of test rows after the other is left out.
They come with the utilities, at no further fit, and become the error of the test set when a run has
ended: see `fairshapley.runs.known_coalitions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import FloatArray

# Measured on CPython 3.11: a bytes key of k bytes takes k + 33, a float 24, a slot of a dict that
# is two thirds full about 50.
ENTRY_OVERHEAD = 107
CACHE_BYTES = 512 * 2**20
# Replicates take so much memory, and as much of a journal: those of 240 000 coalitions. When there
# are more, every second one is dropped: an error needs no more.
REPLICATE_BYTES = 64 * 2**20
# A bytes object takes 33 bytes beside its content, and a slot of a dict that is two thirds full 50.
REPLICATE_OVERHEAD = 2 * 33 + 50


def entry_bytes(n_players: int) -> int:
    """Return the memory of one utility with its coalition."""
    return ENTRY_OVERHEAD + bits.width(n_players)


def _ends(n_players: int) -> list[bytes]:
    """Return the keys of ∅ and N."""
    return bits.keys(np.array([[False] * n_players, [True] * n_players]))


class Cache(dict[bytes, float]):
    """Utilities by coalition; when there is no more room, all but v(∅) and v(N) are forgotten.

    That happens only between rounds, so that what is remembered does not depend on the size of an
    engine's chunks.
    """

    def __init__(self, n_players: int, max_bytes: int) -> None:
        super().__init__()
        self.n_players = n_players
        self.longest_round = max(1, max_bytes // (2 * entry_bytes(n_players)))
        """The most coalitions of a round that is remembered: half of what there is room for"""

    def first(self, count: int) -> dict[bytes, float]:
        """Return up to `count` that are remembered: N first, ∅ never."""
        empty, full = _ends(self.n_players)
        keys = dict.fromkeys([full, *islice(self, count + 2)])
        known = {key: self[key] for key in keys if key in self and key != empty}
        return dict(islice(known.items(), count))

    def make_room(self) -> None:
        """Forget utilities where another round might not fit; called between rounds."""
        if len(self) > self.longest_round:
            ends = {key: self[key] for key in _ends(self.n_players) if key in self}
            self.clear()
            self.update(ends)

    @property
    def complete(self) -> bool:
        """Whether every coalition of the game is remembered."""
        return len(self) == 1 << self.n_players

    def table(self) -> FloatArray:
        """Return all 2**n utilities, indexed by bit mask; only for a complete cache."""
        table = np.full(1 << self.n_players, np.nan)
        table[[int.from_bytes(key, "little") for key in self]] = list(self.values())
        return table


class Replicates:
    """The replicates of a run, by coalition."""

    def __init__(self, n_players: int, n_groups: int, max_bytes: int = REPLICATE_BYTES) -> None:
        self.n_players = n_players
        self.n_groups = n_groups
        self.room = max(2, max_bytes // (REPLICATE_OVERHEAD + bits.width(n_players) + 4 * n_groups))
        self._rows: dict[bytes, bytes] = {}
        self._ends = set(_ends(n_players))
        self._every = 1

    def __len__(self) -> int:
        return len(self._rows)

    def wanted(self, rows: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Return the replicates that are kept: which ones follows from their coalitions alone.

        The first ones would not do: all coalitions in order begin with coalitions of few players.
        """
        return {
            key: row
            for key, row in rows.items()
            if crc32(key) % self._every == 0 or key in self._ends
        }

    def add_packed(self, rows: Mapping[bytes, bytes]) -> None:
        """Add replicates; rows with a different group count are ignored."""
        size = 4 * self.n_groups
        self._rows.update((key, row) for key, row in self.wanted(rows).items() if len(row) == size)
        while len(self._rows) > self.room:
            self._every *= 2
            self._rows = self.wanted(self._rows)

    def sorted(self) -> tuple[list[bytes], NDArray[np.float32]]:
        """Return the coalitions in the order of their keys, and their changes, shape (m, groups).

        The order of arrival follows the engine, and must not show in a result.
        """
        keys = sorted(self._rows)
        joined = b"".join(self._rows[key] for key in keys)
        return keys, np.frombuffer(joined, dtype="<f4").reshape(len(keys), self.n_groups)
