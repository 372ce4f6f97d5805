"""Linear models by least squares: ridge, the ridge classifier, and no penalty at all.

The sums over a set's rows of all products of two columns are one matrix product for all sets;
what is left is a small linear system per set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.games.learners.arrays import Array, Backend
from fairshapley.games.learners.designs import Design, Products, design
from fairshapley.games.learners.inputs import Data, number, refuse_unless, switch
from fairshapley.games.learners.learner import Learner, Predicted
from fairshapley.games.learners.systems import inverse, solve
from fairshapley.games.learners.ties import label, label_of_two, lengths


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
    >>> from fairshapley.games.learners.inputs import data
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
    >>> from fairshapley.games.learners.inputs import data
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
        there = xp.permute_dims(present, (1, 0))[:, None, :]
        return label(self.where, xp.where(there, values, -xp.inf), sizes[:, :, None])


class LinearLearner(Learner):
    """`sklearn.linear_model.LinearRegression`: least squares, the shortest solution of many.

    Sets that determine their coefficients well are solved by normal equations, the others by a
    singular value decomposition of their rows, with scikit-learn's `tol` as cutoff.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from fairshapley.games.learners.inputs import data
    >>> given = data([[0.0], [1.0], [2.0]], [1.0, 3.0, 9.0], [[3.0]])
    >>> learner = LinearLearner(LinearRegression(), given, Backend())
    >>> learner.predict(np.array([[True, True, False], [True, False, False]]), "value")
    array([[7.],
           [1.]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        refuse_unless(model, "positive", (False,))
        intercept = switch(model, "fit_intercept")
        # Before scikit-learn 1.7 there was no `tol` but the rounding of the type.
        cutoff = number(model, "tol") if hasattr(model, "tol") else 0.0
        ready = design(given.X, given.X_test, centre=intercept)
        n_rows, width = ready.train.shape
        # A sweep is a loop over the columns: wider chunks pay for leaving the fastest cache. The
        # rows of the sets that need a decomposition are copied.
        largest = max(n_rows, given.X_test.shape[0], width**2 // 8, n_rows * width // 8)
        super().__init__(where, ["value"], n_rows, largest)
        self._cutoff = max(cutoff, where.epsilon)
        self._moments = _Moments(ready, given.targets[:, None], intercept, where)
        self._lengths = where.reals(1.0 / ready.penalty[:, None])

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        xp = self.where.xp
        weights = xp.astype(sets, self.where.real)
        squares, crossed, x, y = self._moments.of(weights)
        inverses = inverse(xp, squares)
        coefficients = xp.sum(inverses * crossed[None, :, 0, :], axis=1)
        width = squares.shape[0]
        places = xp.arange(width, device=weights.device)
        across, back = squares[places, places, :], inverses[places, places, :]
        # The traces of a matrix and of its inverse bound its largest and smallest eigenvalue.
        scaled = xp.sum(across, axis=0) * xp.sum(back, axis=0)
        lengths = xp.sum(across * self._lengths, axis=0) * xp.sum(back / self._lengths, axis=0)
        # Normal equations square the condition: up to 1/√ε the relative error stays near √ε.
        limit = self.where.epsilon**-0.5
        sure = (scaled > 0) & (scaled < limit) & (lengths < self._cutoff**-2.0)
        sure = sure & xp.all(back > 0, axis=0)
        counts = xp.sum(xp.astype(sets, xp.int64), axis=0)
        # By powers of two, so that a set has one size of decomposition in whatever company.
        low, high = 0, 1
        while low < sets.shape[0] and not bool(xp.all(sure)):
            these = xp.nonzero(~sure & (counts > low) & (counts <= high))[0]
            if these.shape[0]:
                most = min(high, sets.shape[0])
                shortest = self._shortest(sets[:, these], most, x[:, these], y[0, these])
                coefficients[:, these] = shortest
            low, high = high, 2 * high
        return self._moments.values(coefficients[:, None, :], x, y)[:, :, 0]

    def _shortest(self, sets: Array, most: int, x: Array, y: Array) -> Array:
        """The shortest least-squares solutions (columns, sets), by decomposition of the rows.

        No set has more than `most` rows.
        """
        xp = self.where.xp
        counts = xp.sum(xp.astype(sets, xp.int64), axis=0)
        # Each set's rows first; what is left up to `most` are zeros.
        order = xp.argsort(xp.astype(sets, xp.int8), axis=0, descending=True, stable=True)[:most, :]
        there = xp.arange(most, device=counts.device)[None, :] < counts[:, None]
        rows = xp.permute_dims(order, (1, 0))
        roots = xp.sqrt(self._lengths[:, 0])
        columns = self._moments.train[rows, :] - xp.permute_dims(x, (1, 0))[:, None, :]
        columns = xp.where(there[:, :, None], columns * roots, 0.0)
        targets = xp.where(there, self._moments.targets[rows, 0] - y[:, None], 0.0)
        left, lengths, axes = xp.linalg.svd(columns, full_matrices=False)
        kept = lengths > self._cutoff * lengths[:, :1]
        factors = xp.where(kept, 1.0 / xp.where(kept, lengths, 1.0), 0.0)
        along = xp.permute_dims(left, (0, 2, 1)) @ targets[:, :, None]
        shortest = xp.permute_dims(axes, (0, 2, 1)) @ (factors[:, :, None] * along)
        return xp.permute_dims(shortest[:, :, 0] * roots, (1, 0))
