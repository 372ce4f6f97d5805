"""Border sizes, enumerated part by part: they then add no variance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairshapley._types import BoolArray, FloatArray
from fairshapley.estimators.size_plan import Border, SizeWeights, unrank

# A part holds n units, or so many on a small game: what is left of a budget below one part is lost.
LEAST_PART = 32


@dataclass(eq=False)
class Enumeration:
    """All coalitions of one size (for pairs, with their complements), and what they add up to."""

    border: Border
    n_players: int
    done: int = 0
    """Units told"""
    known: int = 0
    """Units told whose utility was not skipped"""
    sums: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.n_players)

    def next_masks(self) -> BoolArray:
        """The coalitions of the next part, one for each unit."""
        stop = min(self.border.units, self.done + max(self.n_players, LEAST_PART))
        return unrank(self.n_players, self.border.size, np.arange(self.done, stop))

    def add(self, masks: BoolArray, gains: FloatArray, weights: SizeWeights) -> None:
        """Fold in a part; NaN marks what was skipped."""
        known = ~np.isnan(gains)
        gains = np.where(known, gains, 0.0)
        inside = weights.inside[self.border.size - 1]
        outside = weights.outside[self.border.size - 1]
        self.sums += (inside + outside) * (gains @ masks) - outside * gains.sum()
        self.known += int(known.sum())
        self.done += len(gains)

    @property
    def finished(self) -> bool:
        """Whether every unit was told."""
        return self.done == self.border.units

    def values(self, weights: SizeWeights) -> FloatArray:
        """What the size (and its complement) adds to every value.

        The mean over all coalitions of the size; where some were skipped, over the others. A pair
        counts for two sizes, unless both are n/2.
        """
        twice = weights.paired and 2 * self.border.size != self.n_players
        values: FloatArray = (2.0 if twice else 1.0) / self.known * self.sums
        return values
