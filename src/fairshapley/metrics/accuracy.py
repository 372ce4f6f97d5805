"""Errors of the values themselves: APE, MAPE, MSE, and how fidelity tells of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.fairness.axioms import check_estimate
from fairshapley.metrics.scaling import Normalise, divide, normalised


def ape(estimate: ArrayLike, truth: ArrayLike, *, offset: float = 0.0) -> FloatArray:
    """The absolute percentage error of each player: |(φ̂_i − φ_i) / φ_i|.

    Defined in the paper beside Figure 1 (`fig:ri_mape`).

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    offset
        A constant c for (|φ̂_i − φ_i| + c) / |φ_i + c|, so that a true value of 0 has an error as
        well; the published figure has c = 1e−5.

    Examples
    --------
    >>> ape([1.5, -1.0], [1.0, -2.0])
    array([0.5, 0.5])
    """
    values, phi = check_estimate(estimate, truth)
    constant = checks.real("offset", offset, least=0)
    errors = divide(np.abs(values - phi) + constant, np.abs(phi + constant))
    wrong = np.flatnonzero(~np.isfinite(errors))
    if wrong.size:
        raise InputError(
            f"the true value of player {wrong[0]} is {phi[wrong[0]]:g}, so its percentage error is "
            "not defined: give a small `offset` such as 1e-5, leave the player out, or use `mse`"
        )
    return errors


def mape(
    estimate: ArrayLike,
    truth: ArrayLike,
    *,
    normalise: Normalise | None = None,
    offset: float = 0.0,
) -> float:
    """The mean absolute percentage error: (1/n)·Σ_i |φ̂_i − φ_i| / |φ_i|.

    Section "Generalising to Other Scenarios" of the paper, tables of P2–P4.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    normalise
        Divide both by their own "mean" (as the published tables of P2 and P3), by the value of
        the "first" player (P4), or by their "sum".
    offset
        As in `ape`.

    Examples
    --------
    >>> mape([1.5, 1.0], [1.0, 2.0])
    0.5
    >>> mape([3.0, 6.0], [1.0, 2.0], normalise="mean")
    0.0
    """
    values, phi = normalised(estimate, truth, normalise)
    return float(ape(values, phi, offset=offset).mean())


def mse(estimate: ArrayLike, truth: ArrayLike, *, normalise: Normalise | None = None) -> float:
    """The mean squared error over the players: (1/n)·Σ_i (φ̂_i − φ_i)².

    Section "Generalising to Other Scenarios" of the paper, tables of P2–P4.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    normalise
        Divide both by their own "mean" (as the published tables of P2 and P3), by the value of
        the "first" player (P4), or by their "sum".

    Examples
    --------
    >>> mse([1.0, 3.0], [1.0, 1.0])
    2.0
    >>> mse([1.0, 3.0], [1.0, 1.0], normalise="mean")
    0.25
    """
    values, phi = normalised(estimate, truth, normalise)
    return float(np.square(values - phi).mean())


def fidelity_spearman(
    fidelity: ArrayLike, estimate: ArrayLike, truth: ArrayLike, *, offset: float = 0.0
) -> float:
    """Spearman's rank correlation of the fidelity scores f_i with APE_i^−½.

    Positive when players with a higher score have a smaller error. Figure `fig:ri_mape` and Table
    `tab:xi_ri_ape` of the paper. Ranks do not change under the power −½ but to turn around, so
    that an estimate without error is simply the best. An infinite score (a proven value) is the
    highest.

    Parameters
    ----------
    fidelity
        The fidelity scores.
    estimate, truth
        The estimates φ̂ and the true values φ.
    offset
        As in `ape`; the published coefficients have 1e−5.

    Examples
    --------
    >>> round(fidelity_spearman([1.0, 2.0, 4.0], [1.9, 1.5, 1.1], [1.0, 1.0, 1.0]), 6)
    1.0
    """
    errors = ape(estimate, truth, offset=offset)
    scores = np.asarray(fidelity, dtype=np.float64)
    if scores.shape != errors.shape or np.isnan(scores).any():
        raise InputError(f"give one fidelity score, not NaN, for each of the {errors.size} players")
    if np.all(scores == scores[0]) or np.all(errors == errors[0]):
        raise InputError(
            "all fidelity scores or all errors are equal, so they have no rank correlation: "
            "compare at least two players that differ"
        )
    # Half of the time that it takes to import fairshapley would be that of scipy.stats.
    from scipy.stats import spearmanr

    return float(spearmanr(scores, -errors).statistic)
