"""The kernel proxy: a Gaussian process on coalitions, whose values are known in closed form.

On top of the linear proxy's terms, the kernel κ(t) of t = z·z'/n, z = ±1 for players in and out,
learns interactions: t = 1 − 2·|S Δ S'|/n depends on how many players two coalitions have in common.
κ(t) = sinh(γt)/sinh(γ) is odd, as units of pairs need; exp(γ(t − 1)) serves single coalitions. A
polynomial of degree three has C(n, 3) coefficients, so that this pays where units are many for so
few players: it took off 40 and 70 % of the variance on games of 12 and 14 players, 30 % at n = 40
and next to nothing at n = 100.

What a kernel function contributes to a player depends only on whether the player is in S', and is a
sum over the hypergeometric number of common players.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import gammaln

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.adjusted.linear_proxy import LinearProxies, slope_variances
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.units import MaskArray

# Above this many players there is nothing to gain (2 % of the residual variance at n = 100).
MAX_PLAYERS = 64
# The matrix of this many units is inverted: 5 GFlop, 19 MB. Later units do not train the kernel.
MAX_UNITS = 1536
# Its shape is chosen on this many units.
CHOICE_UNITS = 512
# γ, and the share of the linear proxy's residual variance that the kernel explains a priori.
GAMMAS = (1.0, 3.0, 8.0)
SHARES = (0.6, 0.95)
# The choice must beat the linear proxy by so much: else it is noise.
MIN_GAIN = 0.02
# The noise is at least this share of the gains' mean square, so that the covariance of an additive
# game can be inverted; a first guess of it is bolder.
MIN_NOISE, MIN_SHARE = 1e-6, 1e-3
# Blocks of the matrix between units and training units: 2**21 doubles are 16 MiB.
BLOCK_ENTRIES = 1 << 21


@dataclass(frozen=True, eq=False)
class KernelPart:
    """Proxies of the folds that share a covariance function: Σ_t c_t·k(S, S_t)."""

    masks: MaskArray
    sizes: IntArray
    curve: FloatArray
    """v·κ as a table over |S Δ S'| = 0 … n"""
    coefficients: FloatArray
    """c, shape (units, folds + 1); 0 for the folds of the other part"""
    linear: LinearProxies
    """The linear terms of the covariance function"""

    def predict(self, masks: MaskArray, sizes: IntArray, folds: IntArray) -> FloatArray:
        """The proxy's utility of each coalition, by the fold given with it."""
        used = np.flatnonzero(np.bincount(folds))
        coefficients, at = self.coefficients[:, used], np.searchsorted(used, folds)
        if not coefficients.any():  # all of them belong to the other part
            return np.zeros(len(sizes))
        result = self.linear.predict(masks, sizes, folds)
        if not self.curve.any():
            return result
        step = max(1, BLOCK_ENTRIES // len(self.sizes))
        for start in range(0, len(sizes), step):
            part = slice(start, start + step)
            kernel = self.curve[differences(masks[part], sizes[part], self.masks, self.sizes)]
            fitted = kernel @ coefficients
            result[part] += fitted[np.arange(len(fitted)), at[part]]
        return result

    def interior_values(self, weights: SizeWeights, interior: BoolArray) -> FloatArray:
        """E[x_i(g)] over the sizes that are not enumerated, shape (folds + 1, n)."""
        values = unit_values(self.masks, self.sizes, self.curve, weights, interior)
        return self.coefficients.T @ values + self.linear.interior_values(weights, interior)


@dataclass(frozen=True, eq=False)
class KernelProxies:
    """One proxy for each fold, and last one that saw all units."""

    parts: tuple[KernelPart, KernelPart]
    influence: FloatArray
    """Σ_{u ≠ t} ∂y_u/∂gain_t: what the gain of unit t does as a training unit, by player"""

    @property
    def masks(self) -> MaskArray:
        """The training units."""
        return self.parts[0].masks

    def predict(self, masks: MaskArray, sizes: IntArray, folds: IntArray) -> FloatArray:
        """The proxy's utility of each coalition, by the fold given with it."""
        one, other = (part.predict(masks, sizes, folds) for part in self.parts)
        return one + other

    def interior_values(self, weights: SizeWeights, interior: BoolArray) -> FloatArray:
        """E[x_i(g)] over the sizes that are not enumerated, shape (folds + 1, n)."""
        one, other = (part.interior_values(weights, interior) for part in self.parts)
        return one + other


def differences(
    masks: MaskArray, sizes: IntArray, others: MaskArray, other_sizes: IntArray
) -> IntArray:
    """|S Δ S'| for every S in `masks` and S' in `others`."""
    common = masks @ others.T
    return (sizes[:, None] + other_sizes - 2.0 * common).astype(np.int64)


def kernel_curve(gamma: float, n_players: int, *, odd: bool) -> FloatArray:
    """κ as a table over |S Δ S'| = 0 … n; κ(0) = 1.

    Examples
    --------
    >>> kernel_curve(1.0, 2, odd=True)
    array([ 1.,  0., -1.])
    """
    t = 1.0 - 2.0 * np.arange(n_players + 1.0) / n_players
    return np.sinh(gamma * t) / np.sinh(gamma) if odd else np.exp(gamma * (t - 1.0))


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    """The logarithm of C(n, k), −∞ where there is no such choice."""
    possible = (k >= 0) & (k <= n)
    n, k = np.where(possible, n, 0), np.where(possible, k, 0)
    return np.where(possible, gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0), -np.inf)


def kernel_values(
    curve: FloatArray, weights: SizeWeights, interior: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """E[x_i(κ(·, S'))] of a player in S' and of one that is not, by the size of S'.

    Over the coalitions S of interior sizes; the number o of common players decides |S Δ S'|.
    """
    n = weights.n_players
    other = np.arange(1, n)[:, None, None]
    size = np.arange(1, n)[None, :, None]
    common = np.arange(n)[None, None, :]
    all_of_size = _log_choose(np.full_like(size, n), size)
    kernel = curve[np.clip(size + other - 2 * common, 0, n)]
    inside = np.where(interior, weights.inside, 0.0)[None, :, None]
    outside = np.where(interior, weights.outside, 0.0)[None, :, None]

    def share(pool: IntArray, taken: IntArray, rest: IntArray, left: IntArray) -> FloatArray:
        return np.exp(_log_choose(pool, taken) + _log_choose(rest, left) - all_of_size)

    member = inside * share(other - 1, common - 1, n - other, size - common)
    member = member - outside * share(other - 1, common, n - other, size - common)
    absent = inside * share(other, common, n - other - 1, size - common - 1)
    absent = absent - outside * share(other, common, n - other - 1, size - common)
    return (kernel * member).sum(axis=(1, 2)), (kernel * absent).sum(axis=(1, 2))


def unit_values(
    masks: MaskArray, sizes: IntArray, curve: FloatArray, weights: SizeWeights, interior: BoolArray
) -> FloatArray:
    """E[x_i(κ(·, S_t))] for every unit t and player i."""
    members, others = kernel_values(curve, weights, interior)
    members, others = members[sizes - 1, None], others[sizes - 1, None]
    return others + masks * (members - others)


def fit_kernel(sample: Sample, weights: SizeWeights, interior: BoolArray) -> KernelProxies:
    """Kernel proxies for the sample; without the kernel where linear terms do as well.

    The covariance function (variances, γ and share) of the even folds is chosen on the odd ones,
    and the other way round: chosen on all, it biased values by 0.2 standard errors at 70 units.
    """
    process = _Process(sample, weights, interior)
    parts, influences = zip(*(process.part(half) for half in (0, 1)), strict=True)
    return KernelProxies(parts, influences[0] + influences[1])


@dataclass(frozen=True, eq=False)
class _CovarianceParameters:
    """The covariance of two units' gains: linear terms, a size function, the kernel and noise."""

    slopes: FloatArray
    """The variance of the coefficients b_iq, by basis"""
    offsets: float
    noise: float
    """Of a unit of importance 1"""
    gamma: float = GAMMAS[0]
    share: float = 0.0
    """The kernel's part of the noise"""


class _Process:
    """A Gaussian process on the units of a sample."""

    def __init__(self, sample: Sample, weights: SizeWeights, interior: BoolArray) -> None:
        self.sample, self.weights, self.interior = sample, weights, interior
        self.n_players = weights.n_players
        self.masks = np.concatenate([masks for _, masks in sample.units.rows(sample.chosen)])
        self.importance = sample.importance(weights)
        halves = replace(sample, n_folds=2)
        self.bases, self.variances = slope_variances(halves, weights)
        self.slopes = self.bases.slopes[:, sample.sizes - 1]
        self.offsets = self.bases.offsets[:, sample.sizes - 1]
        self.centred = 2.0 * (self.masks - sample.sizes[:, None] / self.n_players)
        self.apart = differences(self.masks, sample.sizes, self.masks, sample.sizes)

    def part(self, half: int) -> tuple[KernelPart, FloatArray]:
        """The proxies of the even or the odd folds, and their part of the influence."""
        sample, chosen = self.sample, self._choose(half)
        coefficients = np.zeros((len(sample.gains), sample.n_folds + 1))
        influence = np.zeros((len(sample.gains), self.n_players))
        if chosen.noise > 0:
            self._solve(half, chosen, coefficients, influence)
        curve, linear = self._curve(chosen), self._linear(chosen, coefficients)
        return KernelPart(self.masks, sample.sizes, curve, coefficients, linear), influence

    def _solve(
        self,
        half: int,
        chosen: _CovarianceParameters,
        coefficients: FloatArray,
        influence: FloatArray,
    ) -> None:
        """Fill in the coefficients and the influence of the half's folds."""
        sample = self.sample
        inverse = self._inverse(np.arange(len(sample.gains)), chosen)
        plain = inverse @ sample.gains
        if half == 0:
            coefficients[:, -1] = plain
        values, factors = self._values(chosen), self._factors()
        whole = inverse @ values
        for fold in range(half, sample.n_folds, 2):
            own = np.flatnonzero(sample.folds == fold)
            # Without its fold, a unit's residual is a block of the inverse away (as the residual
            # of a single unit left out is p_t/P_tt): r = P_own⁻¹·P·gains = gains − w·gains.
            block = np.linalg.solve(inverse[np.ix_(own, own)], inverse[own])
            coefficients[:, fold] = plain - inverse[:, own] @ (block @ sample.gains)
            effect = len(own) * (whole - inverse[:, own] @ (block @ values))
            effect += block.T @ factors[own]
            coefficients[own, fold] = effect[own] = 0.0
            influence += effect

    def _choose(self, half: int) -> _CovarianceParameters:
        """What leaves the least residual on the other half, each unit left out in turn.

        Where the other half's gains are all 0 it says that every gain is: no covariance, no noise,
        and a proxy that is 0 everywhere.
        """
        rows = np.flatnonzero(self.sample.folds % 2 != half)[:CHOICE_UNITS]
        total = float(np.average(self.sample.gains[rows] ** 2, weights=self.importance[rows]))
        slopes = self.variances[:, half]
        if total == 0:
            return _CovarianceParameters(np.zeros_like(slopes), 0.0, 0.0)
        explained = (self.n_players - 1.0) * float(slopes.sum())
        plain = _CovarianceParameters(slopes, total, max(total - explained, MIN_SHARE * total))
        for _ in range(2):  # the residuals tell the noise, which hardly matters to the residuals
            noise = self._loss(rows, plain)
            plain = replace(plain, noise=max(noise, MIN_NOISE * total))
        best, least = plain, (1.0 - MIN_GAIN) * self._loss(rows, plain)
        for gamma, share in product(GAMMAS, SHARES):
            tried = replace(plain, gamma=gamma, share=share)
            if (loss := self._loss(rows, tried)) < least:
                best, least = tried, loss
        return best

    def _loss(self, rows: IntArray, covariance: _CovarianceParameters) -> float:
        """The mean squared residual of units left out in turn."""
        inverse = self._inverse(rows, covariance)
        residuals = (inverse @ self.sample.gains[rows]) / np.diagonal(inverse)
        return float(np.average(residuals**2, weights=self.importance[rows]))

    def _inverse(self, rows: IntArray, covariance: _CovarianceParameters) -> FloatArray:
        """The inverse of the covariance matrix of these units' gains."""
        slopes, offsets = self.slopes[:, rows], self.offsets[:, rows]
        matrix = (slopes.T * covariance.slopes) @ slopes
        matrix *= self.centred[rows] @ self.centred[rows].T
        matrix += covariance.offsets * (offsets.T @ offsets)
        if covariance.share > 0:
            matrix += self._curve(covariance)[self.apart[np.ix_(rows, rows)]]
        diagonal = (1.0 - covariance.share) * covariance.noise / self.importance[rows]
        matrix[np.diag_indices_from(matrix)] += diagonal
        return np.linalg.inv(matrix.astype(np.float64, copy=False))

    def _curve(self, covariance: _CovarianceParameters) -> FloatArray:
        curve = kernel_curve(covariance.gamma, self.n_players, odd=self.weights.paired)
        return covariance.share * covariance.noise * curve

    def _linear(self, covariance: _CovarianceParameters, coefficients: FloatArray) -> LinearProxies:
        """The linear terms as linear proxies."""
        slopes = [
            variance * (self.centred.T @ (curve[:, None] * coefficients))
            for variance, curve in zip(covariance.slopes, self.slopes, strict=True)
        ]
        offsets = covariance.offsets * (self.offsets @ coefficients)
        return LinearProxies(self.bases, np.stack(slopes), offsets)

    def _factors(self) -> FloatArray:
        """x_i of a unit whose gain is 1."""
        at = self.sample.sizes - 1
        inside = (self.weights.inside[at] / self.sample.probabilities)[:, None]
        outside = (self.weights.outside[at] / self.sample.probabilities)[:, None]
        return self.masks * (inside + outside) - outside

    def _values(self, covariance: _CovarianceParameters) -> FloatArray:
        """E[x_i(k(·, S_t))] of the covariance function k, for every unit t."""
        weights, interior, n = self.weights, self.interior, self.n_players
        scale = self.bases.slopes @ np.where(interior, weights.linear, 0.0)
        shift = self.bases.offsets @ np.where(interior, weights.constant, 0.0)
        curve = self._curve(covariance)
        values = unit_values(self.masks, self.sample.sizes, curve, weights, interior)
        slopes = (covariance.slopes * scale) @ self.slopes * (n / (n - 1.0))
        values += slopes[:, None] * self.centred
        return values + covariance.offsets * (shift @ self.offsets)[:, None]
