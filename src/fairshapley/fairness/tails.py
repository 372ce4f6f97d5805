"""How probable it is that a statement about all players is wrong, from the tails of their errors.

A statement is right as long as every error stays within what is allowed to it. Its failure is
bounded by the sum of the tails beyond that, so that δ goes to the players that are in doubt; equal
shares for all of them would ask up to twice as many evaluations.

Why the sum, with what is allowed computed from the estimates, bounds the failure of a certificate:
let r be the smallest ε1 that would make the estimates fair. At ε1 = r no error exceeds what A0
allows, |e_i| ≤ t_i(r), and then what the certificate allows is no more than t_i(r): its sum is at
least Σ P(|e_i| > t_i(r)). A certificate that is wrong has an ε1 below r, so that this sum is at
most δ at r. It falls with r and is δ at one fixed r₀: hence r ≥ r₀, which by the union bound has
a probability of at most Σ P(|e_i| > t_i(r₀)) = δ. So what is allowed must never exceed t_i of the
smallest true value that the estimate is fair for: of zero, ε2, wherever |φ̂_i| ≤ ε2. With the width
of an interval in its place, which is (ε2 − ε1|φ̂_i|)/(1 − ε1) there, 54 % of certificates of 60
players without effect were wrong at δ = 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import stdtr

from fairshapley._basics.text import several
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.unseen import MET, allowance

# A target that would take this many times the evaluations made cannot be predicted.
FARTHEST = 1e12
UNTOLD = 10**200
# Of so few contributions not even Student's t says how far off their mean may be.
LEAST_CONTRIBUTIONS = 12
# Where one contribution makes up this share of a player's sum of squares, the spread is known from
# that one alone, and it may be one of two: a Poisson mean that gave 1 may, at a level of 1 %, be
# 0.9 above what the skewed t allows. Allowing for log(n/δ) more took 1.3 × the evaluations on data
# valuation, and no game of benchmarks/certificates needed it.
DOMINANT = 0.5


def all_equal(evidence: Evidence) -> BoolArray:
    """Return the players whose contributions were all equal, so that their spread is unknown."""
    unknown = np.zeros(evidence.n_players, dtype=bool)
    if evidence.extremes is not None and not evidence.exact:
        unknown = evidence.extremes == 0
        unknown[evidence.n_players - evidence.n_nulls :] = False
    return unknown


def doubts(evidence: Evidence, bound: str = "normal") -> tuple[str, ...]:
    """Return why nothing may be stated with a probability; empty where something may.

    Half-widths allow for few and skewed contributions, and for coalitions that were not drawn. What
    they cannot allow for is here.
    """
    if evidence.exact:
        return ()
    if evidence.obstacle:
        return (evidence.obstacle,)
    active = slice(0, evidence.n_players - evidence.n_nulls)
    unknown = np.flatnonzero(np.isnan(evidence.statement_errors))
    if unknown.size:
        few = evidence.counts[unknown[0]] < 2
        why = "fewer than 2 contributions" if few else "every contribution seen was 0"
        return (
            f"the error of {several(unknown.size, 'value')}, the first that of "
            f"{evidence.named(int(unknown[0]))}, is not known yet ({why}): allow more evaluations",
        )
    if bound != "normal":
        return ()
    fewest = int(evidence.counts[active].min(initial=LEAST_CONTRIBUTIONS))
    if fewest >= LEAST_CONTRIBUTIONS:
        return ()
    return (
        f"a value is the mean of {several(fewest, 'contribution')} (samples of what the player "
        f"adds), and {LEAST_CONTRIBUTIONS} are needed to know its error: allow more evaluations",
    )


def allowances(evidence: Evidence, delta: float) -> FloatArray:
    """Return by how much each value may be off because of what was not met in any draw.

    Beside what coalitions hide from everybody, a player whose contributions hardly vary may have
    missed a kind that others show: in m draws a kind that was not met has a share of at most
    log(n/δ)/m. One of whose spread a single contribution makes up most may have missed another.
    """
    found = np.zeros(evidence.n_players)
    if evidence.exact:
        return found
    if evidence.unseen is not None:
        found += allowance(evidence.unseen, delta)
    if evidence.extremes is None:
        return found
    counts = np.maximum(evidence.counts, 1)
    with np.errstate(invalid="ignore"):
        largest = np.sqrt(evidence.extremes * counts) * evidence.statement_errors
        dominated = evidence.extremes > DOMINANT * counts
    largest = np.where(np.isfinite(largest), largest, 0.0)
    reach = float(largest.max())
    if evidence.contribution_width is not None:
        reach = min(reach, evidence.contribution_width)
    calm = (largest < MET * reach) & ~all_equal(evidence)
    kind = reach * math.log(evidence.n_players / delta)
    found += np.where(calm, kind, np.where(dominated, largest, 0.0)) / counts
    if nulls := evidence.n_nulls:
        found[-nulls:] = 0.0
    return found


def skew_terms(evidence: Evidence) -> FloatArray:
    """Return |γ|/(6√m), by which a skewness γ of m contributions moves quantiles of Student's t."""
    if evidence.skewness is None:
        return np.zeros(evidence.n_players)
    terms = np.abs(evidence.skewness) / (6.0 * np.sqrt(np.maximum(evidence.counts, 1)))
    return np.where(np.isfinite(terms), terms, 0.0)


def exceedance(evidence: Evidence, reach: FloatArray, delta: float) -> FloatArray:
    """Return the probability that each player's error exceeds `reach` to one side.

    By Student's t, after what the draws may have missed at a level of δ, and with the skewness of
    the contributions: where rare contributions are large, a mean without them looks sharper than
    it is, and the quantile t becomes t + γ(2t² + 1)/(6√m) (Hall 1992). Without variation there is
    no quantile to go by: an unseen kind of contribution of probability p stays unseen m times with
    probability (1 − p)^m and moves a value by at most p times the range of contributions. The error
    of a declared null player is known.
    """
    if evidence.exact:
        return np.zeros(evidence.n_players)
    errors, counts = evidence.statement_errors, evidence.counts
    reach = reach - evidence.shift_or_zero  # the tails are those of what the sampling alone gives
    proven = errors == 0
    scaled = (reach - allowances(evidence, delta)) / np.where(proven, 1.0, errors)
    terms = skew_terms(evidence)
    curved = terms > 1e-9
    safe = np.where(curved, terms, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        root = np.sqrt(np.maximum(1.0 + 8.0 * safe * (scaled - safe), 0.0))
        bent = np.where(np.isinf(scaled), scaled, (root - 1.0) / (4.0 * safe))
    quantiles = np.where(curved, bent, scaled)
    tails = stdtr(np.maximum(counts - 1, 1), -quantiles)
    tails = np.where(proven, 0.0, np.where(scaled <= 0, 1.0, tails))
    width = evidence.contribution_width
    unseen = (
        np.ones_like(tails) if width is None else np.exp(np.minimum(-reach * counts / width, 0.0))
    )
    tails = np.where(all_equal(evidence), np.where(np.isinf(reach), 0.0, unseen), tails)
    if nulls := evidence.n_nulls:
        tails[-nulls:] = np.abs(evidence.values[-nulls:]) > reach[-nulls:]
    return np.minimum(tails, 1.0)


def allowed_half_width(
    values: FloatArray, epsilon1: float, epsilon2: float | FloatArray
) -> FloatArray:
    """Return the largest half-width h such that A0 holds for every φ with |φ̂ − φ| ≤ h.

    For |φ̂| > ε2 the value nearest to zero is the worst: h ≤ (ε1|φ̂| + ε2)/(1 + ε1). For
    |φ̂| ≤ ε2 it is the farthest on the other side of zero: h ≤ (ε2 − ε1|φ̂|)/(1 − ε1), without
    limit from ε1 = 1 on.

    Examples
    --------
    >>> allowed_half_width(np.array([1.0, 0.0]), 0.5, 0.25).round(4)
    array([0.5, 0.5])
    """
    size = np.abs(values)
    across = np.inf if epsilon1 >= 1 else (epsilon2 - epsilon1 * size) / (1.0 - epsilon1)
    return np.where(size > epsilon2, (epsilon1 * size + epsilon2) / (1.0 + epsilon1), across)


def fair_tails(
    evidence: Evidence, epsilon1: float, epsilon2: float | FloatArray, delta: float
) -> FloatArray:
    """Return how probable it is that each player's error exceeds what fairness allows.

    Towards zero an error of (ε1|φ̂| + ε2)/(1 + ε1) is allowed, away from it one of
    (ε1|φ̂| + ε2)/(1 − ε1). The second tail starts at |φ̂| at the latest, as a true value of zero can
    be missed to both sides; for the same reason a value within ε2 of zero is allowed ε2.
    """
    size = np.maximum(np.abs(evidence.values), epsilon2)
    reach = epsilon1 * size + epsilon2
    near = reach / (1.0 + epsilon1)
    away = np.minimum(reach / (1.0 - epsilon1), size) if epsilon1 < 1 else size
    return exceedance(evidence, near, delta) + exceedance(evidence, away, delta)


def evaluations_for(evidence: Evidence, reached: Callable[[Evidence], bool]) -> float:
    """Return the evaluations with which something is predicted to be reached.

    Variances shrink with the number of contributions, which grows with the evaluations. It is
    never more than there are coalitions: then all values are exact.
    """
    low, high = 1e-3, FARTHEST
    if not reached(evidence.scaled(high)):
        return evidence.coalitions
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(evidence.scaled(middle)) else (middle, high)
    # A damaged file may hold a number that no float can.
    return min(min(evidence.evaluations, UNTOLD) * high, evidence.coalitions)
