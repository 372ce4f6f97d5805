"""Border sizes, enumerated part by part: they then add no variance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.estimators.adjusted.size_plan import Border, SizeWeights

# A part holds n units, or this many on a small game: a budget left over below one part is lost.
MIN_PART = 32
# Nor more than fit 64 MiB as masks, above 8192 players.
PART_ENTRIES = 1 << 26


@dataclass(eq=False)
class Enumeration:
    """All coalitions of one size (for pairs, with their complements), and what they add up to."""

    border: Border
    n_players: int
    least: int | None = None
    """The units of the first part, for small budgets; parts then grow by a quarter"""
    done: int = 0
    """Units told"""
    known: int = 0
    """Units told whose utility was not skipped"""
    sums: FloatArray = field(init=False)
    """The gains of the units that each player is in"""
    members: FloatArray = field(init=False)
    """How many they are"""
    total: float = 0.0
    """The gains of all units"""

    def __post_init__(self) -> None:
        self.sums, self.members = np.zeros(self.n_players), np.zeros(self.n_players)

    def next_masks(self) -> BoolArray:
        """Return the coalitions of the next part, one for each unit."""
        part = max(min(self.n_players, PART_ENTRIES // self.n_players), MIN_PART)
        if self.least is not None:
            part = min(part, max(self.least, self.done // 4))
        stop = min(self.border.units, self.done + part)
        return bits.unrank(np.arange(self.done, stop), self.n_players, self.border.size)

    def add(self, masks: BoolArray, gains: FloatArray) -> None:
        """Fold in a part; NaN marks what was skipped."""
        known = ~np.isnan(gains)
        self.sums += gains[known] @ masks[known]
        self.members += masks[known].sum(axis=0)
        self.total += float(gains[known].sum())
        self.known += int(known.sum())
        self.done += len(gains)

    @property
    def finished(self) -> bool:
        """Whether every unit was told."""
        return self.done == self.border.units

    def values(self, weights: SizeWeights) -> FloatArray:
        """Return what the size (and its complement) adds to every value.

        The mean over all coalitions of the size; where some were skipped, over the others. A pair
        counts for two sizes, unless both are n/2.

        What the gains have in common adds the same to every player. It is taken out first, or the
        values of those in many of the skipped coalitions would depend on where utilities have
        their zero. (For n/2 the units are half of the coalitions, and it has no meaning.)
        """
        at, half = self.border.size - 1, weights.paired and 2 * self.border.size == self.n_players
        inside, outside = weights.inside[at], weights.outside[at]
        common = 0.0 if half else self.total / self.known
        within = self.sums - common * self.members
        rest = self.total - common * self.known
        values: FloatArray = ((inside + outside) * within - outside * rest) / self.known
        values += common * weights.constant[at]
        return values if half or not weights.paired else 2.0 * values
