"""Fits that follow from sums over a set's rows: ridge regression and classifier, naive Bayes.

The sums over a set's rows, for ridge regression of all products of two columns, are one matrix
product for all sets. What is left is a small linear system per set, or means and variances of the
classes.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.games.learners.arrays import (
    Array,
    Backend,
    chances,
    label,
    label_of_two,
    lengths,
)
from fairshapley.games.learners.learner import (
    Data,
    Design,
    Learner,
    Predicted,
    Products,
    design,
    number,
    refuse_unless,
    switch,
)
from fairshapley.games.learners.newton import solve


class _Moments:
    """Sums of products over the rows of sets, about the sets' means where there is an intercept."""

    def __init__(self, ready: Design, targets: FloatArray, intercept: bool, where: Backend) -> None:
        self._where = where
        self._intercept = intercept
        # The middle of all targets is taken off, so that nothing large cancels in the sums.
        middle = targets.mean(axis=0) if intercept else np.zeros(targets.shape[1])
        targets = targets - middle
        crossed = ready.train[:, :, None] * targets[:, None, :]
        self._crossed = where.reals(crossed.reshape(ready.train.shape[0], -1).T)
        self._products = Products(ready.train, where)
        self._middle = where.reals(middle)
        self.train, self.test = where.reals(ready.train), where.reals(ready.test)
        self.targets = where.reals(targets)

    def of(self, weights: Array, ridge: Array | None = None) -> tuple[Array, Array, Array, Array]:
        """Return Σxxᵀ + ridge, Σxyᵀ and the means of x and y of sets (rows, sets): (…, sets)."""
        xp = self._where.xp
        width, n_targets = self.train.shape[1], self.targets.shape[1]
        squares = self._products.sums(weights, ridge)
        crossed = xp.reshape(self._crossed @ weights, (width, n_targets, -1))
        if not self._intercept:
            zeros = self._where.zeros(width + n_targets, weights.shape[1])
            return squares, crossed, zeros[:width, :], zeros[width:, :]
        count = xp.sum(weights, axis=0)
        x, y = self.train.T @ weights / count, self.targets.T @ weights / count
        left = (count * x)[:, None, :]
        return squares - left * x, crossed - left * y, x, y

    def values(self, coefficients: Array, x: Array, y: Array) -> Array:
        """The predictions (sets, test rows, targets) of coefficients (columns, targets, sets)."""
        xp = self._where.xp
        shift = y - xp.sum(coefficients * x[:, None, :], axis=0) + self._middle[:, None]
        sloped = xp.permute_dims(coefficients, (2, 1, 0)) @ self.test.T
        return xp.permute_dims(sloped + xp.permute_dims(shift, (1, 0))[:, :, None], (0, 2, 1))

    def sizes(self, coefficients: Array, x: Array, y: Array) -> Array:
        """The size of the terms of `values`, that of the largest target: (sets, test rows)."""
        xp = self._where.xp
        slope = xp.max(lengths(xp, coefficients, 0), axis=0)
        shift = xp.max(xp.abs(y) + xp.abs(self._middle)[:, None], axis=0)
        shift = shift + slope * lengths(xp, x, 0)
        return slope[:, None] * lengths(xp, self.test, 1) + shift[:, None]


class RidgeLearner(Learner):
    """`sklearn.linear_model.Ridge` with one penalty and the exact solvers.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from fairshapley.games.learners.learner import data
    >>> given = data([[-1.0], [1.0]], [-1.0, 1.0], [[3.0]])
    >>> learner = RidgeLearner(Ridge(alpha=2.0), given, Backend())
    >>> learner.predict(np.array([[True, True]]), "value")
    array([[1.5]])
    """

    def __init__(
        self, model: Any, given: Data, where: Backend, targets: FloatArray | None = None
    ) -> None:
        # The others stop at a tolerance.
        refuse_unless(model, "solver", ("auto", "cholesky", "svd"))
        refuse_unless(model, "positive", (False,))
        alpha = number(model, "alpha", positive=True)
        intercept = switch(model, "fit_intercept")
        targets = given.targets[:, None] if targets is None else targets
        ready = design(given.X, given.X_test, centre=intercept)
        width, n_targets = ready.train.shape[1], targets.shape[1]
        largest = max(given.X.shape[0], given.X_test.shape[0] * n_targets, width**2 // 2)
        super().__init__(where, ["value"], given.X.shape[0], largest)
        self._moments = _Moments(ready, targets, intercept, where)
        self._ridge = where.reals(alpha * ready.penalty[:, None])

    def _fitted(self, weights: Array) -> tuple[Array, Array, Array]:
        """Return the coefficients of each set, and the means of its columns and targets."""
        squares, crossed, x, y = self._moments.of(weights, self._ridge)
        return solve(self.where.xp, squares, crossed), x, y

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        fitted = self._fitted(self.where.xp.astype(sets, self.where.real))
        return self._moments.values(*fitted)[:, :, 0]


class RidgeClassifierLearner(RidgeLearner):
    """`sklearn.linear_model.RidgeClassifier`: ridge regression on −1 and 1, class against rest.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from fairshapley.games.learners.learner import data
    >>> given = data([[-1.0], [1.0]], ["no", "yes"], [[3.0]])
    >>> learner = RidgeClassifierLearner(RidgeClassifier(alpha=2.0), given, Backend())
    >>> learner.predict(np.array([[True, True]]), "decision")
    array([[1.5]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        refuse_unless(model, "class_weight", (None,))
        classes, codes = given.classes
        signs = 2.0 * np.eye(len(classes))[codes] - 1.0
        super().__init__(model, given, where, signs if len(classes) > 2 else signs[:, 1:])
        self.kinds = frozenset({"label", "decision"} if len(classes) == 2 else {"label"})
        self._indicator = where.reals(np.eye(len(classes))[:, codes])

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        xp = self.where.xp
        weights = xp.astype(sets, self.where.real)
        present = self._indicator @ weights > 0
        fitted = self._fitted(weights)
        values = self._moments.values(*fitted)
        if kind == "decision":
            return values[:, :, 0]
        sizes = self._moments.sizes(*fitted)
        if self._indicator.shape[0] == 2:
            return label_of_two(self.where, values[:, :, 0], sizes)
        # With two of several classes the two columns are each other's negative, so that the
        # larger one is the sign that scikit-learn looks at.
        held = xp.permute_dims(present, (1, 0))[:, None, :]
        return label(self.where, xp.where(held, values, -xp.inf), sizes[:, :, None])


class NaiveBayesLearner(Learner):
    """`sklearn.naive_bayes.GaussianNB` with priors from the set.

    As there, `var_smoothing` times the largest variance of a feature in the set is added to all
    variances.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fairshapley.games.learners.learner import data
    >>> given = data([[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"], [[1.0], [6.0]])
    >>> learner = NaiveBayesLearner(GaussianNB(), given, Backend())
    >>> learner.predict(np.array([[True, True, True, True]]), "label")
    array([[0, 1]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        refuse_unless(model, "priors", (None,))
        (classes, codes), X, X_test = given.classes, given.X, given.X_test  # noqa: N806
        largest = given.largest_array(len(classes), 2 * X.shape[1])
        super().__init__(where, ["label", "probability"], len(X), largest)
        # Without smoothing, a class with one row has variance 0 and no likelihood.
        self._var_smoothing = number(model, "var_smoothing", positive=True)
        self._rows, self._sums, self._test, self._middles = [], [], [], []
        for code in range(len(classes)):
            rows = np.flatnonzero(codes == code)
            # About the mean of the class in all data, so that little cancels in the variances.
            middle = X[rows].mean(axis=0)
            about, about_test = X[rows] - middle, X_test - middle
            self._rows.append(where.integers(rows))
            self._sums.append(where.reals(np.hstack([about, about**2]).T))
            self._test.append(where.reals(np.hstack([about_test, about_test**2])))
            self._middles.append(where.reals((middle - X.mean(axis=0))[:, None]))

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        xp = self.where.xp
        counts, means, variances = self._moments(sets)
        total = sum(counts)
        # The means about the middle of all rows, for the variance over all classes.
        places = [mean + middle for mean, middle in zip(means, self._middles, strict=True)]
        centre = sum(map(operator.mul, counts, places)) / total
        spreads = zip(counts, variances, places, strict=True)
        overall = (
            sum(count * (var + (place - centre) ** 2) for count, var, place in spreads) / total
        )
        smoothing = self._var_smoothing * xp.max(overall, axis=0)
        logs, sizes = [], []
        for count, mean, variance, test in zip(counts, means, variances, self._test, strict=True):
            prior = xp.log(count / total)
            density, size = self._log_density(test, mean, variance + smoothing)
            logs.append(xp.where(count > 0, prior + density, -xp.inf))
            sizes.append(size - prior)
        scores = xp.permute_dims(xp.stack(logs), (2, 1, 0))
        if kind == "label":
            terms = xp.permute_dims(xp.stack(sizes), (1, 0))[:, None, :]
            return label(self.where, scores, xp.abs(scores) + terms)
        return chances(xp, scores)

    def _moments(self, sets: Array) -> tuple[list[Array], list[Array], list[Array]]:
        """For each class the number of rows, the means and the variances about its middle."""
        xp = self.where.xp
        counts, means, variances = [], [], []
        for rows, columns in zip(self._rows, self._sums, strict=True):
            chosen = xp.astype(xp.take(sets, rows, axis=0), self.where.real)
            count = xp.sum(chosen, axis=0)
            moments = columns @ chosen / xp.where(count > 0, count, 1.0)
            width = columns.shape[0] // 2
            mean, square = moments[:width, :], moments[width:, :]
            variance = square - mean**2
            # What is below the rounding of the two squares is 0: equal values have no variance.
            noise = 4.0 * self.where.epsilon * square
            counts.append(count)
            means.append(mean)
            variances.append(xp.where(variance > noise, variance, 0.0))
        return counts, means, variances

    def _log_density(self, test: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return the log densities (test rows, sets), the square multiplied out to one product.

        Also how large their terms are beyond the density itself, (sets,): those of the product
        Σ x²/σ² and Σ xμ/σ² are, but for a factor, at most Σ (x−μ)²/σ² + Σ μ²/σ².
        """
        xp = self.where.xp
        precision = 1.0 / variance
        factors = xp.concat([mean * precision, -0.5 * precision], axis=0)
        squares, logs = mean**2 * precision, xp.log(2.0 * math.pi * variance)
        rest = xp.sum(squares + logs, axis=0)
        return test @ factors - 0.5 * rest, xp.sum(squares + xp.abs(logs), axis=0)
