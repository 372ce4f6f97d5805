"""Coalition sizes of the regression-adjusted estimator: their weights, and how often to draw them.

A coalition S of size s, drawn with probability p_s/C(n, s), contributes to player i

    x_i(S) = r(S)/p_s·(inside_s if i ∈ S else −outside_s),

inside_s = n·α_{s−1}/s and outside_s = n·α_s/(n − s). Summed over the sizes 1 … n − 1 its
expectation is the semivalue of r but for the endpoints, α_{n−1}·r(N) − α_0·r(∅).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.semivalues import Semivalue

# The base plan's share of every later plan: no weight 1/p_s exceeds ten times that of the base.
BASE_SHARE = 0.1
# Smoothing of the residuals' second moment over θ = arcsin √(s/n), which runs from 0 to π/2 and in
# which the base plan of the Shapley value is uniform.
BANDWIDTH = 0.12
BINS = 64
# Sizes as near as this in θ are taken for alike: neighbours from 100 players on.
NEAR = 0.02
# So many units of the mean second moment are added to what a size has seen itself.
PRIOR_UNITS = 4.0
# α_k and α_{n−1−k} are equal but for the rounding of their logarithms.
SYMMETRIC = 1e-9
# Sizes with more coalitions are never enumerated.
MAX_ENUMERATED = 10**12


@dataclass(frozen=True, eq=False)
class SizeWeights:
    """The weights of the sizes s = 1 … n − 1; entry s − 1 of every array belongs to size s.

    Examples
    --------
    >>> from fairshapley.semivalues import Shapley
    >>> weights = SizeWeights.of(Shapley(), 4)
    >>> weights.paired, weights.inside.round(2)
    (True, array([1.  , 0.5 , 0.33]))
    """

    semivalue: Semivalue
    n_players: int
    inside: FloatArray
    outside: FloatArray
    ends: tuple[float, float]
    """α_0 and α_{n−1}"""
    prices: FloatArray | None = field(default=None, kw_only=True)
    """What a coalition costs on average; a pair costs that of its two"""
    paired: bool
    """Whether α_k = α_{n−1−k}: then a coalition and its complement form one unit, in which only
    the difference of their utilities counts"""

    @classmethod
    def of(
        cls, semivalue: Semivalue, n_players: int, prices: FloatArray | None = None
    ) -> SizeWeights:
        """Return the weights of a semivalue; `prices` of the sizes 0 … n where they differ."""
        alpha = semivalue.weights(n_players)
        sizes = np.arange(1.0, n_players)
        paired = bool(np.allclose(alpha, alpha[::-1], rtol=SYMMETRIC, atol=0.0))
        return cls(
            semivalue,
            n_players,
            n_players * alpha[:-1] / sizes,
            n_players * alpha[1:] / (n_players - sizes),
            (float(alpha[0]), float(alpha[-1])),
            paired,
            prices=None if prices is None else prices[1:-1] / prices[1:-1].mean(),
        )

    @cached_property
    def sizes(self) -> FloatArray:
        """1 … n − 1."""
        return np.arange(1.0, self.n_players)

    @cached_property
    def power(self) -> FloatArray:
        """Σ_i x_i² = power_s·(r/p_s)² for a coalition of size s."""
        sizes = self.sizes
        rest = self.n_players - sizes
        return sizes * self.inside**2 + rest * self.outside**2

    @cached_property
    def base(self) -> FloatArray:
        """The plan p_s ∝ √power_s: the best one when the residuals are alike at all sizes."""
        return self._planned(np.sqrt(self.power))

    def _planned(self, roots: FloatArray) -> FloatArray:
        """Return probabilities in proportion; where sizes have prices, over the root of the price.

        For a given total cost that is the best: Neyman's allocation with costs.
        """
        return _normalised(roots if self.prices is None else roots / np.sqrt(self.unit_prices))

    @cached_property
    def unit_prices(self) -> FloatArray:
        """The price of a unit for each of its coalitions."""
        prices = np.ones(self.n_players - 1) if self.prices is None else self.prices
        return 0.5 * (prices + prices[::-1]) if self.paired else prices

    @cached_property
    def linear(self) -> FloatArray:
        """E[x_i(z_i)] at size s, for z_i = 2·[i ∈ S] − 2s/n; −1/(n − 1) of it is E[x_i(z_j)]."""
        sizes, n = self.sizes, self.n_players
        spread = 2.0 * sizes * (n - sizes) / n**2
        return spread * (self.inside + self.outside)

    @cached_property
    def constant(self) -> FloatArray:
        """E[x_i(1)] at size s: α_{s−1} − α_s."""
        sizes, n = self.sizes, self.n_players
        return (sizes * self.inside - (n - sizes) * self.outside) / n

    def neyman(self, sizes: IntArray, squares: FloatArray) -> FloatArray:
        """Return the plan p_s ∝ τ_s·√power_s, τ_s² the second moment of residuals at size s.

        Parameters
        ----------
        sizes
            The sizes of the units drawn so far.
        squares
            Their squared residuals.
        """
        return self.neyman_of(*self._by_size(sizes, squares))

    def neyman_of(self, counts: FloatArray, sums: FloatArray) -> FloatArray:
        """Return that plan from the units of each size and the sums of their squared residuals."""
        moments = self.moments(counts, sums)
        if not moments.any():
            return self.base
        best = self._planned(np.sqrt(moments * self.power))
        return (1.0 - BASE_SHARE) * best + BASE_SHARE * self.base

    def importance(self, plan: FloatArray) -> FloatArray:
        """Return what a squared residual of each size counts in a regression: 1 on average."""
        possible = np.where(plan > 0, plan, np.inf)
        return self.power / possible**2 / float((self.power / possible).sum())

    def near(self, sizes: IntArray) -> BoolArray:
        """Return which of the sizes 1 … n − 1 are near the size of a unit drawn so far."""
        seen = np.zeros(self.n_players - 1, dtype=np.bool_)
        seen[sizes - 1] = True
        if self.paired:
            seen |= seen[::-1]
        angles = np.arcsin(np.sqrt(self.sizes / self.n_players))
        drawn = np.r_[-np.inf, angles[seen], np.inf]
        after = np.searchsorted(drawn, angles)
        gaps = np.minimum(drawn[after] - angles, angles - drawn[after - 1])
        near: BoolArray = gaps <= NEAR
        return near

    def difficulty(self, sizes: IntArray, squares: FloatArray, interior: BoolArray) -> float:
        """Return (Σ_s τ_s·√power_s)², the variance of a unit under the best plan over all players.

        Parameters
        ----------
        sizes, squares
            As in `neyman`.
        interior
            Of the sizes 1 … n − 1, those that are sampled.
        """
        roots = np.sqrt(self.moments(*self._by_size(sizes, squares)) * self.power)
        if self.prices is not None:  # the variance at a given cost
            roots = roots * np.sqrt(self.unit_prices)
        return float(np.where(interior, roots, 0.0).sum()) ** 2

    def _by_size(self, sizes: IntArray, squares: FloatArray) -> NDArray[Any]:
        """Return the number of units of each size, and the sums of their squared residuals."""
        weights = (np.ones_like(squares), squares)
        return np.array([np.bincount(sizes - 1, each, self.n_players - 1) for each in weights])

    def moments(self, counts: FloatArray, sums: FloatArray) -> FloatArray:
        """Return τ_s², smoothed over the sizes; 0 where all residuals are."""
        if self.paired:  # the two coalitions of a unit have one residual
            counts, sums = counts + counts[::-1], sums + sums[::-1]
        mean = sums.sum() / max(counts.sum(), 1.0)
        if mean <= 0:
            return np.zeros(self.n_players - 1)
        angles = np.arcsin(np.sqrt(self.sizes / self.n_players))
        bins = (angles * (2.0 * BINS / np.pi)).astype(np.int64)
        centres = (np.arange(BINS) + 0.5) * (0.5 * np.pi / BINS)
        smooth = np.exp(-0.5 * np.square((centres[:, None] - centres) / BANDWIDTH))
        seen = np.bincount(bins, weights=counts, minlength=BINS) @ smooth
        total = np.bincount(bins, weights=sums, minlength=BINS) @ smooth
        moment: FloatArray = ((total + PRIOR_UNITS * mean) / (seen + PRIOR_UNITS))[bins]
        if self.paired:
            # A bin may hold a size without its complement; a pair needs one probability for both.
            moment = 0.5 * (moment + moment[::-1])
        return moment


def _normalised(weights: FloatArray) -> FloatArray:
    total = weights.sum()
    return weights / total if total > 0 else weights


@dataclass(frozen=True, eq=False)
class Border:
    """A size, or for pairs a size and its complement, that may be enumerated."""

    size: int
    units: int
    """Coalitions, or pairs, that there are"""
    due: float
    """Enumerated once this many units were told: sampling would have met each about once"""


def borders(weights: SizeWeights) -> list[Border]:
    """Return all sizes by the time at which they are due, which the base plan alone decides.

    A rule that looked at the values would enumerate sizes that looked noisy and leave those that
    looked quiet by chance: biased.

    Examples
    --------
    >>> from fairshapley.semivalues import Shapley
    >>> [(b.size, b.units, round(b.due)) for b in borders(SizeWeights.of(Shapley(), 6))]
    [(1, 6, 13), (2, 15, 41), (3, 10, 58)]
    """
    n_players = weights.n_players
    found = []
    low = range(1, n_players // 2 + 1)
    high = () if weights.paired else range(n_players - 1, n_players // 2, -1)
    for size in (*_small(low, n_players), *_small(high, n_players)):
        share, units = float(weights.base[size - 1]), math.comb(n_players, size)
        if weights.paired and 2 * size == n_players:
            units //= 2
        elif weights.paired:
            share *= 2.0
        if share > 0:
            found.append(Border(size, units, units / share))
    return sorted(found, key=lambda border: border.due)


def _small(sizes: Iterable[int], n_players: int) -> Iterator[int]:
    """Return the sizes from the border inwards, up to the first that no run will ever enumerate."""
    return takewhile(lambda size: math.comb(n_players, size) < MAX_ENUMERATED, sizes)
