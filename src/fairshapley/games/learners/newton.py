"""Newton's method for many convex problems at once.

The problems are columns. A full step that overshoots, so that the slope along it has turned and
kept more than half its size (the approximate Wolfe condition of Hager and Zhang 2005), is taken
back by half in the next iteration; so no problem waits for the line search of another.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from fairshapley.errors import GameError
from fairshapley.games.learners.arrays import Array, Backend
from fairshapley.games.learners.learner import QUANTUM

# Where LAPACK, called once per system, overtakes: measured on numpy with 256 systems at a time,
# 0.30 against 0.35 µs each at width 6, 0.94 against 1.19 at 11, 1.9 against 2.0 at 16, 5.1
# against 4.4 at 24.
MAX_ELIMINATION = 16


def solve(xp: Any, matrices: Array, right: Array) -> Array:
    """The solutions (width, q, systems) for matrices (width, width, systems).

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
# Wider systems do not fit the registers of a block of threads.
MAX_KERNEL_WIDTH = 64


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
        """The linear map from the parameters to what the loss is a function of."""

    def take(self, columns: Array) -> Self:
        """The functions of some columns."""


def minimise(
    objective: Objective, start: Array, where: Backend, *, max_iterations: int = MAX_ITERATIONS
) -> Array:
    """The minimum of each function, from the parameters `start` (parameters, columns).

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
        forward = -_solved(where, hessian, gradient)
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
    """A step forward by a new direction, or half of the last step back where it overshot.

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


def _solved(where: Backend, hessian: Array, gradient: Array) -> Array:
    if where.kernels and MAX_ELIMINATION < gradient.shape[0] <= MAX_KERNEL_WIDTH:
        from fairshapley.games.learners.fused import solve as solve_in_registers

        return solve_in_registers(hessian, gradient)
    return solve(where.xp, hessian, gradient[:, None, :])[:, 0, :]


def _put(xp: Any, solution: Array, places: Array, parameters: Array) -> Array:
    """`solution` with the columns at `places` replaced."""
    if solution.shape == parameters.shape:
        return parameters
    solution = xp.asarray(solution, copy=True)
    solution[:, places] = parameters
    return solution
