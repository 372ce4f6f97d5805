"""How far estimates break nullity, symmetry and the Pigou–Dalton principle."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.axioms import tolerances
from fairshapley.fairness.levels import check_xi
from fairshapley.metrics.scaling import Normalise, divide, normalised, scaled


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
        values = scaled(checks.vector(estimate, "the estimates"), normalise, "the estimates")
        phi = np.zeros_like(values)
    else:
        values, phi = normalised(estimate, truth, normalise)
    if null_players is None:
        chosen = np.flatnonzero(np.abs(phi) <= threshold)
    else:
        chosen = checks.players(null_players, values.size)
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
