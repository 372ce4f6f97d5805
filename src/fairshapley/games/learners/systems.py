"""Many small symmetric positive definite systems at once, with the systems on the last axis.

LAPACK is called once per system; below some size that costs more than the arithmetic. Here every
step of the elimination is one operation on all systems. Pivoting is not needed: the matrices are
positive definite, or the caller tells from the answer that they are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairshapley.errors import GameError
from fairshapley.games.learners.arrays import Array

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
