"""Replicates: what utilities change by when one group of test rows after the other is left out.

They come with the utilities, at no further fit, and become the error of the test set when a run has
ended: see `fairshapley.runs.other_test_sets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.games.abilities import ReplicatedGame, has_replicates
from fairshapley.games.game import Game

# Replicates take so much memory, and as much of a journal: those of 240 000 coalitions. When there
# are more, every second one is dropped: an error needs no more.
REPLICATE_BYTES = 64 * 2**20
# A bytes object takes 33 bytes beside its content, and a slot of a dict that is two thirds full 50.
ENTRY_OVERHEAD = 2 * 33 + 50


class WithReplicates:
    """The game as an engine computes it: utilities and replicates in columns."""

    def __init__(self, game: Game) -> None:
        assert has_replicates(game)  # noqa: S101 - asked before
        self.game: ReplicatedGame = game
        self.n_players = game.n_players
        self.n_columns = 1 + game.n_replicates

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The columns of each coalition."""
        return self.game.with_replicates(coalitions)


class Replicates:
    """The replicates of a run, by coalition."""

    def __init__(self, n_players: int, n_groups: int, max_bytes: int = REPLICATE_BYTES) -> None:
        self.n_players = n_players
        self.n_groups = n_groups
        self.room = max(2, max_bytes // (ENTRY_OVERHEAD + -(-n_players // 8) + 4 * n_groups))
        self._rows: dict[bytes, bytes] = {}
        self._ends = set(bits.keys(np.array([[False] * n_players, [True] * n_players])))
        self._every = 1

    @classmethod
    def of(cls, game: Game | None, n_players: int) -> Replicates | None:
        """An empty store for a game that gives replicates."""
        return cls(n_players, game.n_replicates) if has_replicates(game) else None

    def __len__(self) -> int:
        return len(self._rows)

    def wanted(self, rows: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        """Those of some replicates that are kept: which ones follows from their coalitions alone.

        The first ones would not do: all coalitions in order begin with those of few players.
        """
        if self._every == 1:
            return rows
        return {
            key: row
            for key, row in rows.items()
            if crc32(key) % self._every == 0 or key in self._ends
        }

    def add_packed(self, rows: Mapping[bytes, bytes]) -> None:
        """Keep some more; those of another number of groups are none."""
        size = 4 * self.n_groups
        self._rows.update((key, row) for key, row in self.wanted(rows).items() if len(row) == size)
        while len(self._rows) > self.room:
            self._every *= 2
            self._rows = dict(self.wanted(self._rows))

    def sorted(self) -> tuple[list[bytes], NDArray[np.float32]]:
        """The coalitions in the order of their keys, and their changes, shape (m, groups).

        The order of arrival follows the engine, and must not show in a result.
        """
        keys = sorted(self._rows)
        joined = b"".join(self._rows[key] for key in keys)
        return keys, np.frombuffer(joined, dtype="<f4").reshape(len(keys), self.n_groups)
