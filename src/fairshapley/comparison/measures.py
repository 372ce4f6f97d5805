"""How far an estimate is from the true values, in the measures of the field.

Examples
--------
>>> truth, estimate = [2.0, 1.0, 3.0], [2.2, 1.0, 2.1]
>>> round(mape(estimate, truth), 4), inversions(estimate, truth)
(0.1333, 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.fairness.axioms import check_estimate


def ape(estimate: ArrayLike, truth: ArrayLike, *, offset: float = 0.0) -> FloatArray:
    """Return the absolute percentage error of each player: |(φ̂_i − φ_i) / φ_i|.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    offset
        A constant c for (|φ̂_i − φ_i| + c) / |φ_i + c|, so that a true value of 0 has an error too.

    Examples
    --------
    >>> ape([1.5, -1.0], [1.0, -2.0])
    array([0.5, 0.5])
    """
    values, phi = check_estimate(estimate, truth)
    constant = checks.real("offset", offset, least=0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        errors = (np.abs(values - phi) + constant) / np.abs(phi + constant)
    wrong = np.flatnonzero(~np.isfinite(errors))
    if wrong.size:
        raise InputError(
            f"the true value of player {wrong[0]} is {phi[wrong[0]]:g}, so its percentage error is "
            "not defined: give a small `offset` such as 1e-5, or leave the player out"
        )
    return errors


def mape(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean absolute percentage error: (1/n)·Σ_i |φ̂_i − φ_i| / |φ_i|.

    Examples
    --------
    >>> mape([1.5, 1.0], [1.0, 2.0])
    0.5
    """
    return float(ape(estimate, truth).mean())


def inversions(estimate: ArrayLike, truth: ArrayLike) -> int:
    """Return N_inv: how many ordered pairs i ≠ j the estimates put in the wrong order.

    N_inv = Σ_{i≠j} 1(φ_i > φ_j and φ̂_i < φ̂_j) + 1(φ_i < φ_j and φ̂_i > φ̂_j): two players that
    swap places count twice.

    Examples
    --------
    >>> inversions([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    2
    """
    values, phi = check_estimate(estimate, truth)
    return 2 * int(((phi[:, None] > phi) & (values[:, None] < values)).sum())


def inversion_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return ε_inv = Σ_{i≠j} |φ_i − φ_j − (φ̂_i − φ̂_j)|: how far differences of players are off.

    Examples
    --------
    >>> inversion_error([1.0, 3.0], [1.0, 2.0])
    2.0
    """
    values, phi = check_estimate(estimate, truth)
    errors = phi - values
    return float(np.abs(errors[:, None] - errors).sum())


def nl_nsw(fidelity: ArrayLike) -> float:
    """Return NL NSW, the negative log of the Nash social welfare of standardised fidelity scores.

    −Σ_i log f_i with f scaled to the sum n. It is 0 when all scores are equal and grows as they
    become unequal: lower is better for the Pigou–Dalton principle.

    Parameters
    ----------
    fidelity
        The fidelity scores, finite; a score of 0 makes the answer infinite.

    Examples
    --------
    >>> round(nl_nsw([1.0, 3.0]), 6)  # log 2 + log 2/3
    0.287682
    """
    scores = checks.vector(fidelity, "the fidelity scores")
    if (scores < 0).any():
        raise InputError("a fidelity score is negative: give (|φ| + ξ)² / variance")
    largest = float(scores.max())
    if largest == 0:
        raise InputError("all fidelity scores are 0, so they cannot be standardised: run longer")
    if (scores == 0).any():
        return math.inf
    shares = scores / largest  # keeps the sum finite
    return max(0.0, scores.size * math.log(shares.mean()) - float(np.log(shares).sum()))


def rank_correlation(
    estimate: FloatArray, truth: FloatArray, correlation: Callable[..., Any]
) -> float:
    """Return a rank correlation of scipy; NaN where all values are equal.

    Examples
    --------
    >>> from scipy.stats import kendalltau
    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]), kendalltau)
    1.0
    """
    if np.ptp(estimate) == 0 or np.ptp(truth) == 0:
        return math.nan
    return float(correlation(estimate, truth).statistic)
