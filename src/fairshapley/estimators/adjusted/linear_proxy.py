"""The linear proxy: g(S) = a(s) + Σ_q h_q(s)·Σ_i b_iq·z_i, fitted without the fold it is used on.

z_i = 2·[i ∈ S] − 2s/n is centred: Σ_i z_i = 0 for every S, and among the coalitions of one size
E[z_i z_j] = 4s(n − s)/(n(n − 1))·([i = j] − 1/n). With size bases h_q that are orthogonal under the
expected weights of the sizes, the expected Gram matrix is therefore a multiple of the identity (on
vectors that add up to 0), which serves twice: as the preconditioner of conjugate gradients, which
need a few passes over the masks and no matrix, so that they work for any n; and to estimate how
much of the utility each basis explains, from which its ridge penalty follows without
cross-validation (Haseman & Elston 1972 estimate heritability from the same moments).

The proxy of a pair is that of half the difference v(S) − v(N ∖ S): only odd functions matter, so a
is odd and h_q are even in the size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.size_bases import SizeBases, spread
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.units import MaskArray
from fairshapley.estimators.moments import power_of_two

# Conjugate gradients stop at this residual relative to the first, or at the last pass. With ten
# units for each column the Gram matrix has a condition number of about 4, and an error falls
# threefold with each pass. A proxy that is off by 1 % loses 1e−4 of what it explains.
TOLERANCE = 3e-3
MAX_PASSES = 16
# The residual variance is taken to be at least this share of the utility's: no fit is trusted more.
MIN_RESIDUAL = 0.001
# The few coefficients of size functions have this penalty, in units of one observation.
SIZE_PENALTY = 1.0


@dataclass(frozen=True, eq=False)
class LinearProxies:
    """One linear proxy for each fold."""

    bases: SizeBases
    slopes: FloatArray
    """b, shape (Q, n, folds); Σ_i b_iq = 0"""
    offsets: FloatArray
    """Shape (J, folds)"""

    def predict(self, masks: MaskArray, sizes: IntArray, folds: IntArray) -> FloatArray:
        """Return the proxy's utility of each coalition, by the fold given with it."""
        at, used = sizes - 1, np.flatnonzero(np.bincount(folds))
        result: FloatArray = (self.offsets.T @ self.bases.offsets)[folds, at]
        slopes = self.bases.slopes.T.take(at, axis=0)
        for fold in used:
            own = slice(None) if len(used) == 1 else np.flatnonzero(folds == fold)
            sums = masks[own] @ self.slopes[:, :, fold].T
            result[own] += 2.0 * np.einsum("tq,tq->t", slopes[own], sums)
        return result

    def interior_values(self, weights: SizeWeights, interior: BoolArray) -> FloatArray:
        """Return E[x_i(g)] over the sizes that are not enumerated, shape (folds, n)."""
        n_players = weights.n_players
        scale = self.bases.slopes @ np.where(interior, weights.linear, 0.0)
        shift = self.bases.offsets @ np.where(interior, weights.constant, 0.0)
        slopes = np.tensordot(scale, self.slopes, axes=1).T * (n_players / (n_players - 1.0))
        return slopes + (shift @ self.offsets)[:, None]


def fit_linear(sample: Sample, weights: SizeWeights) -> LinearProxies:
    """Fit ridge regressions on all folds but one, for each fold."""
    return Regression(sample, weights).solve()


def no_proxies(sample: Sample, weights: SizeWeights) -> LinearProxies:
    """Return proxies that are 0 everywhere."""
    bases, n_folds = SizeBases.of(weights, sample.usage(weights)), sample.n_folds + 1
    slopes = np.zeros((len(bases.slopes), weights.n_players, n_folds))
    return LinearProxies(bases, slopes, np.zeros((len(bases.offsets), n_folds)))


class Regression:
    """The normal equations of all folds at once, applied without being formed.

    Of many units, products with the masks are in single precision, which takes half the time:
    conjugate gradients stop long before that counts, and whatever the coefficients are, the
    proxy's values follow from them exactly. (Few units have rounding errors amplified to 1e−3.)

    Tables have a column for each unit, so that what is done to all units is done at one stretch.
    Coefficients have a row for each fold: b_iq, basis by basis, and then the offsets.
    """

    # From so many entries, and units for each player, products with masks are in single precision.
    single_entries: ClassVar[int] = 1 << 17
    single_units: ClassVar[int] = 16

    def __init__(self, sample: Sample, weights: SizeWeights) -> None:
        self.sample = sample
        self.n_players = weights.n_players
        # Σ_i x_i² of a residual is its square times power/p²: the regression minimises just that.
        importance = sample.importance(weights)
        at = sample.sizes - 1
        self.bases = SizeBases.of(weights, sample.usage(weights))
        # One proxy for each fold, and one that saw all units, for units that come later.
        self.n_folds = sample.n_folds + 1
        outside = sample.folds != np.arange(self.n_folds)[:, None]
        self.weights: FloatArray = importance * outside
        # Not [:, at], which leaves the numbers of a row apart in memory.
        bases = (self.bases.slopes, self.bases.offsets)
        self.slopes, self.offsets = (one.take(at, axis=1) for one in bases)
        self.scale = power_of_two(float(np.abs(sample.gains).max(initial=0.0)))
        count, entries = len(sample.chosen), len(sample.chosen) * self.n_players
        many = count >= self.single_units * self.n_players and entries >= self.single_entries
        self._precision = np.dtype(np.float32 if many else np.float64)
        self._tables = [self._cast(part) for part in (self.slopes, self.offsets, self.weights)]

    def _cast(self, part: NDArray[Any]) -> NDArray[Any]:
        return part.astype(self._precision, copy=False)

    def solve(self) -> LinearProxies:
        """Solve by conjugate gradients with the expected Gram matrix as preconditioner."""
        residual, offsets = self.without_sizes()
        gradient = self.adjoint(residual)
        gram, penalties = self.penalties(residual, gradient)
        split = gradient.shape[1] - offsets.shape[1]
        ridge = np.full_like(gradient, SIZE_PENALTY)
        ridge[:, :split] = np.repeat(penalties, self.n_players, axis=1)
        scale = ridge + self.weights.sum(axis=1, keepdims=True)
        scale[:, :split] = np.repeat(gram + penalties, self.n_players, axis=1)
        solution = self._conjugate_gradients(gradient, scale, ridge)
        slopes = solution[:, :split].reshape(self.n_folds, -1, self.n_players)
        slopes = slopes - slopes.mean(axis=2, keepdims=True)  # 0 but for rounding
        return LinearProxies(
            self.bases,
            self.scale * slopes.transpose(1, 2, 0),
            self.scale * (offsets + solution[:, split:]).T,
        )

    def without_sizes(self) -> tuple[FloatArray, FloatArray]:
        """Return the gains less a first fit of the size functions, and that fit, over `scale`."""
        table, gains = self.offsets, self.sample.gains / self.scale
        count = len(table)
        products = self.weights @ _outer(table, table).T
        products = products.reshape(self.n_folds, count, count) + SIZE_PENALTY * np.eye(count)
        right = self.weights @ (table * gains).T
        solved: FloatArray = np.linalg.solve(products, right[..., None]).astype(np.float64)
        offsets = solved[..., 0]
        return gains - offsets @ table, offsets

    def penalties(
        self, residual: FloatArray, gradient: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the expected Gram matrix and the ridge penalty of each basis, by fold.

        u_iq = gradient/gram estimates b_iq without looking at the sampled Gram matrix, with a
        variance that Σ w²·r²·h²·spread/gram² estimates. What its mean square has in excess is the
        variance of b_iq over the players; the penalty is the ratio of the residual variance to it.
        """
        n, weights = self.n_players, self.weights
        curve = self.slopes**2 * spread(n)[self.sample.sizes - 1]
        gram = weights @ curve.T
        weighted = weights * residual**2
        energy = weighted.sum(axis=1, keepdims=True)
        count = weights.sum(axis=1, keepdims=True)
        safe = np.maximum(gram, 1e-300)
        direct = gradient[:, : len(curve) * n].reshape(*gram.shape, n) / safe[..., None]
        noise = ((weights * weighted) @ curve.T) / safe**2
        variances = np.maximum((direct**2).sum(axis=2) / (n - 1.0) - noise, 0.0)
        explained = (gram * (n - 1.0) * variances).sum(axis=1, keepdims=True)
        left = np.maximum(energy - explained, MIN_RESIDUAL * energy) / np.maximum(count, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            penalties = np.where(variances > 0, left / variances, np.inf)
        # A basis that explains nothing is penalised away.
        limit = 1e6 * np.maximum(gram, 1.0)
        return gram, np.minimum(np.nan_to_num(penalties, nan=np.inf), limit)

    def _blocks(self) -> Iterable[tuple[slice, NDArray[Any]]]:
        """Return the masks as numbers, with the rows that they are."""
        return self.sample.units.rows(self.sample.chosen, kind=self._precision)

    def adjoint(self, residual: FloatArray) -> FloatArray:
        """Return the right-hand sides Fᵀ W r."""
        weighted = self.weights * residual
        slopes, cast = self._tables[0], self._cast(weighted)
        total = np.zeros((self.n_folds * len(slopes), self.n_players))
        for part, masks in self._blocks():
            total += _outer(cast[:, part], slopes[:, part]) @ masks
        return self._stack(total, weighted @ self.offsets.T)

    def _normal(self, solution: FloatArray) -> FloatArray:
        """Return Fᵀ W F applied to the coefficients of all folds."""
        split = len(self.slopes) * self.n_players
        cast = self._cast(solution)
        rows = 2.0 * cast[:, :split].reshape(-1, self.n_players)
        total = np.zeros(rows.shape)
        sizes = np.zeros((self.n_folds, len(self.offsets)))
        for part, masks in self._blocks():
            slopes, offsets, weights = (table[:, part] for table in self._tables)
            sums = (rows @ masks.T).reshape(self.n_folds, len(slopes), -1)
            fitted = cast[:, split:] @ offsets
            fitted += np.einsum("fqt,qt->ft", sums, slopes)
            fitted *= weights
            total += _outer(fitted, slopes) @ masks
            sizes += fitted @ offsets.T
        return self._stack(total, sizes)

    def _stack(self, total: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return Σ_t z_ti·… from Σ_t [i ∈ S_t]·…, without its mean over the players."""
        centred = 2.0 * (total - total.mean(axis=1, keepdims=True))
        return np.hstack([centred.reshape(self.n_folds, -1), sizes])

    def _conjugate_gradients(
        self, right: FloatArray, scale: FloatArray, ridge: FloatArray
    ) -> FloatArray:
        solution = np.zeros_like(right)
        residual = right.copy()
        direction = scaled = residual / scale
        length = first = _dots(residual, scaled)
        for _ in range(MAX_PASSES):
            # A fold that has converged stands still, so that no fold depends on another's gains.
            active = length > TOLERANCE**2 * first
            if not active.any():
                break
            image = self._normal(direction) + ridge * direction
            curvature = _dots(direction, image)
            step = np.where(active, length, 0.0) / np.where(curvature > 0, curvature, np.inf)
            solution += step * direction
            residual -= step * image
            scaled = residual / scale
            before, length = length, _dots(residual, scaled)
            direction = scaled + length / np.where(before > 0, before, np.inf) * direction
        return solution


def _dots(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the product of two rows, for each row."""
    products: FloatArray = (one * other).sum(axis=1, keepdims=True)
    return products


def _outer(values: NDArray[Any], slopes: NDArray[Any]) -> NDArray[Any]:
    """Return rows value_f·h_q for every fold and basis."""
    product: NDArray[Any] = values[:, None] * slopes
    return product.reshape(len(values) * len(slopes), values.shape[1])
