"""The strata of stratified sampling: weights, sizes and sums; sweeps before all are reached.

A sweep cuts a player's marginal contributions into B blocks of equal probability and draws *two*
independent ones from each block: two, because the difference of a pair says how much a block
varies, whatever the blocks' means are. Blocks come in random order, so that a sweep which the
budget cuts off is a simple random sample of blocks: its mean is unbiased at every stop, and the
variance of two-stage sampling (Cochran 1977, eq. 10.15) is estimated without bias from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.estimator import Estimate
from fairshapley.estimators.moments import Means, WeightedParts, floor_variances, whole_below

# Sizes that weigh together less than 1/(4n) share a stratum: a quarter of what a size weighs for
# Shapley values, so that no more than 4n strata are ever visited for nothing.
MERGE_BELOW = 0.25
# A turn of a sweep is two blocks: from one alone the variance between the blocks is unknown.
BLOCKS_PER_TURN = 2


@dataclass(frozen=True, eq=False)
class Part:
    """One estimate of every player's value, and how well its variance is known.

    The variance is a sum of components c_j·s_j², each with ν_j degrees of freedom.
    """

    values: FloatArray
    """NaN for a player without any"""
    variances: FloatArray
    """Σ c_j·s_j²; NaN where unknown"""
    variance_errors: FloatArray
    """The root of Σ (c_j·s_j²)²/(ν_j + 2), without bias half the variance of the variance. Its
    square would be a fourth power of the utility, which a float may not hold"""
    degrees: FloatArray
    """Σ ν_j"""


@dataclass(frozen=True, eq=False)
class Pool:
    """Sums over independent parts, each with a weight λ that depends on no value.

    A part without a variance serves only players that have no other: its variance would be
    missing in the sum for good.
    """

    known: WeightedParts
    """The parts with a variance"""
    unknown: WeightedParts
    """The parts without one"""
    variance_errors: FloatArray
    """The root of Σ λ⁴·error²"""
    degrees: FloatArray
    """Σ ν"""

    @classmethod
    def empty(cls, n_players: int) -> Pool:
        """Return the pool of no part.

        Examples
        --------
        >>> Pool.empty(1).mean()
        (array([nan]), array([nan]), array([0]))
        """
        parts = WeightedParts.none(n_players)
        return cls(parts, parts, *np.zeros((2, n_players)))

    def plus(self, weights: FloatArray | IntArray | float, part: Part) -> Pool:
        """Return the pool with one more part, for the players to which it gives a value."""
        valued = ~np.isnan(part.values)
        known = valued & ~np.isnan(part.variances) & (part.degrees > 0)
        used = np.where(known, weights, 0.0)
        values = np.where(valued, part.values, 0.0)
        # Players without weight add nothing, whatever their entries are.
        variances, variance_errors, degrees = (
            np.where(used > 0, entries, 0.0)
            for entries in (part.variances, part.variance_errors, part.degrees)
        )
        return Pool(
            self.known.plus(used, values, variances),
            self.unknown.plus(np.where(valued & ~known, weights, 0.0), values, 0.0),
            np.hypot(self.variance_errors, used**2 * variance_errors),
            self.degrees + degrees,
        )

    def mean(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the weighted mean, its variance and the degrees of freedom of that.

        Welch's formula (1947), V²/Σ[(c_j·s_j²)²/(ν_j + 2)] − 2 for V = Σ c_j·s_j²: 2·V²/Var(V)
        with both estimated without bias, hence ν for a single component whatever it is. At least
        1 and at most Σ ν_j, as the true number is; all of them where nothing varied.

        Examples
        --------
        >>> variances, degrees = np.array([2.0]), np.array([3.0])
        >>> part = Part(np.array([1.0]), variances, variances / np.sqrt(degrees + 2), degrees)
        >>> Pool.empty(1).plus(1.0, part).mean()
        (array([1.]), array([2.]), array([3]))
        >>> Pool.empty(1).plus(1.0, part).plus(1.0, part).mean()
        (array([1.]), array([1.]), array([6]))
        """
        values, variances = self.known.mean()
        values = np.where(self.known.weights > 0, values, self.unknown.mean()[0])
        varied = self.variance_errors > 0
        welch = np.square(self.known.variances / np.where(varied, self.variance_errors, 1.0)) - 2.0
        degrees = np.minimum(np.maximum(welch, 1.0), self.degrees)
        return values, variances, whole_below(np.where(varied, degrees, self.degrees))

    def estimate(self, contributions: IntArray, mean_square: float) -> Estimate:
        """Return the weighted mean, with a floor under its variance where nothing varied.

        Counts are one more than the degrees of freedom, or all contributions where nothing varied.
        """
        values, variances, degrees = self.mean()
        floored = floor_variances(variances, contributions, mean_square)
        equal = (floored != variances) & ~np.isnan(variances)
        counts = np.where(np.isnan(values), 0, np.where(equal, contributions, degrees + 1))
        # Parts of different spread have no common scale; only equal contributions show.
        return Estimate(values, floored, counts, extremes=np.where(equal, 0.0, np.nan))


@dataclass(frozen=True, eq=False)
class Strata:
    """The sizes 1 … n−2, grouped, and the weights of both exact ends.

    Examples
    --------
    >>> strata = Strata.of(np.array([0.2, 0.2, 0.2, 0.2, 0.2]))
    >>> strata.masses, strata.ends
    (array([0.2, 0.2, 0.2]), array([0.2, 0.2]))
    """

    first: IntArray
    """The smallest size of each stratum"""
    last: IntArray
    masses: FloatArray
    """The probability of each stratum"""
    mean_sizes: FloatArray
    ends: FloatArray
    """The probabilities α_0 and α_{n−1} of the exact sizes"""
    cumulative: FloatArray
    """Sums of the weights of the sizes 1 … k, from k = 0 on"""

    @classmethod
    def of(cls, weights: FloatArray) -> Strata:
        """Return the strata for the weights α_0 … α_{n−1}."""
        inner = weights[1:-1]
        cumulative = np.concatenate([[0.0], np.cumsum(inner)])
        closes = []
        mass = 0.0
        for size, weight in enumerate(inner.tolist(), start=1):
            mass += weight
            if mass >= MERGE_BELOW / len(weights):
                closes.append(size)
                mass = 0.0
        if len(inner):
            # What is left at the end joins the last stratum.
            closes = [*closes[:-1], len(inner)]
        last = np.array(closes, dtype=np.int64)
        first = np.concatenate([[1], last[:-1] + 1])[: len(last)]
        masses = cumulative[last] - cumulative[first - 1]
        moments = np.concatenate([[0.0], np.cumsum(inner * np.arange(1, len(inner) + 1))])
        totals = moments[last] - moments[first - 1]
        mean_sizes = totals / np.maximum(masses, np.finfo(float).tiny)
        return cls(first, last, masses, mean_sizes, weights[[0, -1]], cumulative)

    @property
    def count(self) -> int:
        """The number of strata of one player, without the exact ends."""
        return len(self.masses)

    @property
    def total(self) -> float:
        """The probability of all strata together."""
        return float(self.cumulative[-1])

    def at(self, quantiles: FloatArray) -> IntArray:
        """Return the strata at quantiles of the distribution over all strata."""
        found = np.searchsorted(np.cumsum(self.masses), quantiles * self.total, side="right")
        return np.minimum(found, self.count - 1)

    def random_sizes(self, rng: np.random.Generator, strata: IntArray) -> IntArray:
        """Return a size from each of the given strata, with the probabilities α_k."""
        first, last = self.first[strata], self.last[strata]
        levels = self.cumulative[first - 1] + rng.random(len(strata)) * self.masses[strata]
        sizes = np.searchsorted(self.cumulative, levels, side="right")
        return np.clip(sizes, first, last)

    def sums(self, cells: Means) -> Part:
        """Return Σ_k α_k·mean_ik of every player, with the variance Σ_k α_k²·s²_ik/m_ik.

        Strata without a sample leave their weight to the others of the same player, and those
        with a single one take their variance from all players. A player that has two samples in
        no stratum has no variance.
        """
        counts = cells.counts.reshape(-1, self.count)
        seen = counts > 0
        mass = seen @ self.masses
        masses = np.where(seen, self.masses, 0.0)
        masses *= (self.total / np.where(mass > 0, mass, np.nan))[:, None]
        values = (masses * cells.means.reshape(-1, self.count)).sum(axis=1)
        spreads = np.square(masses) * self.variances(cells) / np.maximum(counts, 1)
        degrees = np.maximum(counts - 1.0, 0.0)
        own = degrees.sum(axis=1)
        behind = np.where(degrees > 0, degrees, degrees.sum(axis=0))
        variance_errors = np.hypot.reduce(spreads / np.sqrt(behind + 2.0), axis=1)
        variances = np.where(own > 0, spreads.sum(axis=1), np.nan)
        return Part(values, variances, variance_errors, own)

    def variances(self, cells: Means) -> FloatArray:
        """Return s²_ik, from all players' samples of a stratum where it has less than two."""
        squares = cells.squares.reshape(-1, self.count)
        degrees = np.maximum(cells.counts.reshape(-1, self.count) - 1.0, 0.0)
        pooled = squares.sum(axis=0) / np.maximum(degrees.sum(axis=0), 1.0)
        return np.where(degrees > 0, squares / np.maximum(degrees, 1.0), pooled)


class Sweep:
    """One sweep of every player over its blocks, players in turn.

    Examples
    --------
    >>> sweep = Sweep(n_players=2, blocks=1)
    >>> sweep.add(np.array([0]), np.array([[0]]), np.array([[[1.0, 3.0]]]))
    >>> usable, part = sweep.summary()
    >>> usable, part.values, part.variances
    (array([1, 0]), array([ 2., nan]), array([ 1., nan]))
    """

    def __init__(self, n_players: int, blocks: int) -> None:
        self.n_players = n_players
        self.blocks = blocks
        self.position = 0
        self.visited: BoolArray = np.zeros((n_players, blocks), dtype=bool)
        self.between = Means(n_players)
        """The means of the pairs"""
        self.within, self.within_norm = np.zeros((2, n_players))
        """The sum of the pairs' variances, and the root of the sum of their squares"""
        self.pairs: IntArray = np.zeros(n_players, dtype=np.int64)
        """The pairs of which no evaluation was skipped"""

    @property
    def finished(self) -> bool:
        """Whether every player has visited every block."""
        return self.position >= self.n_players * -(-self.blocks // BLOCKS_PER_TURN)

    def choose(self, rng: np.random.Generator, marginals: int) -> tuple[IntArray, IntArray]:
        """Return the next players and the blocks of each, for about so many marginals."""
        lap, first = divmod(self.position, self.n_players)
        visits = min(BLOCKS_PER_TURN, self.blocks - BLOCKS_PER_TURN * lap)
        turns = max(1, marginals // (2 * visits))
        players = np.arange(first, min(self.n_players, first + turns))
        order = rng.random((len(players), self.blocks))
        order[self.visited[players]] = 2.0  # behind every block that was not visited
        if visits == self.blocks:
            return players, np.argsort(order, axis=1)
        return players, np.argpartition(order, visits - 1, axis=1)[:, :visits]

    def add(self, players: IntArray, blocks: IntArray, pairs: FloatArray) -> None:
        """Fold in the pairs of contributions, shape (players, blocks of a player, 2)."""
        self.visited[players[:, None], blocks] = True
        self.position += len(players)
        valid = ~np.isnan(pairs)
        both = valid.all(axis=2)
        kept = np.where(valid, pairs, 0.0).sum(axis=2)
        means = np.where(valid.any(axis=2), kept / np.maximum(valid.sum(axis=2), 1), np.nan)
        halves = np.where(both, 0.5 * np.square(pairs[:, :, 1] - pairs[:, :, 0]), 0.0)
        self.within[players] += halves.sum(axis=1)
        norms = np.hypot.reduce(halves, axis=1)
        self.within_norm[players] = np.hypot(self.within_norm[players], norms)
        self.pairs[players] += both.sum(axis=1)
        for column in means.T:
            self.between.add_at(players, column, once=True)

    def summary(self) -> tuple[IntArray, Part]:
        """Return how many blocks count for each player, and the mean over them with its variance.

        With P of B blocks visited, variance s₁² of the pairs' means and mean variance s₂² within
        the pairs: (1 − P/B)·s₁²/P + s₂²/(2B). s₁² has P − 1 degrees of freedom and every pair 1
        of its own, since blocks differ in how much they vary.
        """
        counts = self.between.counts
        whole = counts == self.blocks
        usable = np.where(whole | (counts > 1), counts, 0)
        cut_off = np.where(whole, 0.0, self.between.variances_of_means) * (
            1.0 - counts / self.blocks
        )
        share = 1.0 / (2.0 * self.blocks * np.maximum(self.pairs, 1))
        inside = np.where(self.pairs > 0, self.within, np.nan) * share
        degrees = np.where(whole, 0.0, np.maximum(counts - 1.0, 0.0))
        variance_errors = np.hypot(
            cut_off / np.sqrt(degrees + 2.0), self.within_norm * share / np.sqrt(3.0)
        )
        values = np.where(usable > 0, self.between.means, np.nan)
        return usable, Part(values, cut_off + inside, variance_errors, degrees + self.pairs)
