"""The fidelity score f_i = (|φ_i| + ξ)² / V[φ̂_i] (Definition 2 of the paper)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._types import FloatArray
from fairshapley.errors import InputError


def check_xi(xi: float) -> float:
    """ξ as a float of at least 0, or an InputError."""
    try:
        number = float(xi)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InputError(
            f"xi is the tolerance near zero, in the unit of the utility: it must be a finite "
            f"number of at least 0, not {xi!r}"
        )
    return number


def fidelity(values: ArrayLike, variances: ArrayLike, xi: float = 1e-3) -> FloatArray:
    """The fidelity score of each estimate: a squared signal-to-noise ratio with tolerance ξ.

    A variance of 0 means that the value is proven and gives an infinite score; NaN (a variance
    that could not be estimated) stays NaN.

    Examples
    --------
    >>> fidelity([0.5, 0.0], [0.01, 0.01], xi=0.1)
    array([36.,  1.])
    """
    phi = np.asarray(values, dtype=np.float64)
    variance = np.asarray(variances, dtype=np.float64)
    if phi.shape != variance.shape:
        raise InputError(
            f"values and variances must have the same shape, not {phi.shape} and {variance.shape}"
        )
    if (variance < 0).any():
        raise InputError("a variance is negative: give the squares of the standard errors")
    signal = np.square(np.abs(phi) + check_xi(xi))
    proven = variance == 0
    return np.where(proven, np.inf, signal / np.where(proven, 1.0, variance))
