"""A memory of utilities that all trials of a scenario share: it changes no count, only the time."""

from __future__ import annotations

import numpy as np

from fairshapley._types import BoolArray, FloatArray
from fairshapley.games.base import Game

# About 150 bytes each with their keys.
MOST_UTILITIES = 4_000_000


def coalition_keys(masks: BoolArray) -> list[bytes]:
    """Each coalition as bytes."""
    packed = np.packbits(masks, axis=1)
    width = packed.shape[1]
    raw = packed.tobytes()
    return [raw[start : start + width] for start in range(0, len(raw), width)]


class Memo:
    """A game that remembers its utilities.

    Examples
    --------
    >>> import fairshapley as fs
    >>> memo = Memo(fs.games.Additive([1.0, 2.0]))
    >>> masks = np.array([[True, False], [True, True]])
    >>> memo(masks), memo(masks), memo.computed
    (array([1., 3.]), array([1., 3.]), 2)
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.n_players = int(game.n_players)
        self.computed = 0
        self._known: dict[bytes, float] = {}

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row, computed when it is new."""
        return self.look_up(coalition_keys(coalitions), coalitions)

    def look_up(self, keys: list[bytes], coalitions: BoolArray) -> FloatArray:
        """As a call, for coalitions whose keys are known."""
        new = {key: row for row, key in enumerate(keys) if key not in self._known}
        fresh: dict[bytes, float] = {}
        if new:
            values = self.game(coalitions[list(new.values())])
            fresh = dict(zip(new, values.tolist(), strict=True))
            self.computed += len(fresh)
            if len(self._known) + len(fresh) <= MOST_UTILITIES:
                self._known.update(fresh)
        known = self._known
        return np.array([known[key] if key in known else fresh[key] for key in keys])
