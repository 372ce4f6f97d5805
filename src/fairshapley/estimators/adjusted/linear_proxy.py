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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.size_bases import SizeBases, spread
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.units import MaskArray
from fairshapley.estimators.statistics.two_valued import power_of_two

# Conjugate gradients stop at this residual relative to the first, or at the last pass. With ten
# units for each column the Gram matrix has a condition number of about 4, and an error falls
# threefold with each pass. A proxy that is off by 1 % loses 1e−4 of what it explains.
TOLERANCE = 3e-3
MAX_PASSES = 16
# A masks matrix of this many entries (64 or 128 MiB) is unpacked once, a larger one per pass.
DENSE_ENTRIES = 1 << 24
# From this many units for each player, and entries, products with masks are in single precision.
SINGLE_UNITS, SINGLE_ENTRIES = 16, 1 << 17
# The residual variance is taken to be at least this share of the utility's: no fit is trusted more.
LEAST_RESIDUAL = 0.001
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
        """The proxy's utility of each coalition, by the fold given with it."""
        used = np.flatnonzero(np.bincount(folds))
        at = np.searchsorted(used, folds)
        n_slopes, n_players, _ = self.slopes.shape
        columns = self.slopes[:, :, used].transpose(1, 0, 2).reshape(n_players, -1)
        sums = (masks @ columns).reshape(-1, n_slopes, len(used))
        sums = sums[np.arange(len(sizes)), :, at]
        slopes = self.bases.slopes[:, sizes - 1].T
        offsets = self.bases.offsets[:, sizes - 1].T
        result: FloatArray = (offsets * self.offsets[:, folds].T).sum(axis=1)
        result += 2.0 * (slopes * sums).sum(axis=1)
        return result

    def interior_values(self, weights: SizeWeights, interior: BoolArray) -> FloatArray:
        """E[x_i(g)] over the sizes that are not enumerated, shape (folds, n)."""
        n_players = weights.n_players
        scale = self.bases.slopes @ np.where(interior, weights.linear, 0.0)
        shift = self.bases.offsets @ np.where(interior, weights.constant, 0.0)
        slopes = np.tensordot(scale, self.slopes, axes=1).T * (n_players / (n_players - 1.0))
        return slopes + (shift @ self.offsets)[:, None]


def fit_linear(
    sample: Sample,
    weights: SizeWeights,
    *,
    single_entries: int = SINGLE_ENTRIES,
    dense_entries: int = DENSE_ENTRIES,
) -> LinearProxies:
    """Ridge regressions on all folds but one, for each fold."""
    return _Regression(sample, weights, single_entries, dense_entries).solve()


def no_proxies(sample: Sample, weights: SizeWeights) -> LinearProxies:
    """Proxies that are 0 everywhere."""
    bases, n_folds = SizeBases.of(weights, sample.usage(weights)), sample.n_folds + 1
    slopes = np.zeros((len(bases.slopes), weights.n_players, n_folds))
    return LinearProxies(bases, slopes, np.zeros((len(bases.offsets), n_folds)))


def slope_variances(sample: Sample, weights: SizeWeights) -> tuple[SizeBases, FloatArray]:
    """The bases, and the estimated variance of b_iq over the players, shape (Q, folds)."""
    regression = _Regression(sample, weights)
    residual, _ = regression.without_sizes()
    variances = regression.penalties(residual, regression.adjoint(residual))[2]
    return regression.bases, regression.scale**2 * variances[:, : sample.n_folds]


class _Regression:
    """The normal equations of all folds at once, applied without being formed.

    Of many units, products with the masks are in single precision, which takes half the time:
    conjugate gradients stop long before that counts, and whatever the coefficients are, the
    proxy's values are those of just these. (Few units have rounding errors amplified to 1e−3.)
    """

    def __init__(
        self,
        sample: Sample,
        weights: SizeWeights,
        single_entries: int = SINGLE_ENTRIES,
        dense_entries: int = DENSE_ENTRIES,
    ) -> None:
        self.sample = sample
        self.n_players = weights.n_players
        # Σ_i x_i² of a residual is its square times power/p²: the regression minimises just that.
        importance = sample.importance(weights)
        at = sample.sizes - 1
        self.bases = SizeBases.of(weights, sample.usage(weights))
        # One proxy for each fold, and one that saw all units, for units that come later.
        self.n_folds = sample.n_folds + 1
        outside = sample.folds[:, None] != np.arange(self.n_folds)
        self.weights: FloatArray = importance[:, None] * outside
        self.slopes = self.bases.slopes[:, at].T
        self.offsets = self.bases.offsets[:, at].T
        self.scale = power_of_two(float(np.abs(sample.gains).max(initial=0.0)))
        count, entries = len(sample.chosen), len(sample.chosen) * self.n_players
        many = count >= SINGLE_UNITS * self.n_players and entries >= single_entries
        self._precision = np.dtype(np.float32 if many else np.float64)
        self._tables = [self._cast(part) for part in (self.slopes, self.offsets, self.weights)]
        self._dense: list[tuple[slice, NDArray[Any]]] | None = None
        if entries <= dense_entries:
            blocks = sample.units.rows(sample.chosen)
            self._dense = [(rows, self._cast(masks)) for rows, masks in blocks]

    def _cast(self, part: NDArray[Any]) -> NDArray[Any]:
        return part.astype(self._precision, copy=False)

    def solve(self) -> LinearProxies:
        """Conjugate gradients with the expected Gram matrix as preconditioner."""
        residual, offsets = self.without_sizes()
        gradient = self.adjoint(residual)
        gram, penalties, _ = self.penalties(residual, gradient)
        scale = np.concatenate(
            [
                np.repeat(gram + penalties, self.n_players, axis=0),
                self.weights.sum(axis=0) * np.ones((len(offsets), 1)) + SIZE_PENALTY,
            ]
        )
        ridge = np.concatenate(
            [
                np.repeat(penalties, self.n_players, axis=0),
                np.full((len(offsets), self.n_folds), SIZE_PENALTY),
            ]
        )
        solution = self._conjugate_gradients(gradient, scale, ridge)
        split = len(gradient) - len(offsets)
        slopes = solution[:split].reshape(-1, self.n_players, self.n_folds)
        slopes = slopes - slopes.mean(axis=1, keepdims=True)  # 0 but for rounding
        return LinearProxies(
            self.bases, self.scale * slopes, self.scale * (offsets + solution[split:])
        )

    def without_sizes(self) -> tuple[FloatArray, FloatArray]:
        """The gains less a first fit of the size functions, by fold; both divided by `scale`."""
        columns, gains = self.offsets, self.sample.gains / self.scale
        count = columns.shape[1]
        products = self.weights.T @ _outer(columns, columns)
        products = products.reshape(self.n_folds, count, count) + SIZE_PENALTY * np.eye(count)
        right = self.weights.T @ (columns * gains[:, None])
        solved: FloatArray = np.linalg.solve(products, right[..., None]).astype(np.float64)
        offsets = solved[..., 0].T
        return gains[:, None] - columns @ offsets, offsets

    def penalties(
        self, residual: FloatArray, gradient: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The expected Gram matrix and the ridge penalty of each basis, by fold.

        u_iq = gradient/gram estimates b_iq without looking at the sampled Gram matrix, with a
        variance that Σ w²·r²·h²·spread/gram² estimates. What its mean square has in excess is the
        variance of b_iq over the players; the penalty is the ratio of the residual variance to it.
        """
        n, weights = self.n_players, self.weights
        per_size = spread(n)[self.sample.sizes - 1]
        curve = self.slopes**2 * per_size[:, None]
        gram = curve.T @ weights
        weighted = weights * residual**2
        energy = weighted.sum(axis=0)
        count = weights.sum(axis=0)
        safe = np.maximum(gram, 1e-300)
        direct = gradient[: len(gram) * n].reshape(len(gram), n, -1) / safe[:, None]
        noise = (curve.T @ (weights * weighted)) / safe**2
        variances = np.maximum((direct**2).sum(axis=1) / (n - 1.0) - noise, 0.0)
        explained = (gram * (n - 1.0) * variances).sum(axis=0)
        left = np.maximum(energy - explained, LEAST_RESIDUAL * energy) / np.maximum(count, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            penalties = np.where(variances > 0, left / variances, np.inf)
        # A basis that explains nothing is penalised away.
        limit = 1e6 * np.maximum(gram, 1.0)
        return gram, np.minimum(np.nan_to_num(penalties, nan=np.inf), limit), variances

    def _blocks(self) -> Iterable[tuple[slice, NDArray[Any]]]:
        """The masks as numbers, with the rows that they are."""
        if self._dense is not None:
            return self._dense
        return self.sample.units.rows(self.sample.chosen)

    def adjoint(self, residual: FloatArray) -> FloatArray:
        """The right-hand sides Fᵀ W r."""
        weighted = self.weights * residual
        slopes, cast = self._tables[0], self._cast(weighted)
        total = np.zeros((self.n_players, slopes.shape[1] * weighted.shape[1]))
        for part, masks in self._blocks():
            total += masks.T @ _outer(slopes[part], cast[part])
        return self._stack(total, self.offsets.T @ weighted)

    def _normal(self, solution: FloatArray) -> FloatArray:
        """Fᵀ W F applied to the coefficients of all folds."""
        n_slopes, n_folds = self.slopes.shape[1], self.n_folds
        split = n_slopes * self.n_players
        cast = self._cast(solution)
        columns = 2.0 * cast[:split].reshape(n_slopes, self.n_players, n_folds)
        columns = columns.transpose(1, 0, 2).reshape(self.n_players, -1)
        total = np.zeros((self.n_players, n_slopes * n_folds))
        sizes = np.zeros((len(solution) - split, n_folds))
        for part, masks in self._blocks():
            slopes, offsets, weights = (table[part] for table in self._tables)
            sums = (masks @ columns).reshape(-1, n_slopes, n_folds)
            fitted = offsets @ cast[split:]
            for basis in range(n_slopes):
                fitted += slopes[:, basis, None] * sums[:, basis]
            fitted *= weights
            total += masks.T @ _outer(slopes, fitted)
            sizes += offsets.T @ fitted
        return self._stack(total, sizes)

    def _stack(self, total: FloatArray, sizes: FloatArray) -> FloatArray:
        """Σ_t z_ti·… from Σ_t [i ∈ S_t]·…: its mean over the players is taken off."""
        centred = 2.0 * (total - total.mean(axis=0))
        by_basis = centred.reshape(self.n_players, -1, self.n_folds).transpose(1, 0, 2)
        return np.concatenate([by_basis.reshape(-1, self.n_folds), sizes])

    def _conjugate_gradients(
        self, right: FloatArray, scale: FloatArray, ridge: FloatArray
    ) -> FloatArray:
        solution = np.zeros_like(right)
        residual = right.copy()
        direction = scaled = residual / scale
        length = first = (residual * scaled).sum(axis=0)
        for _ in range(MAX_PASSES):
            # A fold that has converged stands still, so that no fold depends on another's gains.
            active = length > TOLERANCE**2 * first
            if not active.any():
                break
            image = self._normal(direction) + ridge * direction
            curvature = (direction * image).sum(axis=0)
            step = np.where(active, length, 0.0) / np.where(curvature > 0, curvature, np.inf)
            solution = solution + step * direction
            residual = residual - step * image
            scaled = residual / scale
            before, length = length, (residual * scaled).sum(axis=0)
            direction = scaled + length / np.where(before > 0, before, np.inf) * direction
        return solution


def _outer(slopes: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Columns h_q·value_f for every basis and fold."""
    product: NDArray[Any] = slopes[:, :, None] * values[:, None, :]
    return product.reshape(len(slopes), -1)
