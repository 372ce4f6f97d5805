"""Logistic regressions of many columns: quasi-Newton steps in the coordinates of the full fit.

The Hessian of a set of rows is about that of all rows, times the set's share of them, and the
penalty. There are coordinates in which both are diagonal, so that this guess is inverted at once;
what it misses is learnt from the steps (L-BFGS, Nocedal 1980). A step is two products with the
rows; one of Newton's is as many as there are columns, and a system to solve.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.games.learners.learner import QUANTUM
from fairshapley.games.learners.newton import tried

# Steps, how they changed the gradient, and one over the product of both.
Pair: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

# More pairs take fewer steps that cost more: with 88 columns 6, 8 and 20 took about as long.
PAIRS = 8
# One-hot tables took 15 steps for almost all rows and 65 for a twentieth of them. What is not done
# by then (features that tell the classes apart, with hardly a penalty) is left to Newton's method.
MAX_STEPS = 120
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
        """Coefficients (columns, sets) to begin with: 0 where they tell rows apart too well."""
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
        for _ in range(MAX_STEPS):
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
    """The inverse of the Hessian, as far as it is known, times the gradients."""
    found, taken = gradient.copy(), []
    for step, across, inverse in reversed(pairs):
        taken.append(inverse * (step * found).sum(axis=0))
        found -= taken[-1] * across
    found /= scale
    for step, across, inverse in pairs:
        found += (taken.pop() - inverse * (across * found).sum(axis=0)) * step
    return found
