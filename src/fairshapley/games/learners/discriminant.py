"""Linear discriminant analysis: the covariance within classes of all sets at once."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from fairshapley.games.learners.arrays import Array, Backend
from fairshapley.games.learners.designs import Products
from fairshapley.games.learners.inputs import Data, number, refuse_unless
from fairshapley.games.learners.learner import Learner, NotVectorisedError, Predicted
from fairshapley.games.learners.systems import inverse
from fairshapley.games.learners.ties import chances, label, lengths

# Small sets need the eigenvectors of a matrix of this width each; beyond it scikit-learn's
# decomposition of their few rows is cheaper.
MAX_FEATURES = 64


class DiscriminantLearner(Learner):
    """`sklearn.discriminant_analysis.LinearDiscriminantAnalysis` with priors from the set.

    Solver "svd" with its `tol`, or "lsqr" and "eigen" with a fixed shrinkage. A set with one row
    of each class, which scikit-learn refuses, has no covariance to tell classes by: its classes
    are equally likely everywhere. A feature that is constant within the classes of a set is left
    out; scikit-learn does the same if the mean of the equal values is exact, and else divides
    rounding by rounding, which gives scores such as 1e32.

    Examples
    --------
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from fairshapley.games.learners.inputs import data
    >>> given = data([[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"], [[1.0], [6.0]])
    >>> learner = DiscriminantLearner(LinearDiscriminantAnalysis(), given, Backend())
    >>> learner.predict(np.array([[True, True, True, True]]), "decision")
    array([[-24.5,  10.5]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        for name in ("priors", "n_components", "covariance_estimator"):
            refuse_unless(model, name, (None,))
        (classes, codes), X, X_test = given.classes, given.X, given.X_test  # noqa: N806
        n_classes, width = len(classes), X.shape[1]
        if width > MAX_FEATURES:
            raise NotVectorisedError(
                f"{width} features: discriminant analysis is vectorised up to {MAX_FEATURES}"
            )
        self._shrinkage = shrinkage = _shrinkage(model)
        self._tol = number(model, "tol")
        # A sweep is a loop over the columns: wider chunks pay for leaving the fastest cache.
        largest = given.largest_array(n_classes, width**2 // 8)
        kinds: list[Predicted] = ["label", "probability"]
        if n_classes == 2:
            kinds.append("decision")
        super().__init__(where, kinds, len(X), largest)
        centre = X.mean(axis=0)
        scale = X.std(axis=0) if shrinkage is None else np.ones(width)
        scale[scale == 0.0] = 1.0
        ready = (X - centre) / scale
        middles = np.stack([ready[codes == code].mean(axis=0) for code in range(n_classes)])
        # Rows about the middle of their class, so that little cancels in the covariance.
        about = ready - middles[codes]
        self._test = where.reals((X_test - centre) / scale)
        self._middles = where.reals(middles)
        self._products = Products(about, where)
        self._rows = [where.integers(np.flatnonzero(codes == code)) for code in range(n_classes)]
        self._about = [where.reals(about[codes == code].T) for code in range(n_classes)]

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        xp = self.where.xp
        counts, means, within = self._moments(sets)
        present = counts > 0
        priors = counts / xp.sum(counts, axis=0)
        centre = xp.sum(priors[:, None, :] * means, axis=0)
        away = xp.where(present[:, None, :], means - centre, 0.0)
        shrinkage = self._shrinkage
        metric = self._svd_metric(within) if shrinkage is None else self._shrunk(within, shrinkage)
        # (classes, columns, sets): the classes' means in the metric of the covariance.
        coefficients = xp.sum(metric * away[:, :, None, :], axis=1)
        if self._shrinkage is None and len(self._rows) > 2:
            coefficients, away = self._projected(coefficients, away, counts)
        constants = xp.log(priors) - 0.5 * xp.sum(coefficients * away, axis=1)
        constants = constants - xp.sum(coefficients * centre, axis=1)
        scores = xp.permute_dims(coefficients, (2, 0, 1)) @ self._test.T
        scores = scores + xp.permute_dims(constants, (1, 0))[:, :, None]
        there = xp.permute_dims(present, (1, 0))[:, :, None]
        scores = xp.permute_dims(xp.where(there, scores, -xp.inf), (0, 2, 1))
        if kind == "decision":
            return scores[:, :, 1] - scores[:, :, 0]
        if kind == "label":
            reach = lengths(xp, centre, 0) + xp.max(lengths(xp, away, 1), axis=0)
            reach = reach[:, None] + lengths(xp, self._test, 1)
            slopes = xp.permute_dims(lengths(xp, coefficients, 1), (1, 0))[:, None, :]
            logs = xp.permute_dims(xp.log(priors), (1, 0))[:, None, :]
            return label(self.where, scores, slopes * reach[:, :, None] - logs)
        return chances(xp, scores)

    def _moments(self, sets: Array) -> tuple[Array, Array, Array]:
        """Counts (classes, sets), means (classes, columns, sets), covariance within classes."""
        xp = self.where.xp
        weights = xp.astype(sets, self.where.real)
        squares = self._products.sums(weights)
        within, counts, means = squares, [], []
        for code, (rows, about) in enumerate(zip(self._rows, self._about, strict=True)):
            chosen = xp.take(weights, rows, axis=0)
            count = xp.sum(chosen, axis=0)
            mean = about @ chosen / xp.where(count > 0, count, 1.0)
            within = within - (count * mean)[:, None, :] * mean
            counts.append(count)
            means.append(mean + self._middles[code, :, None])
        # What is left of a feature that is constant within the classes is rounding.
        varies = _diagonal(xp, within) > 16.0 * self.where.epsilon * _diagonal(xp, squares)
        within = xp.where(varies[:, None, :] & varies, within, 0.0)
        return xp.stack(counts), xp.stack(means), within / xp.sum(weights, axis=0)

    def _svd_metric(self, within: Array) -> Array:
        """The inverse of the covariance, without directions of too little variance.

        As scikit-learn's "svd": each feature is scaled to variance 1 within classes, and singular
        values up to `tol` are dropped, eigenvalues up to tol² here.
        """
        xp = self.where.xp
        variances = _diagonal(xp, within)
        scales = xp.where(variances > 0, 1.0 / xp.sqrt(variances), 0.0)
        scaled = within * scales[:, None, :] * scales
        inverses = inverse(xp, scaled)
        # The trace of the inverse is above 1 over the smallest eigenvalue. Up to 1/√ε the error of
        # the inverse is near √ε.
        trace = xp.sum(_diagonal(xp, inverses), axis=0)
        limit = min(self._tol**-2.0 if self._tol > 0 else np.inf, self.where.epsilon**-0.5)
        sure = (trace > 0) & (trace < limit) & xp.all(variances > 0, axis=0)
        unsure = xp.nonzero(~sure)[0]
        if unsure.shape[0]:
            values, vectors = xp.linalg.eigh(xp.permute_dims(scaled[:, :, unsure], (2, 0, 1)))
            kept = xp.sqrt(xp.where(values > 0, values, 0.0)) > self._tol
            kept = kept & (values > within.shape[0] * self.where.epsilon)
            factors = xp.where(kept, 1.0 / xp.where(kept, values, 1.0), 0.0)
            partial = (vectors * factors[:, None, :]) @ xp.permute_dims(vectors, (0, 2, 1))
            inverses[:, :, unsure] = xp.permute_dims(partial, (1, 2, 0))
        return inverses * scales[:, None, :] * scales

    def _shrunk(self, within: Array, shrinkage: float) -> Array:
        """The inverse of the covariance drawn towards a multiple of the identity."""
        xp = self.where.xp
        width = within.shape[0]
        places = xp.arange(width, device=within.device)
        mean = xp.sum(_diagonal(xp, within), axis=0) / width
        drawn = (1.0 - shrinkage) * within
        drawn[places, places, :] += shrinkage * mean
        return xp.where(mean > 0, inverse(xp, drawn), 0.0)

    def _projected(self, coefficients: Array, away: Array, counts: Array) -> tuple[Array, Array]:
        """Both without the directions in which the class means hardly differ, as in "svd"."""
        xp = self.where.xp
        roots = xp.sqrt(counts)
        backs = xp.where(counts > 0, 1.0 / xp.where(counts > 0, roots, 1.0), 0.0)
        sides = xp.permute_dims(away * roots[:, None, :], (2, 0, 1))
        others = xp.permute_dims(coefficients * roots[:, None, :], (2, 1, 0))
        values, vectors = xp.linalg.eigh(sides @ others)
        kept = values > self._tol**2 * values[:, -1:]
        vectors = xp.where(kept[:, None, :], vectors, 0.0)
        weights = vectors @ xp.permute_dims(vectors, (0, 2, 1))
        weights = xp.permute_dims(weights, (1, 2, 0)) * backs[:, None, :] * roots
        return (
            xp.sum(weights[:, :, None, :] * coefficients, axis=1),
            xp.sum(weights[:, :, None, :] * away, axis=1),
        )


def _shrinkage(model: Any) -> float | None:
    given = model.shrinkage
    if model.solver == "svd" and given is None:
        return None
    if model.solver in ("lsqr", "eigen") and isinstance(given, Real) and 0.0 < float(given) <= 1.0:
        return float(given)
    raise NotVectorisedError(
        f"LinearDiscriminantAnalysis(solver={model.solver!r}, shrinkage={given!r}): only 'svd', "
        "and 'lsqr' or 'eigen' with a shrinkage above 0, are vectorised; without shrinkage these "
        "two have no stable answer for small sets"
    )


def _diagonal(xp: Any, matrices: Array) -> Array:
    """The diagonals (width, sets) of matrices (width, width, sets)."""
    places = xp.arange(matrices.shape[0], device=matrices.device)
    return matrices[places, places, :]
