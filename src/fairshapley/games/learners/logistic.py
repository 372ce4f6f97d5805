"""Logistic regression: two classes or many, with liblinear's intercept or a free one.

For a set of rows S the minimum of Σ_{i∈S} c_i ℓ(x_i, y_i) + ‖w‖²/(2C), where c_i is the weight of
the class. liblinear counts the intercept in ‖w‖, the other solvers do not. A set with two of
several classes is a binary problem, one with more a multinomial one, as scikit-learn has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np

from fairshapley.games.learners.arrays import (
    Array,
    Backend,
    chances,
    label,
    label_of_two,
    lengths,
)
from fairshapley.games.learners.learner import (
    QUANTUM,
    Data,
    Learner,
    NotVectorisedError,
    Predicted,
    Products,
    design,
    number,
    refuse_unless,
    switch,
)
from fairshapley.games.learners.newton import FullFit, minimise


@dataclass(frozen=True, eq=False)
class BinaryLoss:
    """Σ_i c_i log(1 + e^{−u_i}) + Σ_j r_j w_j²/2 with u = X w, the rows of X signed by class.

    Attributes
    ----------
    xp
        The namespace of the arrays.
    signed, products
        The columns of the rows, times −1 for one class, and their products.
    penalties
        r_j, shape (columns, 1).
    weights
        c_i of each set, 0 for rows that it does not hold, shape (rows, sets).
    """

    xp: Any
    signed: Array
    products: Products
    penalties: Array
    weights: Array

    def margins(self, parameters: Array) -> Array:
        """Return the u_i, shape (rows, sets)."""
        return self.signed @ parameters

    def derivatives(self, margins: Array, parameters: Array) -> tuple[Array, Array]:
        """Return the gradients and the Hessians; see `newton.Objective`."""
        # 1/(1+e^u), not 1 − 1/(1+e^−u): what is left of a row that is told apart well stays exact.
        wrong = 1.0 / (1.0 + self.xp.exp(margins))
        pull = self.weights * wrong
        gradient = self.penalties * parameters - self.signed.T @ pull
        return gradient, self.products.sums(pull - pull * wrong, self.penalties)

    def take(self, columns: Array) -> Self:
        """Return the objectives of some of the sets."""
        return replace(self, weights=self.weights[:, columns])


@dataclass(frozen=True, eq=False)
class MultinomialLoss:
    """Σ_i c_i (log Σ_k e^{z_ik} − z_{i,y_i}) + Σ_kj r_j w_kj²/2 with z_k = X w_k.

    Adding one number to the coefficients of all classes changes no probability; only the penalty
    holds it, weakly, or for an intercept nothing does. So half the square of Σ_k w_kj is added:
    it is 0 at the minimum. Classes that a set does not hold have probability and coefficients 0.

    Attributes
    ----------
    xp
        The namespace of the arrays.
    train, products
        The columns of the rows, and their products.
    penalties
        r_j, shape (columns, 1).
    indicator
        1 for a row's class, shape (classes, rows, 1).
    weights, present
        c_i of each set, shape (rows, sets), and which classes it holds, (classes, sets).
    """

    xp: Any
    train: Array
    products: Products
    penalties: Array
    indicator: Array
    weights: Array
    present: Array

    def margins(self, parameters: Array) -> Array:
        """Return the z_ik, shape (classes, rows, sets)."""
        shape = (self.indicator.shape[0], self.train.shape[1], -1)
        return self.train @ self.xp.reshape(parameters, shape)

    def derivatives(self, margins: Array, parameters: Array) -> tuple[Array, Array]:
        """Return the gradients and the Hessians; see `newton.Objective`."""
        xp = self.xp
        n_classes, width = self.indicator.shape[0], self.train.shape[1]
        margins = xp.where(self.present[:, None, :], margins, -xp.inf)
        odds = xp.exp(margins - xp.max(margins, axis=0, keepdims=True))
        chances = odds / xp.sum(odds, axis=0, keepdims=True)
        # Not 1 − the chance of the row's class: the others are small and stay exact.
        others = chances * (1.0 - self.indicator)
        wrong = xp.sum(others, axis=0, keepdims=True)
        pull = self.weights * (others - self.indicator * wrong)
        held = self._held()
        coefficients = xp.reshape(parameters, (n_classes, width, -1))
        gradient = self.train.T @ pull + self.penalties * coefficients
        gradient = gradient + xp.sum(held[:, :, None, :] * coefficients, axis=1)
        return xp.reshape(gradient, (n_classes * width, -1)), self._hessian(chances, held)

    def take(self, columns: Array) -> Self:
        """Return the objectives of some of the sets."""
        return replace(self, weights=self.weights[:, columns], present=self.present[:, columns])

    def _held(self) -> Array:
        """The Hessian of ½ (Σ_k w_k)² over a set's classes and ½ w_k² for each other class."""
        present = self.xp.astype(self.present, self.weights.dtype)
        eye = self.xp.eye(present.shape[0], dtype=present.dtype, device=present.device)
        return present[:, None, :] * present + eye[:, :, None] * (1.0 - present)

    def _hessian(self, chances: Array, held: Array) -> Array:
        """Return the second derivatives, shape (classes · columns, classes · columns, sets)."""
        xp = self.xp
        n_classes, width = chances.shape[0], self.train.shape[1]
        parts = [slice(one * width, (one + 1) * width) for one in range(n_classes)]
        shape = (n_classes * width, n_classes * width, chances.shape[2])
        hessian = xp.empty(shape, dtype=chances.dtype, device=chances.device)
        own = xp.zeros_like(chances)
        for one in range(n_classes):
            weighted = self.weights * chances[one, ...]
            for other in range(one):
                shared = weighted * chances[other, ...]
                own[one, ...] += shared
                own[other, ...] += shared
                block = self.products.sums(-shared, held[one, other, :])
                hessian[parts[one], parts[other], :] = block
                hessian[parts[other], parts[one], :] = block
        for one in range(n_classes):
            diagonal = self.penalties + held[one, one, :]
            block = self.products.sums(own[one, ...], diagonal)
            hessian[parts[one], parts[one], :] = block
        return hessian


# A multinomial Hessian has (classes × columns)² entries and is factorised for every set and step;
# beyond this size scikit-learn's quasi-Newton steps are cheaper.
MAX_MULTINOMIAL = 200
# What `fused` takes on; wider problems are faster as separate matrix products.
MAX_FUSED_WIDTH = 16
# From here on quasi-Newton steps are faster than Newton's.
MIN_QUASI_WIDTH = 40
FREE_INTERCEPT = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")


class LogisticLearner(Learner):
    """`sklearn.linear_model.LogisticRegression` with an L2 penalty, solved to the minimum.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshapley.games.learners.learner import data
    >>> given = data([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1], [[3.0]])
    >>> learner = LogisticLearner(LogisticRegression(), given, Backend())
    >>> learner.predict(np.array([[True, True, True, True]]), "label")
    array([[1]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        (classes, codes), n_rows, n_test = given.classes, len(given.X), len(given.X_test)
        n_classes, liblinear = len(classes), model.solver == "liblinear"
        _check_parameters(model)
        if liblinear and n_classes > 2:
            raise NotVectorisedError("liblinear fits two classes only: choose solver='lbfgs'")
        penalty, with_intercept = (
            1.0 / number(model, "C", positive=True),
            switch(model, "fit_intercept"),
        )
        ready = design(given.X, given.X_test, centre=with_intercept and not liblinear)
        columns, columns_test = ready.train, ready.test
        penalties = penalty * ready.penalty
        if with_intercept:
            one = number(model, "intercept_scaling", positive=True) if liblinear else 1.0
            columns = np.hstack([columns, np.full((n_rows, 1), one)])
            columns_test = np.hstack([columns_test, np.full((n_test, 1), one)])
            penalties = np.append(penalties, penalty if liblinear else 0.0)
        width = columns.shape[1]
        size = 1 if n_classes == 2 else n_classes
        if n_classes > 2 and n_classes * width > MAX_MULTINOMIAL:
            raise NotVectorisedError(
                f"{n_classes} classes of {width} coefficients: more than {MAX_MULTINOMIAL} "
                "parameters take longer in batches than one by one"
            )
        self._by_size = where.device is None and where.dtype == "float64" and n_classes == 2
        self._quasi = self._by_size and width >= MIN_QUASI_WIDTH
        # LAPACK wants each chunk's Hessians twice: half a cache of them at a time.
        hessians = 0 if self._quasi else (size * width) ** 2 // 2
        largest = max(size * n_rows, size * n_test, hessians)
        kinds: list[Predicted] = ["label", "probability"]
        if n_classes == 2:
            kinds.append("decision")
        super().__init__(where, kinds, n_rows, largest)
        self._n_classes = n_classes
        self._codes = where.integers(codes)
        self._balanced = model.class_weight is not None
        self._train, self._test = where.reals(columns), where.reals(columns_test)
        self._reach = lengths(where.xp, self._test, 1)
        self._penalties = where.reals(penalties[:, None])
        self._products = Products(columns, where)
        self._indicator = where.reals(np.eye(n_classes)[:, codes])

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        weights, present, n_present = self._weighed(sets)
        if self._n_classes == 2:
            return self._of_two(self._binary(weights), kind)
        return self._several(weights, present, n_present, kind)

    def _weighed(self, sets: Array) -> tuple[Array, Array, Array]:
        """Return how much each row counts in each set, which classes a set holds, and how many."""
        xp = self.where.xp
        weights = xp.astype(sets, self.where.real)
        counts = self._indicator @ weights
        present = counts > 0
        n_present = xp.sum(xp.astype(present, xp.int64), axis=0)
        if self._balanced:
            n_rows = xp.sum(counts, axis=0)
            shares = n_rows / (xp.astype(n_present, self.where.real) * counts)
            weights = weights * xp.take(xp.where(present, shares, 0.0), self._codes, axis=0)
        return weights, present, n_present

    @cached_property
    def _full_fit(self) -> FullFit:
        """The fit to all rows, from which the fits of a wide table start."""
        weights, _, _ = self._weighed(np.ones((self._n_rows, QUANTUM), dtype=np.bool_))
        objective = self._objective(weights)
        start = self.where.zeros(self._train.shape[1], QUANTUM)
        full = minimise(objective, start, self.where)[:, 0]
        return FullFit(objective.signed, self._penalties[:, 0], weights[:, 0], full)

    def _of_two(self, coefficients: Array, kind: Predicted) -> Array:
        """Return labels, probabilities or decisions of two classes from coefficients of sets."""
        xp = self.where.xp
        if kind == "label":
            # Coefficients of length 1, so that the size of a score is that of its test row alone.
            length = lengths(xp, coefficients, 1)[:, None]
            coefficients = coefficients / xp.where(length > 0, length, 1.0)
            return label_of_two(self.where, coefficients @ self._test.T, self._reach)
        scores = coefficients @ self._test.T
        if kind == "decision":
            return scores
        high = 1.0 / (1.0 + xp.exp(-scores))
        return xp.stack([1.0 - high, high], axis=2)

    def _objective(self, weights: Array, low: int = 0, high: int = 1) -> BinaryLoss:
        """Return the losses of sets that are to tell class `high` from class `low`."""
        signs = self._indicator[high, :] - self._indicator[low, :]
        signed = signs[:, None] * self._train
        return BinaryLoss(self.where.xp, signed, self._products, self._penalties, weights)

    def _binary(self, weights: Array, low: int = 0, high: int = 1) -> Array:
        """Return the coefficients (sets, columns) that tell class `high` from class `low`."""
        xp, objective = self.where.xp, self._objective(weights, low, high)
        width = self._train.shape[1]
        if self.where.kernels and width <= MAX_FUSED_WIDTH:
            from fairshapley.games.learners.fused import minimise_binary

            return minimise_binary(objective.signed, objective.weights, self._penalties[:, 0])
        start = self.where.zeros(width, weights.shape[1])
        if self._by_size and not self._quasi:
            start = self._full_fit.start(weights)
        if not self._quasi:
            return xp.permute_dims(minimise(objective, start, self.where), (1, 0))
        found, unfinished = self._full_fit.minimise(weights)
        if unfinished.any():
            # From the start: where steps went astray, the Hessian can be singular.
            rest = _fill(xp, np.flatnonzero(unfinished))
            found[rest] = minimise(objective.take(rest), start[:, rest], self.where).T
        return found

    def _several(self, weights: Array, present: Array, n_present: Array, kind: Predicted) -> Array:
        """Predictions where sets may hold two or more of several classes."""
        xp = self.where.xp
        shape = (weights.shape[1], self._test.shape[0], self._n_classes)
        scores = xp.full(shape, -xp.inf, dtype=self.where.real, device=weights.device)
        length = self.where.zeros(weights.shape[1])
        many = xp.nonzero(n_present > 2)[0]
        if many.shape[0]:
            chosen = _fill(xp, many)
            coefficients = self._multinomial(weights[:, chosen], present[:, chosen])
            values = xp.permute_dims(self._test @ coefficients, (2, 1, 0))[: many.shape[0], ...]
            length[many] = xp.max(lengths(xp, coefficients, 1), axis=0)[: many.shape[0]]
            absent = ~xp.permute_dims(present[:, many], (1, 0))[:, None, :]
            scores[many, ...] = xp.where(absent, -xp.inf, values)
        for low in range(self._n_classes):
            for high in range(low + 1, self._n_classes):
                pair = xp.nonzero((n_present == 2) & present[low, :] & present[high, :])[0]
                if pair.shape[0]:
                    chosen = _fill(xp, pair)
                    coefficients = self._binary(weights[:, chosen], low, high)
                    values = (coefficients @ self._test.T)[: pair.shape[0], ...]
                    length[pair] = lengths(xp, coefficients, 1)[: pair.shape[0]]
                    # Softmax of (0, z) is the logistic function of z.
                    scores[pair, :, low] = xp.zeros_like(values)
                    scores[pair, :, high] = values
        if kind == "label":
            return label(self.where, scores, (length[:, None] * self._reach)[:, :, None])
        return chances(xp, scores)

    def _multinomial(self, weights: Array, present: Array) -> Array:
        """Return the coefficients (classes, columns, sets) of sets with three classes or more."""
        xp = self.where.xp
        objective = MultinomialLoss(
            xp,
            self._train,
            self._products,
            self._penalties,
            self._indicator[:, :, None],
            weights,
            present,
        )
        width = self._train.shape[1]
        start = self.where.zeros(self._n_classes * width, weights.shape[1])
        solved = minimise(objective, start, self.where)
        return xp.reshape(solved, (self._n_classes, width, -1))


def _fill(xp: Any, places: Array) -> Array:
    """Return `places` with the last repeated up to a multiple of the quantum of widths."""
    missing = -places.shape[0] % QUANTUM
    return xp.concat([places, xp.broadcast_to(places[-1:], (missing,))]) if missing else places


def _check_parameters(model: Any) -> None:
    refuse_unless(model, "solver", ("liblinear", *FREE_INTERCEPT))
    refuse_unless(model, "penalty", ("l2", "deprecated"))
    refuse_unless(model, "multi_class", ("auto", "deprecated"))
    refuse_unless(model, "class_weight", (None, "balanced"))
    ratio = getattr(model, "l1_ratio", None)
    if model.penalty == "deprecated" and not (ratio is None or ratio == 0):
        raise NotVectorisedError(
            f"LogisticRegression(l1_ratio={ratio!r}): only l1_ratio=0 is vectorised"
        )
    if isinstance(model.C, Real) and float(model.C) == np.inf:
        raise NotVectorisedError(
            "LogisticRegression(C=inf): without a penalty small sets of rows have no minimum"
        )
    if not (number(model, "max_iter") >= 100 and number(model, "tol") <= 1e-4):
        raise NotVectorisedError(
            f"LogisticRegression(max_iter={model.max_iter!r}, tol={model.tol!r}) may stop before "
            "the minimum, where the vectorised fit does not: keep max_iter ≥ 100 and tol ≤ 1e-4"
        )
