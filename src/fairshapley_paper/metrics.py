"""How good an estimate is, in the measures that the paper has beside `comparison.measures`.

Every function takes arrays with one entry per player and gives one number. The defaults are the
definitions in the text of the paper; where the authors' public code, and so the published tables
and figures, computed something else, an option is named after the difference and the docstring
says which call gives the published number.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.comparison.measures import ape
from fairshapley.errors import InputError
from fairshapley.fairness.axioms import check_estimate, tolerances
from fairshapley.fairness.levels import check_xi

NEARLY_NULL = 0.01
"""|φ_i| of a player that counts as null, after φ is divided by its sum"""
Normalise = Literal["mean", "sum"]
"""What estimates and true values are each divided by before they are compared"""


def divide(top: FloatArray, bottom: FloatArray | float) -> FloatArray:
    """Return the quotient, not finite where it is not defined, which the caller handles."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return top / bottom


def scaled(values: FloatArray, normalise: Normalise | None, name: str) -> FloatArray:
    """Return values divided by their own mean or sum; an InputError where that is 0."""
    if normalise is None:
        return values
    units = {"mean": values.mean(), "sum": values.sum()}
    unit = units[checks.choice("normalise", normalise, tuple(units))]
    scaled = divide(values, unit)
    if not np.isfinite(scaled).all():
        raise InputError(
            f"{name} cannot be divided by the {normalise}, which is {unit:g}: use normalise=None"
        )
    return scaled


def normalised(
    estimate: ArrayLike, truth: ArrayLike, normalise: Normalise | None
) -> tuple[FloatArray, FloatArray]:
    """Return estimates and true values, checked and each scaled by its own."""
    values, phi = check_estimate(estimate, truth)
    return (scaled(values, normalise, "the estimates"), scaled(phi, normalise, "the true values"))


# --- errors of the order and of the values ----------------------------------------------------


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
    from scipy.stats import spearmanr

    return float(spearmanr(scores, -errors).statistic)


def relative_inversion_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """ε_inv with each term divided by max(|φ_i|, |φ_j|), as the authors' code does.

    Examples
    --------
    >>> relative_inversion_error([1.0, 3.0], [1.0, 2.0])
    1.0
    """
    values, phi = check_estimate(estimate, truth)
    errors, sizes = phi - values, np.abs(phi)
    largest = np.maximum(sizes[:, None], sizes)
    np.fill_diagonal(largest, 1.0)
    total = float(divide(np.abs(errors[:, None] - errors), largest).sum())
    if not math.isfinite(total):
        raise InputError("true values of 0 have no relative error: use inversion_error")
    return total


# --- axioms -----------------------------------------------------------------------------------


def nullity_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """ε_abs: the summed absolute error of the players that are null, or nearly so.

    ε_abs = Σ_{i: |φ_i| ≤ 0.01} |φ̂_i − φ_i|, with φ and φ̂ each divided by its sum. Section
    "Verifying nullity and Pigou Dalton Principle" of the paper.

    Examples
    --------
    >>> nullity_error([3.0, 1.0], [1.0, 0.0])
    0.25
    """
    values, phi = normalised(estimate, truth, "sum")
    return float(np.abs(values - phi)[np.abs(phi) <= NEARLY_NULL].sum())


def symmetry_violations(
    estimate: ArrayLike, truth: ArrayLike, pairs: ArrayLike, epsilon1: float, xi: float
) -> float:
    """Return the share of pairs of identical players whose estimates are too far apart.

    The study's threshold is t = ε1·|φ_i| + ξ·ε1, half of A2's, with φ and φ̂ each divided by its
    sum; where φ_i and φ_j differ, t has the mean of |φ_i| and |φ_j|. Section "Effect of f on
    symmetry" of the paper, Figure `fig:k_value_dataset` (b).

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    pairs
        The pairs (i, j) of identical players.
    epsilon1, xi
        The multiplicative tolerance and ξ = ε2/ε1, a share of the sum of the values.

    Examples
    --------
    >>> given = dict(pairs=[(0, 1), (2, 3)], epsilon1=0.1, xi=0.0)
    >>> symmetry_violations([1.0, 1.5, 1.75, 1.75], [1.0, 1.0, 2.0, 2.0], **given)
    0.5
    """
    values, phi = normalised(estimate, truth, "sum")
    given = _some_pairs(pairs, values.size)
    allowed = tolerances(phi, epsilon1, xi)[given].mean(axis=1)
    return float((np.abs(values[given[:, 0]] - values[given[:, 1]]) > allowed).mean())


def deviation_ratio(estimate: ArrayLike, pairs: ArrayLike, xi: float) -> float:
    """Log Σ ρ: how many times larger one of two identical players is valued, over all pairs.

    ρ_{i,j} = max(a_i/a_j, a_j/a_i) with a = |φ̂| + ξ and φ̂ divided by its sum, as in the authors'
    code. The text has φ̂ in place of a, which is negative for estimates of opposite sign. Section
    "Effect of f on symmetry" of the paper; Figure `fig:k_value_dataset` (d).

    Parameters
    ----------
    estimate
        The estimates φ̂.
    pairs
        The pairs (i, j) of identical players.
    xi
        The tolerance near zero, a share of the sum; positive where an estimate is 0.

    Examples
    --------
    >>> round(deviation_ratio([1.0, 3.0, 2.0, 2.0], [(0, 1), (2, 3)], xi=0.0), 6)  # log(3 + 1)
    1.386294
    """
    floor = check_xi(xi)
    values = scaled(checks.vector(estimate, "the estimates"), "sum", "the estimates")
    sizes = np.abs(values[_some_pairs(pairs, values.size)]) + floor
    total = float(divide(sizes.max(axis=1), sizes.min(axis=1)).sum())
    if not math.isfinite(total):
        raise InputError(
            "an estimate of a pair is 0, so that their ratio is not defined: give a positive xi"
        )
    return math.log(total)


def _some_pairs(pairs: ArrayLike, n_players: int) -> IntArray:
    given = checks.pairs(pairs, n_players)
    if len(given) == 0:
        raise InputError("give at least one pair of identical players")
    return given


# --- uses -------------------------------------------------------------------------------------


def noisy_label_f1(
    values: ArrayLike,
    noisy_mask: ArrayLike,
    *,
    rule: Literal["cluster", "below_centre"] = "cluster",
) -> float:
    """Return the F1 score of finding noisy labels by a low value.

    The values are split in two by k-means; F1 = 2·TP / (2·TP + FP + FN) of calling the lower
    cluster noisy. Appendix "Noisy Label Detection" of the paper.

    Parameters
    ----------
    values
        The value of each training point.
    noisy_mask
        Which labels are noisy, as a boolean array or as indices.
    rule
        "cluster" calls the whole lower cluster noisy; "below_centre" only the points below the
        lower cluster's centre, as the authors' code does.

    Examples
    --------
    >>> noisy_label_f1([-1.0, -0.8, 0.9, 1.0, 1.1], [True, True, False, False, False])
    1.0
    >>> round(noisy_label_f1([-1.0, -0.8, 0.9, 1.0, 1.1], [0, 1], rule="below_centre"), 4)
    0.6667
    """
    from sklearn.cluster import KMeans  # takes a second to import

    checks.choice("rule", rule, ("cluster", "below_centre"))
    phi = checks.vector(values, "the values")
    noisy = np.zeros(phi.size, dtype=np.bool_)
    noisy[checks.players(noisy_mask, phi.size)] = True
    if not noisy.any():
        raise InputError("no label is noisy, so there is nothing to find: mark the flipped labels")
    # Scale and origin do not matter to k-means; values in [0, 1] neither overflow nor underflow.
    low, span = float(phi.min()), float(np.ptp(phi))
    if span == 0:
        raise InputError("all values are equal, so they do not fall into two clusters: run longer")
    points = ((phi - low) / span)[:, None]
    fit = KMeans(n_clusters=2, n_init=10, random_state=0).fit(points)
    lower = int(np.argmin(fit.cluster_centers_[:, 0]))
    if rule == "cluster":
        called: BoolArray = fit.labels_ == lower
    else:
        called = points[:, 0] < fit.cluster_centers_[lower, 0]
    hits = int((called & noisy).sum())
    return 2 * hits / (int(called.sum()) + int(noisy.sum()))
