"""Newton's method for many convex problems at once, and quasi-Newton steps for wide ones.

The problems are columns. A full step overshoots where the slope along it has turned and kept more
than half its size (the approximate Wolfe condition of Hager and Zhang 2005). It is taken back by
half in the next iteration; so no problem waits for the line search of another.

Wide binary problems take quasi-Newton steps in the coordinates of the fit to all rows. The Hessian
of a set of rows is about that of all rows, times the set's share of them, and the penalty. There
are coordinates in which both are diagonal, so that this guess is inverted at once; what it misses
is learnt from the steps (L-BFGS, Nocedal 1980). A step is two products with the rows; one of
Newton's is as many as there are columns, and a system to solve.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import GameError
from fairshapley.games.learners.arrays import Array, Backend
from fairshapley.games.learners.learner import QUANTUM

# Where LAPACK, called once per system, overtakes: measured on numpy with 256 systems at a time,
# 0.30 against 0.35 µs each at width 6, 0.94 against 1.19 at 11, 1.9 against 2.0 at 16, 5.1
# against 4.4 at 24.
MAX_ELIMINATION = 16


def solve(xp: Any, matrices: Array, right: Array) -> Array:
    """Return the solutions (width, q, systems) for matrices (width, width, systems).

    Examples
    --------
    >>> solve(np, np.array([[[2.0]]]), np.array([[[6.0]]]))
    array([[[3.]]])
    """
    if matrices.shape[0] > MAX_ELIMINATION:
        first = xp.permute_dims(matrices, (2, 0, 1))
        try:
            answer = xp.linalg.solve(first, xp.permute_dims(right, (2, 0, 1)))
        except (np.linalg.LinAlgError, RuntimeError) as error:  # torch's is a RuntimeError.
            raise GameError(
                f"a fit has no unique solution in this precision ({error}): scale the features, "
                "penalise more, use float64, or fit one coalition at a time (vectorised=False)"
            ) from None
        return xp.permute_dims(answer, (1, 2, 0))
    width = matrices.shape[0]
    matrices, right = xp.asarray(matrices, copy=True), xp.asarray(right, copy=True)
    for pivot in range(width - 1):
        below = slice(pivot + 1, width)
        factors = matrices[below, pivot, None, :] / matrices[pivot, pivot, :]
        matrices[below, below, :] -= factors * matrices[pivot, below, :]
        right[below, ...] -= factors * right[pivot, ...]
    for pivot in range(width - 1, -1, -1):
        right[pivot, ...] /= matrices[pivot, pivot, :]
        right[:pivot, ...] -= matrices[:pivot, pivot, None, :] * right[pivot, ...]
    return right


# A step of Newton's method gains about 1 in the log odds of rows that are told apart well, which
# grow like log C; 60 were enough at C = 1e13.
MAX_ITERATIONS = 200


class Objective(Protocol):
    """Convex functions of the same shape, one per column."""

    def derivatives(self, margins: Array, parameters: Array) -> tuple[Array, Array]:
        """The gradients (parameters, columns) and the Hessians (parameters, parameters, columns).

        Parameters
        ----------
        margins
            What the parameters make of the training rows, (…, columns).
        parameters
            Shape (parameters, columns).
        """

    def margins(self, parameters: Array) -> Array:
        """Return the linear map from the parameters to what the loss is a function of."""

    def take(self, columns: Array) -> Self:
        """Return the functions of some columns."""


def minimise(
    objective: Objective, start: Array, where: Backend, *, max_iterations: int = MAX_ITERATIONS
) -> Array:
    """Return the minimum of each function, from the parameters `start` (parameters, columns).

    A problem is done after a step that moves no margin by more than ε^(3/8), 1.3e−6 in float64:
    the error left is about the square of that. Then it is left alone, so that its result does
    not depend on the others.
    """
    xp = where.xp
    tolerance = where.epsilon**0.375
    solution, parameters = start, start
    places = xp.arange(start.shape[1], device=start.device)
    margins = objective.margins(parameters)
    direction, slope = xp.zeros_like(start), xp.zeros_like(start[0, :])
    open_ = xp.ones_like(slope, dtype=xp.bool)
    for _ in range(max_iterations):
        gradient, hessian = objective.derivatives(margins, parameters)
        forward = -solve(xp, hessian, gradient[:, None, :])[:, 0, :]
        step, direction, slope, back = tried(xp, gradient, forward, direction, slope)
        step = xp.where(open_, step, 0.0)
        change = objective.margins(step)
        parameters, margins = parameters + step, margins + change
        size = xp.max(xp.reshape(xp.abs(change), (-1, change.shape[-1])), axis=0)
        open_ = open_ & (back | ~(size <= tolerance))
        left = int(xp.sum(xp.astype(open_, xp.int64)))
        if left == 0:
            break
        width = -(-left // QUANTUM) * QUANTUM
        if 2 * width > open_.shape[0]:
            continue
        # The open problems, and as many finished ones as fill a whole width.
        solution = _put(xp, solution, places, parameters)
        order = xp.argsort(xp.astype(open_, xp.int8), descending=True, stable=True)[:width]
        objective, places, open_ = objective.take(order), places[order], open_[order]
        parameters, margins = parameters[:, order], margins[..., order]
        direction, slope = direction[:, order], slope[order]
    else:
        raise GameError(
            f"{left} fits did not converge in {max_iterations} Newton steps: scale the features, "
            "penalise more, use float64, or fit one coalition at a time (vectorised=False)"
        )
    return _put(xp, solution, places, parameters)


def tried(
    xp: Any, gradient: Array, forward: Array, direction: Array, slope: Array
) -> tuple[Array, Array, Array, Array]:
    """Return a step forward by a new direction, or half of the last step back where it overshot.

    Returns
    -------
    tuple
        The step, the direction now being tried and the slope at its start, and which problems
        stepped back.
    """
    back = xp.sum(direction * gradient, axis=0) > -0.5 * slope
    step = xp.where(back, -0.5 * direction, forward)
    direction = xp.where(back, 0.5 * direction, forward)
    slope = xp.where(back, 0.5 * slope, xp.sum(forward * gradient, axis=0))
    return step, direction, slope, back


def _put(xp: Any, solution: Array, places: Array, parameters: Array) -> Array:
    """Return `solution` with the columns at `places` replaced."""
    if solution.shape == parameters.shape:
        return parameters
    solution = xp.asarray(solution, copy=True)
    solution[:, places] = parameters
    return solution


# Steps, how they changed the gradient, and one over the product of both.
Pair: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

# More pairs take fewer steps that cost more: with 88 columns 6, 8 and 20 took about as long.
PAIRS = 8
# One-hot tables took 15 steps for almost all rows and 65 for a twentieth of them. What is not done
# by then (features that tell the classes apart, with hardly a penalty) is left to Newton's method.
MAX_QUASI_STEPS = 120
# Rows that are told apart better hardly bend the loss, and Newton's steps from there go astray.
LARGEST_MARGIN = 10.0


class FullFit:
    """Binary logistic regressions of sets of rows, from the fit to all rows.

    Parameters
    ----------
    signed
        The columns of the rows, times −1 for one class.
    penalties
        Of the squares of the coefficients.
    weights, coefficients
        How much each row counts in the fit to all rows, and the coefficients of that fit.

    Examples
    --------
    >>> signed, penalties = np.array([[1.0], [2.0]]), np.array([1.0])
    >>> fit = FullFit(signed, penalties, np.ones(2), np.array([0.6]))
    >>> solved, unfinished = fit.minimise(np.ones((2, 32)))
    >>> solved[0].round(3), bool(unfinished.any())
    (array([0.715]), False)
    """

    def __init__(
        self,
        signed: FloatArray,
        penalties: FloatArray,
        weights: FloatArray,
        coefficients: FloatArray,
    ) -> None:
        wrong = 1.0 / (1.0 + np.exp(signed @ coefficients))
        of_rows = signed.T @ ((weights * wrong * (1.0 - wrong))[:, None] * signed)
        whole = of_rows + np.diag(penalties)
        values, vectors = np.linalg.eigh(whole)
        whitened = vectors / np.sqrt(values)
        shares, turned = np.linalg.eigh(whitened.T @ of_rows @ whitened)
        self._basis = whitened @ turned
        self._rows = signed @ self._basis
        self._of_rows = np.clip(shares, 0.0, 1.0)[:, None]
        self._penalty = 1.0 - self._of_rows
        self._full = (self._basis.T @ whole @ coefficients)[:, None]
        self._total = weights.sum()
        # 3e−13: what is left after such a step is less than the 3e−12 that Newton's method leaves.
        self._tolerance = float(np.finfo(np.float64).eps ** 0.8)

    def start(self, weights: FloatArray) -> FloatArray:
        """Return first coefficients (columns, sets): 0 where they tell rows apart too well."""
        point, _ = self._guess(weights)
        near = np.abs(self._rows @ point).max(axis=0) <= LARGEST_MARGIN
        return np.where(near, self._basis @ point, 0.0)

    def _guess(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The minimum if a set's losses were its share of all rows', and its second derivative."""
        share = weights.sum(axis=0) / self._total
        scale = share * self._of_rows + self._penalty
        return share * self._full / scale, scale

    def minimise(self, weights: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The coefficients (sets, columns) for weights (rows, sets), and which are not done."""
        point, scale = self._guess(weights)
        margins = self._rows @ point
        gradient = self._gradient(point, margins, weights)
        direction, slope = np.zeros_like(point), np.zeros_like(point[0])
        solution, places = point, np.arange(point.shape[1])
        unfinished = np.ones(point.shape[1], dtype=np.bool_)
        open_, pairs = unfinished.copy(), list[Pair]()
        for _ in range(MAX_QUASI_STEPS):
            forward = -_preconditioned(gradient, pairs, scale)
            step, direction, slope, back = tried(np, gradient, forward, direction, slope)
            step = np.where(open_, step, 0.0)
            change = self._rows @ step
            point, margins, before = point + step, margins + change, gradient
            open_ &= back | ~(np.abs(change).max(axis=0) <= self._tolerance)
            solution[:, places], unfinished[places] = point, open_
            left = int(open_.sum())
            if left == 0:
                break
            gradient = self._gradient(point, margins, weights)
            across = gradient - before
            curvature = (step * across).sum(axis=0)
            inverse = np.where(curvature > 0, 1.0 / curvature, 0.0)
            pairs = [*pairs[1 - PAIRS :], (step, across, inverse)]
            width = -(-left // QUANTUM) * QUANTUM
            if width == len(open_):
                continue
            # The open problems, and as many finished ones as fill a whole width.
            order = np.argsort(~open_, kind="stable")[:width]
            places, open_, slope = places[order], open_[order], slope[order]
            point, margins, gradient, direction, weights, scale = (
                part[:, order] for part in (point, margins, gradient, direction, weights, scale)
            )
            pairs = [(one[:, order], other[:, order], rate[order]) for one, other, rate in pairs]
        return (self._basis @ solution).T, unfinished

    def _gradient(self, point: FloatArray, margins: FloatArray, weights: FloatArray) -> FloatArray:
        gradient: FloatArray = self._penalty * point
        gradient -= self._rows.T @ (weights / (1.0 + np.exp(margins)))
        return gradient


def _preconditioned(gradient: FloatArray, pairs: list[Pair], scale: FloatArray) -> FloatArray:
    """Return the inverse of the Hessian, as far as it is known, times the gradients."""
    found, taken = gradient.copy(), []
    for step, across, inverse in reversed(pairs):
        taken.append(inverse * (step * found).sum(axis=0))
        found -= taken[-1] * across
    found /= scale
    for step, across, inverse in pairs:
        found += (taken.pop() - inverse * (across * found).sum(axis=0)) * step
    return found
