"""Moments of contributions that are alike for all players inside, and for all outside.

A unit contributes c_i + a_t to the players inside and c_i + b_t to those outside, so that sums and
sums of squares are products of the masks with two numbers for each unit: a third of the time that
it takes to make the contributions and add them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.moments import Moments


def power_of_two(size: float) -> float:
    """The power of two next to a size, 1 for 0: dividing by it rounds nothing."""
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0


@dataclass(frozen=True, eq=False)
class TwoValued:
    """What units give to players inside and outside, in a unit near the largest of them.

    Examples
    --------
    >>> masks = np.array([[1, 0], [1, 1]])
    >>> units = TwoValued.of(np.array([1, 2]), np.array([1.0, 3.0]), np.array([5.0, 0.0]))
    >>> moments = units.moments(units.columns() @ masks, np.zeros(2))
    >>> moments.means, moments.squares
    (array([2., 4.]), array([2., 2.]))
    """

    sizes: IntArray
    """The players inside"""
    unit: float
    inside: FloatArray
    """a, divided by the unit"""
    outside: FloatArray
    """b, divided by the unit"""

    @classmethod
    def of(cls, sizes: IntArray, inside: FloatArray, outside: FloatArray) -> TwoValued:
        """Units of these sizes that contribute a and b."""
        unit = power_of_two(float(np.abs([inside, outside]).max(initial=0.0)))
        return cls(sizes, unit, inside / unit, outside / unit)

    def _sum(self, inside: FloatArray, outside: FloatArray, n_players: int) -> float:
        """The sum over all units and players."""
        return float(self.sizes @ inside + (n_players - self.sizes) @ outside)

    def power(self, n_players: int) -> float:
        """The sum of the squares over all units and players, without what is common."""
        return self.unit**2 * self._sum(self.inside**2, self.outside**2, n_players)

    def columns(self) -> FloatArray:
        """What a product with the masks needs for sums of the first three powers."""
        return np.stack([self.inside**power - self.outside**power for power in (1, 2, 3)])

    def moments(self, products: FloatArray, common: FloatArray) -> Moments:
        """The moments without extremes, from the product of the columns with the masks.

        Parameters
        ----------
        products
            May be of single precision: what all players have together is known better, and is
            put right.
        common
            c of each player.
        """
        sums, squares = products[0] + self.outside.sum(), products[1] + (self.outside**2).sum()
        sums += (self._sum(self.inside, self.outside, len(sums)) - sums.sum()) / len(sums)
        means = sums / len(self.sizes)
        within = self.unit**2 * np.maximum(squares - sums * means, 0.0)
        cubes = products[2] + (self.outside**3).sum()
        cubes += means * (2.0 * sums * means - 3.0 * squares)
        return Moments.of(len(self.sizes), self.unit * means + common, within, self.unit**3 * cubes)

    def rows(self, masks: NDArray[Any], chosen: IntArray | slice) -> FloatArray:
        """The contributions of some units to every player, without what is common."""
        inside, outside = self.unit * self.inside[chosen], self.unit * self.outside[chosen]
        return np.where(masks[chosen] > 0, inside[:, None], outside[:, None])

    def add_to(self, moments: Moments, masks: NDArray[Any], common: FloatArray) -> None:
        """Fold the units into `moments`, with their extremes.

        Examples
        --------
        >>> moments, masks = Moments(2), np.array([[1, 0], [1, 1]])
        >>> units = TwoValued.of(np.array([1, 2]), np.array([1.0, 3.0]), np.array([5.0, 0.0]))
        >>> units.add_to(moments, masks, np.zeros(2))
        >>> moments.means, moments.squares, moments.highest
        (array([2., 4.]), array([2., 2.]), array([3., 5.]))
        """
        part = self.moments(self.columns() @ masks.astype(np.float64, copy=False), common)
        # Only units beyond the least of the extremes so far can be a new one of some player.
        highest = self.unit * np.maximum(self.inside, self.outside)
        lowest = self.unit * np.minimum(self.inside, self.outside)
        above = highest > (moments.highest - common).min()
        below = lowest < (moments.lowest - common).max()
        if len(chosen := np.flatnonzero(above | below)):
            values = self.rows(masks, chosen) + common
            part.lowest, part.highest = values.min(axis=0), values.max(axis=0)
        moments.merge(part)
