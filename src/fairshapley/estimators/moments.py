"""Mergeable statistics of the contributions behind each player's value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.estimator import Estimate

# A standard deviation below this share of the contributions' root mean square is rounding: it is
# treated as a variance of zero, which is not certainty.
ROUNDING = 1e-9
# The least normal number: what it is put in place of is 0, and so is what it divides.
TINY = np.finfo(np.float64).tiny
# To sort the entries takes longer than to go through a table of eight times as many.
SPARSE = 8
# On a device terms are rounded to whole multiples of 2⁻⁴⁰ of the largest, or of a tiny number where
# all are 0: their sum does not depend on the order in which a GPU takes them, and 2²² fit 63 bits.
FIXED_POINT, TINY_SCALE = 2.0**40, 1e-150


def may_overflow() -> np.errstate:
    """Return the context for cubes, which may overflow where squares do not."""
    return np.errstate(over="ignore", invalid="ignore")


class Means:
    """Count, mean and sums of squared and cubed deviations in every entry of a table.

    Batches are merged by the formulas of Chan, Golub & LeVeque and of Pébay, which lose no accuracy
    when the mean is large against the deviations.

    Examples
    --------
    >>> means = Means(2)
    >>> means.add_at(np.array([1, 1, 0]), np.array([1.0, 3.0, np.nan]))
    >>> means.counts, means.means, means.squares
    (array([0, 2]), array([0., 2.]), array([0., 2.]))
    """

    def __init__(self, entries: int) -> None:
        self.counts: IntArray = np.zeros(entries, dtype=np.int64)
        self.means, self.squares, self.cubes = np.zeros((3, entries))

    def merge_at(
        self,
        at: IntArray | slice,
        counts: NDArray[Any] | float,
        means: FloatArray,
        squares: FloatArray | float,
        cubes: FloatArray | float = 0.0,
    ) -> None:
        """Fold a batch into each of the entries `at`, which come once."""
        before, middle, spread = self.counts[at], self.means[at], self.squares[at]
        total = before + counts
        shares = counts / np.maximum(total, TINY)
        kept = before / np.maximum(total, TINY)
        deltas = means - middle
        self.means[at] = middle + deltas * shares
        between = deltas * deltas * (before * shares)
        with may_overflow():
            mixed = 3.0 * deltas * (kept * squares - shares * spread)
            self.cubes[at] = self.cubes[at] + cubes + between * deltas * (kept - shares) + mixed
        self.squares[at] = spread + squares + between
        self.counts[at] = total

    def add_at(self, at: IntArray, values: FloatArray, *, once: bool = False) -> None:
        """Fold in values for the entries `at`; NaN is left out.

        An entry may come several times, unless the caller knows that each comes `once`.
        """
        kept = ~np.isnan(values)
        if not kept.all():
            at, values = at[kept], values[kept]
        if once or len(at) == 1:
            self.merge_at(at, 1, values, 0.0)
            return
        found: IntArray | slice = slice(None)
        if SPARSE * len(at) < len(self.means):
            found, at = np.unique(at, return_inverse=True)
        entries = len(self.means[found])

        def sums(terms: FloatArray) -> NDArray[Any]:
            return np.bincount(at, terms, entries)

        counts = np.bincount(at, minlength=entries)
        means = sums(values) / np.maximum(counts, 1)
        deviations = values - means[at]
        squares = np.square(deviations)
        with may_overflow():
            cubes = sums(squares * deviations)
        self.merge_at(found, counts, means, sums(squares), cubes)

    @property
    def variances_of_means(self) -> FloatArray:
        """The estimated variance of each mean; NaN below two contributions."""
        enough = self.counts > 1
        degrees = np.where(enough, self.counts * (self.counts - 1.0), 1.0)
        return np.where(enough, self.squares / degrees, np.nan)

    @property
    def mean_square(self) -> float:
        """τ², the mean square of everything folded in; 0 without any."""
        total = float(self.counts.sum())
        return float((self.squares + self.counts * self.means**2).sum()) / max(total, 1.0)


class Moments(Means):
    """Count, mean, sum of squared deviations and extremes of each player's contributions.

    Contributions that are NaN (their evaluation failed and was skipped) are left out.

    Examples
    --------
    >>> moments = Moments(2)
    >>> moments.add(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> moments.means, moments.counts
    (array([2., 5.]), array([2, 2]))
    >>> moments.variances_of_means
    array([1., 0.])
    """

    def __init__(self, n_players: int) -> None:
        super().__init__(n_players)
        self.lowest: FloatArray = np.full(n_players, np.inf)
        self.highest: FloatArray = np.full(n_players, -np.inf)

    def add(self, contributions: FloatArray) -> None:
        """Fold in rows of one contribution per player, (rows, n_players)."""
        rows, n_players = contributions.shape
        # A mean is NaN where a contribution is; no other pass is needed to see it.
        means = contributions.sum(axis=0) / max(rows, 1)
        if np.isnan(means).any():
            self.add_at(np.tile(np.arange(n_players), rows), contributions.ravel())
            return
        deviations = contributions - means
        powers = np.square(deviations)
        squares = powers.sum(axis=0)
        with may_overflow():
            cubes = (powers * deviations).sum(axis=0)
        lowest = contributions.min(axis=0, initial=np.inf)
        highest = contributions.max(axis=0, initial=-np.inf)
        self.add_sums(rows, means, squares, cubes, lowest, highest)

    def add_sums(
        self,
        counts: NDArray[Any] | float,
        means: FloatArray,
        squares: FloatArray,
        cubes: FloatArray | float,
        lowest: FloatArray,
        highest: FloatArray,
    ) -> None:
        """Fold in contributions of which these sums are known, for every player."""
        self.merge_at(slice(None), counts, means, squares, cubes)
        self.lowest = np.minimum(self.lowest, lowest)
        self.highest = np.maximum(self.highest, highest)

    def add_at(self, at: IntArray, values: FloatArray, *, once: bool = False) -> None:
        """Fold in contributions of the players `at`, as `Means.add_at` does."""
        super().add_at(at, values, once=once)
        np.fmin.at(self.lowest, at, values)
        np.fmax.at(self.highest, at, values)

    def merge(self, other: Moments) -> None:
        """Fold in the statistics of other contributions to the same players."""
        sums = other.counts, other.means, other.squares, other.cubes
        self.add_sums(*sums, other.lowest, other.highest)

    def estimate(self, each: int = 1) -> Estimate:
        """Return the means as an estimate, with floors under the variances.

        A contribution may be the mean of `each` marginals: where contributions were equal, these
        were too.
        """
        values = np.where(self.counts > 0, self.means, np.nan)
        variances = floor_variances(self.variances_of_means, each * self.counts, self.mean_square)
        extremes, skewness = self.extremes(), self.skewness()
        counts = self.counts.copy()
        return Estimate(values, variances, counts, extremes=extremes, skewness=skewness)

    def skewness(self) -> FloatArray:
        """Return the skewness of each player's contributions; 0 where they are all equal.

        Where cubes overflow it is the largest deviation over the standard deviation, which no
        skewness exceeds.
        """
        vary = self.squares > ROUNDING**2 * self.mean_square * self.counts
        squares = np.where(vary, self.squares, 1.0)
        with may_overflow():
            found = np.sqrt(self.counts) * (self.cubes / squares) / np.sqrt(squares)
        found = np.where(np.isfinite(found), found, np.sqrt(self.extremes()))
        return np.where(vary, found, 0.0)

    @property
    def largest_deviations(self) -> FloatArray:
        """The largest deviation of a contribution from the mean; infinite without contributions."""
        return np.maximum(self.highest - self.means, self.means - self.lowest)

    def extremes(self) -> FloatArray:
        """Return the largest squared deviation of a contribution, in units of their variance.

        About 2·log(m) for m normal contributions, more when tails are heavy; NaN below two
        contributions, 0 where they are all equal but for rounding.
        """
        vary = (self.counts > 1) & (self.squares > ROUNDING**2 * self.mean_square * self.counts)
        variances = self.squares / np.maximum(self.counts - 1, 1)
        largest = np.where(vary, self.largest_deviations, 0.0)
        ratio = np.square(largest) / np.where(vary, variances, 1.0)
        return np.where(self.counts > 1, ratio, np.nan)


def power_of_two(size: float) -> float:
    """Return the power of two next to a size, 1 for 0: dividing by it rounds nothing."""
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0


def floor_variances(variances: FloatArray, counts: IntArray, mean_square: float) -> FloatArray:
    """Return variances of means, with a floor where all contributions were equal.

    m equal contributions do not prove that every other would be equal too: by the rule of
    succession an unseen kind of contribution still has a probability of about 1/(m + 1). The
    floor gives it the mean square τ² of all players' contributions: τ²/(m + 1) for one
    contribution, τ²/(m(m + 1)) for the mean of m. While every contribution was 0 there is no
    scale at all, and the variances are not known (NaN).

    Parameters
    ----------
    variances
        The estimated variance of each player's mean.
    counts
        m, the contributions behind each mean.
    mean_square
        τ², over all players.

    Examples
    --------
    >>> floor_variances(np.array([0.0, 0.5]), np.array([4, 4]), 2.0)
    array([0.1, 0.5])
    """
    if mean_square == 0:
        return np.full_like(variances, np.nan)
    safe = np.maximum(counts, 1)
    vanishing = variances * safe <= ROUNDING**2 * mean_square
    return np.where(vanishing, mean_square / (safe * (safe + 1.0)), variances)


@dataclass(frozen=True, eq=False)
class WeightedParts:
    """Sums over the parts: the mean Σ λ·value / Σ λ has the variance Σ λ²·variance / (Σ λ)².

    Examples
    --------
    >>> parts = WeightedParts.none(2)
    >>> for value in (1.0, 4.0):
    ...     parts = parts.plus(np.array([value, 0.0]), np.full(2, value), np.full(2, 1.0))
    >>> parts.mean()
    (array([3.4, nan]), array([0.68,  nan]))
    """

    weights: FloatArray
    """Σ λ"""
    values: FloatArray
    """Σ λ·value"""
    variances: FloatArray
    """Σ λ²·variance"""

    @classmethod
    def none(cls, n_players: int) -> WeightedParts:
        """Return the sums over no part."""
        return cls(*np.zeros((3, n_players)))

    def plus(
        self, weights: FloatArray | float, values: FloatArray, variances: FloatArray | float
    ) -> WeightedParts:
        """Return the sums with one more part; a weight of 0 leaves a player out."""
        return WeightedParts(
            self.weights + weights,
            self.values + weights * values,
            self.variances + np.square(weights) * variances,
        )

    def mean(self) -> tuple[FloatArray, FloatArray]:
        """Return the weighted means and their variances; NaN for a player without a part."""
        total = np.where(self.weights > 0, self.weights, np.nan)
        return self.values / total, self.variances / np.square(total)


@dataclass(frozen=True, eq=False)
class WeightedEpochs:
    """Sums over epochs with weights λ_e that depend on no value of their epoch.

    Within an epoch contributions are i.i.d. given all before, and their mean ȳ_e is unbiased. The
    errors λ_e·(ȳ_e − φ) are then a martingale's differences: Σ λ_e·ȳ_e is unbiased, and
    Σ λ_e²·s_e²/m_e an unbiased estimate of its variance.

    Examples
    --------
    >>> epochs = WeightedEpochs.none(1)
    >>> for row, weight in (([1.0, 5.0], 1.0), ([2.0, 4.0], 3.0)):
    ...     part = Moments(1)
    ...     part.add(np.array([row]).T)
    ...     epochs = epochs.plus(part, weight)
    >>> estimate = epochs.estimate(1.0)
    >>> estimate.values, estimate.variances, estimate.counts
    (array([3.]), array([0.8125]), array([2]))
    """

    means: WeightedParts
    """Σ λ_e·ȳ_e"""
    shares: FloatArray
    """Σ a_e with a_e = λ_e²/m_e"""
    squares: FloatArray
    """Σ a_e²/(m_e − 1)"""

    @classmethod
    def none(cls, n_players: int) -> WeightedEpochs:
        """Return the sums over no epoch."""
        return cls(WeightedParts.none(n_players), *np.zeros((2, n_players)))

    def plus(self, part: Moments, weight: float) -> WeightedEpochs:
        """Return the sums with one more epoch, where it gives a player a mean and a variance."""
        usable = part.counts > 1
        weights = np.where(usable, weight, 0.0)
        spread = np.where(usable, part.variances_of_means, 0.0)
        share = np.square(weights) / np.maximum(part.counts, 1)
        return WeightedEpochs(
            self.means.plus(weights, part.means, spread),
            self.shares + share,
            self.squares + np.square(share) / np.maximum(part.counts - 1, 1),
        )

    def estimate(self, mean_square: float) -> Estimate:
        """Return the weighted means, with floors under the variances; NaN without an epoch.

        Counts are one more than the degrees of freedom (Σ a_e)² / Σ a_e²/(m_e − 1) of the variance:
        the formula of Welch and Satterthwaite with one variance for all epochs, so that it depends
        on the plans alone. It is m for a single epoch, and less than all contributions for several,
        because the last epochs have most of the weight. Student's t at this count has the right
        tails.
        """
        values, variances = self.means.mean()
        known = self.squares > 0
        degrees = whole_below(np.square(self.shares) / np.where(known, self.squares, 1.0))
        counts = np.where(known, degrees + 1, 0)
        return Estimate(values, floor_variances(variances, counts, mean_square), counts)


def whole_below(numbers: FloatArray) -> IntArray:
    """Round down to whole numbers, but for rounding errors.

    Examples
    --------
    >>> whole_below(np.array([2.9999999999, 2.9]))
    array([3, 2])
    """
    return np.floor(numbers + ROUNDING).astype(np.int64)


def sums_by_size(at: Any, numbers: Any, length: int) -> Any:
    """Return how many numbers belong to each entry `at`, their sums and sums of squares.

    Parameters
    ----------
    at
        The entry of each number: whole numbers, in an array or a tensor.
    numbers
        An array or a tensor of float64.
    length
        The number of entries.

    Returns
    -------
    array or tensor
        Shape (3, `length`).
    """
    if isinstance(at, np.ndarray):
        powers = (np.ones_like(numbers), numbers, np.square(numbers))
        return np.array([np.bincount(at, power, length) for power in powers])
    import torch

    scale = numbers.abs().max().clamp_min(TINY_SCALE)
    shares = numbers / scale
    terms = torch.stack([torch.ones_like(shares), shares, shares * shares]) * FIXED_POINT
    sums = torch.zeros((3, length), dtype=torch.int64, device=at.device)
    sums.index_add_(1, at, terms.round_().long())
    factors = torch.stack([torch.ones_like(scale), scale, scale * scale])
    return sums.double() * (factors / FIXED_POINT)[:, None]
