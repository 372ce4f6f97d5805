"""How good an estimate is, in the paper's measures.

Every function takes arrays with one entry per player and gives one number (`ape` gives an array).
The defaults are the definitions in the text of the paper; where the authors' public code, and so
the published tables and figures, computed something else, an option is named after the difference
and the docstring says which call gives the published number.

Examples
--------
>>> truth, estimate = [2.0, 1.0, 3.0], [2.2, 1.0, 2.1]
>>> round(mape(estimate, truth), 4), inversions(estimate, truth)
(0.1333, 2)
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.axioms import check_estimate, tolerances
from fairshapley.fairness.levels import check_xi

Normalise = Literal["mean", "first", "sum"]
"""What estimates and true values are each divided by before they are compared"""


def divide(top: FloatArray, bottom: FloatArray | float) -> FloatArray:
    """The quotient, not finite where it is not defined; the caller says what to do about that."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return top / bottom


def scaled(values: FloatArray, normalise: Normalise | None, name: str) -> FloatArray:
    """Values divided by their own mean, first entry or sum; an InputError where that is 0."""
    if normalise is None:
        return values
    units = {"mean": values.mean(), "first": values[0], "sum": values.sum()}
    unit = units[checks.choice("normalise", normalise, tuple(units))]
    scaled = divide(values, unit)
    if not np.isfinite(scaled).all():
        what = "value of player 0" if normalise == "first" else normalise
        raise InputError(
            f"{name} cannot be divided by the {what}, which is {unit:g}: use normalise=None"
        )
    return scaled


def normalised(
    estimate: ArrayLike, truth: ArrayLike, normalise: Normalise | None
) -> tuple[FloatArray, FloatArray]:
    """Estimates and true values, checked and each scaled by its own."""
    values, phi = check_estimate(estimate, truth)
    return (scaled(values, normalise, "the estimates"), scaled(phi, normalise, "the true values"))


# --- errors of the values ---------------------------------------------------------------------


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
    from scipy.stats import spearmanr

    return float(spearmanr(scores, -errors).statistic)


# --- errors of the order ----------------------------------------------------------------------


def inversions(estimate: ArrayLike, truth: ArrayLike) -> int:
    """N_inv: how many ordered pairs i ≠ j the estimates put in the wrong order.

    N_inv = Σ_{i≠j} 1(φ_i > φ_j and φ̂_i < φ̂_j) + 1(φ_i < φ_j and φ̂_i > φ̂_j). The sum is over
    ordered pairs, so two players that swap places count twice. Section "Generalising to Other
    Scenarios" of the paper, tables of P2–P4.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.

    Examples
    --------
    >>> inversions([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    2
    """
    values, phi = check_estimate(estimate, truth)
    return 2 * int(((phi[:, None] > phi) & (values[:, None] < values)).sum())


def inversion_error(
    estimate: ArrayLike,
    truth: ArrayLike,
    *,
    relative: bool = False,
    normalise: Normalise | None = None,
) -> float:
    """ε_inv: how far the differences between players are off, over ordered pairs.

    ε_inv = Σ_{i≠j} |φ_i − φ_j − (φ̂_i − φ̂_j)|. Section "Generalising to Other Scenarios" of the
    paper, tables of P2–P4, which are computed with ``relative=True`` on normalised values.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    relative
        Divide each term by max(|φ_i|, |φ_j|), as the authors' code does and the text does not.
    normalise
        Divide both by their own "mean", by the value of the "first" player, or by their "sum".

    Examples
    --------
    >>> inversion_error([1.0, 3.0], [1.0, 2.0])
    2.0
    >>> inversion_error([1.0, 3.0], [1.0, 2.0], relative=True)
    1.0
    """
    values, phi = normalised(estimate, truth, normalise)
    errors, sizes = phi - values, np.abs(phi)
    gaps = np.abs(errors[:, None] - errors)
    if not relative:
        return float(gaps.sum())
    largest = np.maximum(sizes[:, None], sizes)
    np.fill_diagonal(largest, 1.0)
    total = float(divide(gaps, largest).sum())
    if not math.isfinite(total):
        raise InputError("true values of 0 have no relative error: use relative=False")
    return total


# --- axioms -----------------------------------------------------------------------------------


def nl_nsw(fidelity: ArrayLike) -> float:
    """NL NSW: the negative log of the Nash social welfare of standardised fidelity scores.

    −Σ_i log f_i with f scaled to the sum n. It is 0 when all scores are equal and grows as they
    become unequal: lower is better for the Pigou–Dalton principle. Section "Verifying nullity and
    Pigou Dalton Principle" of the paper.

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


def nullity_error(
    estimate: ArrayLike,
    truth: ArrayLike,
    *,
    threshold: float = 0.01,
    normalise: Normalise | None = "sum",
) -> float:
    """ε_abs: the summed absolute error of the players that are null, or nearly so.

    ε_abs = Σ_{i: |φ_i| ≤ 0.01} |φ̂_i − φ_i|, with φ and φ̂ each divided by its sum. Section
    "Verifying nullity and Pigou Dalton Principle" of the paper.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    threshold
        The largest |φ_i|, after the normalisation, of a player that is nearly null.
    normalise
        "sum" as in the paper, "mean", "first", or None for the unit of the utility.

    Examples
    --------
    >>> nullity_error([3.0, 1.0], [1.0, 0.0])
    0.25
    """
    values, phi = normalised(estimate, truth, normalise)
    return float(np.abs(values - phi)[np.abs(phi) <= threshold].sum())


def symmetry_violations(
    estimate: ArrayLike,
    truth: ArrayLike,
    pairs: ArrayLike,
    epsilon1: float,
    xi: float,
    *,
    threshold: Literal["axiom", "published"] = "axiom",
    normalise: Normalise | None = None,
) -> float:
    """The share of pairs of identical players whose estimates are too far apart.

    A pair violates A2 when |φ̂_i − φ̂_j| > (ε1·|φ_i| + ε2) + (ε1·|φ_j| + ε2), with ε2 = ξ·ε1.
    Section "Effect of f on symmetry" of the paper; for Figure `fig:k_value_dataset` (b) take
    ``threshold="published", normalise="sum"``.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    pairs
        The pairs (i, j) of identical players.
    epsilon1, xi
        The multiplicative tolerance and ξ = ε2/ε1, in the unit of the values after `normalise`.
    threshold
        "axiom" for A2; "published" for the study's t = ε1·|φ_i| + ξ·ε1, half of A2's. Where the
        (estimated) φ_i and φ_j differ, t has the mean of |φ_i| and |φ_j|.
    normalise
        Divide both by their own "sum" (as the published figure), by their "mean", or by the value
        of the "first" player.

    Examples
    --------
    >>> given = dict(pairs=[(0, 1), (2, 3)], epsilon1=0.1, xi=0.0)
    >>> symmetry_violations([1.0, 1.15, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], **given)
    0.0
    >>> symmetry_violations(
    ...     [1.0, 1.15, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], **given, threshold="published"
    ... )
    0.5
    """
    checks.choice("threshold", threshold, ("axiom", "published"))
    values, phi = normalised(estimate, truth, normalise)
    given = _some_pairs(pairs, values.size)
    allowed = tolerances(phi, epsilon1, xi)[given].sum(axis=1)
    if threshold == "published":
        allowed = allowed / 2
    return float((np.abs(values[given[:, 0]] - values[given[:, 1]]) > allowed).mean())


def deviation_ratio(
    estimate: ArrayLike,
    pairs: ArrayLike,
    xi: float,
    *,
    log: bool = False,
    normalise: Normalise | None = None,
) -> float:
    """Σ ρ: how many times larger one of two identical players is valued, summed over pairs.

    ρ_{i,j} = max(a_i/a_j, a_j/a_i) with a = |φ̂| + ξ, as in the authors' code. The text has φ̂ in
    place of a, which is negative for estimates of opposite sign and is the same where they agree
    in sign and ξ = 0. Each ratio is at least 1; it compares sizes only, so that φ̂_i = −φ̂_j has
    the ratio 1. Section "Effect of f on symmetry" of the paper; Figure `fig:k_value_dataset` (d)
    is computed with ``log=True, normalise="sum"``.

    Parameters
    ----------
    estimate
        The estimates φ̂.
    pairs
        The pairs (i, j) of identical players.
    xi
        The tolerance near zero, in the unit of the values after `normalise`.
    log
        The logarithm of the sum.
    normalise
        Divide the estimates by their "sum" (as the published figure), by their "mean", or by the
        value of the "first" player.

    Examples
    --------
    >>> deviation_ratio([1.0, -3.0, 2.0, 2.0], [(0, 1), (2, 3)], xi=1.0)
    3.0
    """
    floor = check_xi(xi)
    values = scaled(checks.vector(estimate, "the estimates"), normalise, "the estimates")
    given = _some_pairs(pairs, values.size)
    sizes = np.abs(values[given]) + floor
    ratios = divide(sizes.max(axis=1), sizes.min(axis=1))
    wrong = np.flatnonzero(~np.isfinite(ratios))
    if wrong.size:
        raise InputError(
            f"an estimate of the pair {tuple(given[wrong[0]].tolist())} is 0, so their ratio is "
            "not defined: give a positive xi"
        )
    total = float(ratios.sum())
    return math.log(total) if log else total


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
    """The F1 score of finding noisy labels by a low value.

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
