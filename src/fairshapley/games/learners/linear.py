"""Ridge regression and the ridge classifier.

The sums over a set's rows of all products of two columns are one matrix product for all sets;
what is left is a small linear system per set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.games.learners.arrays import Array, Backend, label, label_of_two, lengths
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
        """For sets (rows, sets): Σxxᵀ + ridge, Σxyᵀ, the means of x and y, each (…, sets)."""
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
        """The coefficients of each set, and the means of its columns and targets."""
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
