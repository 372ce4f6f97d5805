"""How good an estimate is, in the paper's measures.

Every function takes arrays with one entry per player and gives one number (`ape` and
`add_remove_curve` give arrays). The defaults are the definitions in the text of the paper; where
the authors' public code, and so the published tables and figures, computed something else, an
option is named after the difference and the docstring says which call gives the published number.

Examples
--------
>>> truth, estimate = [2.0, 1.0, 3.0], [2.2, 1.0, 2.1]
>>> round(mape(estimate, truth), 4), inversions(estimate, truth)
(0.1333, 2)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from fairshapley._types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError, InputError
from fairshapley.fairness.axioms import (
    check_estimate,
    check_pairs,
    check_players,
    check_vector,
    tolerances,
)
from fairshapley.fairness.fidelity import check_xi
from fairshapley.games.base import Game, members

__all__ = [
    "add_remove_curve",
    "ape",
    "deviation_ratio",
    "fidelity_spearman",
    "inversion_error",
    "inversions",
    "mape",
    "mse",
    "nl_nsw",
    "noisy_label_f1",
    "nullity_error",
    "symmetry_violations",
]

Normalise = Literal["mean", "first", "sum"]
"""What estimates and true values are each divided by before they are compared"""

# Entries of a temporary array: 2**20 doubles are 8 MiB, about what a core keeps in its cache.
_CHUNK = 1 << 20


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
    constant = _offset(offset)
    errors = _divide(np.abs(values - phi) + constant, np.abs(phi + constant))
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
    values, phi = _normalised(estimate, truth, normalise)
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
    values, phi = _normalised(estimate, truth, normalise)
    return float(np.square(values - phi).mean())


def inversions(estimate: ArrayLike, truth: ArrayLike, *, count_ties: bool = False) -> int:
    """N_inv: how many ordered pairs i ≠ j the estimates put in the wrong order.

    N_inv = Σ_{i≠j} 1(φ_i > φ_j and φ̂_i < φ̂_j) + 1(φ_i < φ_j and φ̂_i > φ̂_j). The sum is over
    ordered pairs, so two players that swap places count twice. Section "Generalising to Other
    Scenarios" of the paper, tables of P2–P4. Takes O(n log² n) steps.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    count_ties
        Count as well the pairs that are tied in one of the two and not in the other: the authors'
        code compares the signs of φ_i − φ_j and φ̂_i − φ̂_j.

    Examples
    --------
    >>> inversions([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    2
    >>> inversions([1.0, 1.0], [1.0, 2.0]), inversions([1.0, 1.0], [1.0, 2.0], count_ties=True)
    (0, 2)
    """
    values, phi = check_estimate(estimate, truth)
    # Among players tied in the truth the estimates ascend, so these pairs are never inverted.
    order = np.lexsort((values, phi))
    swapped = _count_inversions(values[order])
    if count_ties:
        both = _tied_pairs(np.column_stack([values, phi]))
        swapped += _tied_pairs(values[:, None]) + _tied_pairs(phi[:, None]) - 2 * both
    return 2 * swapped


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
        Takes O(n²) steps, in blocks; the definition in the text takes O(n log n).
    normalise
        Divide both by their own "mean", by the value of the "first" player, or by their "sum".

    Examples
    --------
    >>> inversion_error([1.0, 3.0], [1.0, 2.0])
    2.0
    >>> inversion_error([1.0, 3.0], [1.0, 2.0], relative=True)
    1.0
    """
    values, phi = _normalised(estimate, truth, normalise)
    errors = phi - values
    if not relative:
        # Each error exceeds the k below it and falls short of the n − 1 − k above it.
        weights = 2.0 * np.arange(errors.size) - (errors.size - 1)
        return 2.0 * float(weights @ np.sort(errors))
    size = np.abs(phi)
    zeros = np.flatnonzero(size == 0)
    if zeros.size > 1:
        raise InputError(
            f"the true values of players {zeros[0]} and {zeros[1]} are both 0, so the error of "
            "their difference has no relative size: use relative=False"
        )
    total = 0.0
    rows = max(1, _CHUNK // errors.size)
    for start in range(0, errors.size, rows):
        block = slice(start, start + rows)
        gaps = np.abs(errors[block, None] - errors)
        larger = np.maximum(size[block, None], size)
        # Only the one player with value 0, if any, meets 0 here: itself.
        with np.errstate(over="ignore"):
            total += float(np.divide(gaps, larger, out=gaps, where=larger > 0).sum())
    if not math.isfinite(total):
        raise InputError(
            "some true values are too close to 0 for relative errors: use relative=False"
        )
    return total


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
    scores = check_vector(fidelity, "the fidelity scores")
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
    null_players: ArrayLike | None = None,
    *,
    truth: ArrayLike | None = None,
    threshold: float = 0.01,
    normalise: Normalise | None = "sum",
) -> float:
    """ε_abs: the summed absolute error of the players that are null, or nearly so.

    ε_abs = Σ_{i: |φ_i| ≤ 0.01} |φ̂_i − φ_i|, with φ and φ̂ each divided by its sum. Section
    "Verifying nullity and Pigou Dalton Principle" of the paper. The published table is
    ``nullity_error(estimate, truth=truth)``.

    Parameters
    ----------
    estimate
        The estimates φ̂.
    null_players
        The players to sum over, as indices or as a boolean mask; without `truth` their true
        value is 0.
    truth
        The true values φ. Without `null_players` those with |φ_i| ≤ threshold are summed over,
        after the normalisation.
    threshold
        The largest |φ_i| of a player that is nearly null.
    normalise
        "sum" as in the paper, "mean", "first", or None for the unit of the utility.

    Examples
    --------
    >>> nullity_error([3.0, 1.0], null_players=[1])
    0.25
    >>> nullity_error([3.0, 1.0], null_players=[1], normalise=None)
    1.0
    >>> nullity_error([3.0, 1.0], truth=[1.0, 0.0])
    0.25
    """
    if truth is None:
        if null_players is None:
            raise InputError("say who is null: give `null_players`, or the true values as `truth`")
        values = _scaled(check_vector(estimate, "the estimates"), normalise, "the estimates")
        phi = np.zeros_like(values)
    else:
        values, phi = _normalised(estimate, truth, normalise)
    if null_players is None:
        chosen = np.flatnonzero(np.abs(phi) <= threshold)
    else:
        chosen = check_players(null_players, values.size)
    return float(np.abs(values - phi)[chosen].sum())


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
    Section "Effect of f on symmetry" of the paper; Figure `fig:k_value_dataset` (b) is computed
    with ``threshold="published", normalise="sum"``.

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
    if threshold not in ("axiom", "published"):
        raise InputError(f"unknown threshold {threshold!r}: use 'axiom' or 'published'")
    values, phi = _normalised(estimate, truth, normalise)
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
    values = _scaled(check_vector(estimate, "the estimates"), normalise, "the estimates")
    given = _some_pairs(pairs, values.size)
    sizes = np.abs(values[given]) + floor
    ratios = _divide(sizes.max(axis=1), sizes.min(axis=1))
    wrong = np.flatnonzero(~np.isfinite(ratios))
    if wrong.size:
        raise InputError(
            f"an estimate of the pair {tuple(given[wrong[0]].tolist())} is 0, so their ratio is "
            "not defined: give a positive xi"
        )
    total = float(ratios.sum())
    return math.log(total) if log else total


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
    return float(spearmanr(scores, -errors).statistic)


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

    if rule not in ("cluster", "below_centre"):
        raise InputError(f"unknown rule {rule!r}: use 'cluster' or 'below_centre'")
    phi = check_vector(values, "the values")
    noisy = np.zeros(phi.size, dtype=np.bool_)
    noisy[check_players(noisy_mask, phi.size)] = True
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


def add_remove_curve(
    game: Game | Callable[[BoolArray], ArrayLike],
    order: ArrayLike,
    *,
    mode: Literal["add", "remove"] = "add",
    steps: int | None = None,
) -> tuple[IntArray, FloatArray]:
    """The utility as players join an empty coalition, or leave the full one, in a given order.

    Figure `fig:add-remove` and the appendix "Training Example Addition and Removal" of the paper:
    adding those of the highest value first should raise the utility early, ``order =
    np.argsort(-values)``.

    Parameters
    ----------
    game
        A game, or any callable that maps a boolean array (m, n) to m utilities. It is called
        once; for an expensive one, put an evaluator with a journal in its place.
    order
        Who joins or leaves, first to last. All players, or some where the game has `n_players`.
    mode
        "add" or "remove".
    steps
        Into how many steps to divide the order; by default one player a step.

    Returns
    -------
    counts, utilities
        How many players have joined or left, from 0 on, and the utility then.

    Examples
    --------
    >>> def squares(coalitions):
    ...     return coalitions.sum(axis=1) ** 2
    >>> add_remove_curve(squares, [2, 0, 1])
    (array([0, 1, 2, 3]), array([0., 1., 4., 9.]))
    >>> add_remove_curve(squares, [2, 0, 1], mode="remove", steps=1)
    (array([0, 3]), array([9., 0.]))
    """
    if mode not in ("add", "remove"):
        raise InputError(f"unknown mode {mode!r}: use 'add' or 'remove'")
    sequence = np.asarray(order)
    n_players = int(getattr(game, "n_players", sequence.size))
    if sequence.ndim != 1 or sequence.dtype == np.bool_:
        raise InputError(f"give the order as a vector of player indices, not {order!r}")
    if check_players(sequence, n_players).size != sequence.size or sequence.size == 0:
        raise InputError("the order must name at least one player, and each player only once")
    counts = _step_counts(sequence.size, steps)
    turn = np.full(n_players, sequence.size)  # those who are not in the order never have a turn
    turn[sequence] = np.arange(sequence.size)
    moved = turn < counts[:, None]
    coalitions = moved if mode == "add" else ~moved
    utilities = np.asarray(game(coalitions), dtype=np.float64)
    if utilities.shape != counts.shape:
        raise GameError(
            f"the utility answered with shape {utilities.shape} to {counts.size} coalitions: "
            "return one number for each row"
        )
    wrong = np.flatnonzero(~np.isfinite(utilities))
    if wrong.size:
        value, coalition = utilities[wrong[0]], members(coalitions[wrong[0]])
        raise GameError(
            f"the utility of coalition {coalition} is {value}: return a finite number", coalition
        )
    return counts, utilities


def _step_counts(n_moves: int, steps: int | None) -> IntArray:
    if steps is None:
        return np.arange(n_moves + 1)
    try:
        number = operator.index(steps)
    except TypeError:
        number = 0
    if number < 1:
        raise InputError(f"steps must be a whole number of at least 1, or None, not {steps!r}")
    return np.unique(np.linspace(0, n_moves, min(number, n_moves) + 1).round().astype(np.int64))


def _count_inversions(values: FloatArray) -> int:
    """Pairs of places k < l with values[k] > values[l].

    The ranks of such a pair first differ, from the highest bit down, in a bit that the earlier
    has and the later has not: for each bit, count those pairs among the ranks that agree above it.
    """
    ranks = np.unique(values, return_inverse=True)[1].reshape(-1)
    total = 0
    for bit in range(int(ranks.max()).bit_length()):
        prefix = ranks >> (bit + 1)
        order = np.argsort(prefix, kind="stable")
        prefix, has = prefix[order], (ranks[order] >> bit) & 1
        before = np.cumsum(has) - has
        inside = before - before[np.searchsorted(prefix, prefix)]
        total += int(inside[has == 0].sum())
    return total


def _tied_pairs(rows: FloatArray) -> int:
    """Unordered pairs of equal rows."""
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _offset(offset: float) -> float:
    number = float(offset)
    if not 0 <= number < math.inf:
        raise InputError(f"offset must be a finite number of at least 0, not {offset!r}")
    return number


def _divide(top: FloatArray, bottom: FloatArray | float) -> FloatArray:
    """The quotient, not finite where it is not defined; the caller says what to do about that."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient: FloatArray = top / bottom
    return quotient


def _scaled(values: FloatArray, normalise: Normalise | None, name: str) -> FloatArray:
    if normalise is None:
        return values
    if normalise == "mean":
        unit = float(values.mean())
    elif normalise == "sum":
        unit = float(values.sum())
    elif normalise == "first":
        unit = float(values[0])
    else:
        raise InputError(f"unknown normalise {normalise!r}: use 'mean', 'first', 'sum' or None")
    scaled = _divide(values, np.float64(unit))
    if not np.isfinite(scaled).all():
        what = "value of player 0" if normalise == "first" else normalise
        raise InputError(
            f"{name} cannot be divided by the {what}, which is {unit:g}: use normalise=None"
        )
    return scaled


def _normalised(
    estimate: ArrayLike, truth: ArrayLike, normalise: Normalise | None
) -> tuple[FloatArray, FloatArray]:
    values, phi = check_estimate(estimate, truth)
    return (
        _scaled(values, normalise, "the estimates"),
        _scaled(phi, normalise, "the true values"),
    )


def _some_pairs(pairs: ArrayLike, n_players: int) -> IntArray:
    given = check_pairs(pairs, n_players)
    if len(given) == 0:
        raise InputError("give at least one pair of identical players")
    return given
