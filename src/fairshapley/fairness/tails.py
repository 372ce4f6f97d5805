"""How probable it is that a statement about all players is wrong, from the tails of their errors.

A statement is right as long as every error stays within what is allowed to it. Its failure is
bounded by the sum of the tails beyond that, so that δ goes to the players that are in doubt; equal
shares for all of them would ask up to twice as many evaluations.

Why the sum, with what is allowed computed from the estimates, bounds the failure of a certificate:
let r be the smallest ε1 that would make the estimates fair. At ε1 = r no error exceeds what A0
allows, |e_i| ≤ t_i(r), and then what the certificate allows is no more than t_i(r): its sum is at
least Σ P(|e_i| > t_i(r)). A certificate that is wrong has an ε1 below r, so that this sum is at
most δ at r. It falls with r and is δ at one fixed r₀: hence r ≥ r₀, which by the union bound has
a probability of at most Σ P(|e_i| > t_i(r₀)) = δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import stdtr

from fairshapley._basics.text import several
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.fairness.evidence import Evidence

# A target that would take this many times the evaluations made cannot be predicted.
FARTHEST = 1e12
UNTOLD = 10**200
# The largest squared deviation among m normal contributions of n players is about 2·log(mn)
# variances. Tails are heavy when one contribution exceeds that 3 times and makes up a tenth of a
# player's sum of squares: then the mean of this many is not normal yet.
HEAVY_TAIL = 3.0
HEAVY_SHARE = 0.1
# Contributions from which on 95 % intervals held the truth in 93 % and more on nearly all games of
# benchmarks/certificates: i.i.d. ones are marginals, which are skewed, others what is left of them
# when a regression has explained most. Fewer do not show how skewed they are.
TRUSTED_IID, TRUSTED = 100, 45


def all_equal(evidence: Evidence) -> BoolArray:
    """The players whose contributions were all equal, which tells nothing of their spread."""
    unknown = np.zeros(evidence.n_players, dtype=bool)
    if evidence.extremes is not None and not evidence.exact:
        unknown = evidence.extremes == 0
        unknown[evidence.n_players - evidence.n_nulls :] = False
    return unknown


def heavy_tails(evidence: Evidence) -> int:
    """How many players have contributions of which a few make up most of the spread."""
    if evidence.extremes is None:
        return 0
    draws = np.maximum(evidence.counts, 2) * evidence.n_players
    limit = np.maximum(HEAVY_TAIL * 2.0 * np.log(draws), HEAVY_SHARE * evidence.counts)
    return int((evidence.extremes > limit).sum())


def interval_doubts(evidence: Evidence) -> tuple[str, ...]:
    """Why the interval of a single value is not to be trusted yet; empty when it is."""
    if evidence.exact:
        return ()
    found = [evidence.obstacle] if evidence.obstacle else []
    if evidence.modelled:
        found.append("values and errors are those of a model of the game")
    fewest = int(evidence.counts.min())
    needed = TRUSTED_IID if evidence.identically_distributed else TRUSTED
    if fewest < needed:
        found.append(f"a value is the mean of {fewest} contributions, and {needed} are needed")
    if equal := int(all_equal(evidence).sum()):
        found.append(f"all contributions of {several(equal, 'player')} were equal")
    if heavy := heavy_tails(evidence):
        found.append(f"heavy tails in the contributions of {several(heavy, 'player')}")
    return tuple(found)


def exceedance(evidence: Evidence, reach: FloatArray) -> FloatArray:
    """The probability that each player's error exceeds `reach` to one side, by Student's t.

    Without variation there is no quantile to go by. An unseen kind of contribution of probability
    p stays unseen m times with probability (1 − p)^m and moves a value by at most p times the
    range of contributions. The error of a declared null player is known.
    """
    if evidence.exact:
        return np.zeros(evidence.n_players)
    errors, counts = evidence.standard_errors, evidence.counts
    proven = errors == 0
    scaled = reach / np.where(proven, 1.0, errors)
    tails = np.where(proven, 0.0, stdtr(np.maximum(counts - 1, 1), -scaled))
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
    """The largest half-width h such that A0 holds for every φ with |φ̂ − φ| ≤ h.

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


def fair_failure(evidence: Evidence, epsilon1: float, epsilon2: float) -> float:
    """A bound on the probability that a certificate of these estimates is wrong."""
    return float(fair_tails(evidence, epsilon1, epsilon2).sum())


def fair_tails(evidence: Evidence, epsilon1: float, epsilon2: float | FloatArray) -> FloatArray:
    """How probable it is that each player's error exceeds what fairness allows.

    Towards zero an error of (ε1|φ̂| + ε2)/(1 + ε1) is allowed, away from it one of
    (ε1|φ̂| + ε2)/(1 − ε1). A value within ε2 of zero may lie on the other side, up to
    (ε2 − ε1|φ̂|)/(1 − ε1); for one farther away the second tail starts at |φ̂| at the latest, as
    a true value of zero can be missed to both sides.
    """
    size = np.abs(evidence.values)
    reach = epsilon1 * size + epsilon2
    away = reach / (1.0 - epsilon1) if epsilon1 < 1 else np.full_like(reach, np.inf)
    near = allowed_half_width(evidence.values, epsilon1, epsilon2)
    away = np.where(size > epsilon2, np.minimum(away, size), away)
    return exceedance(evidence, near) + exceedance(evidence, away)


def evaluations_for(
    evidence: Evidence, level: float, failure: Callable[[Evidence], float]
) -> float:
    """The evaluations with which a statement's failure is predicted to fall to a level.

    Variances shrink with the number of contributions, which grows with the evaluations. It is
    never more than there are coalitions: then all values are exact.
    """

    def fails(factor: float) -> bool:
        return failure(evidence.scaled(factor)) > level

    low, high = 1e-3, FARTHEST
    if fails(high):
        return evidence.coalitions
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fails(middle) else (low, middle)
    # A damaged file may hold a number that no float can.
    return min(min(evidence.evaluations, UNTOLD) * high, evidence.coalitions)
