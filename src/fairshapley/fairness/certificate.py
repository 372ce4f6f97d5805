"""Certificates: statements about the values themselves, without plugging in the estimates.

It holds when every value that is not ruled out satisfies A0, |φ̂_i − φ_i| ≤ ε1·|φ_i| + ε2, from
which A1–A3 follow. With the normal bound the tails beyond what A0 allows add up to at most δ; the
other bounds, and the intervals, give every player an equal share of δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import lambertw, stdtrit

from fairshapley._basics.text import block_html, escaped, sentences_html, several, table_html
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.levels import (
    LARGE_XI,
    check_bound,
    check_delta,
    check_epsilon1,
    check_xi,
    player_level,
)
from fairshapley.fairness.tails import (
    all_equal,
    allowances,
    allowed_half_width,
    doubts,
    evaluations_for,
    fair_failure,
    skew_terms,
)

BOUNDS = ("normal", "chebyshev", "bernstein")
# A confidence sequence, which follows the spread all the time, needs this many contributions.
FEW_CONTRIBUTIONS = 100
# A confidence sequence is valid at all times; it is shortest around this many contributions.
SEQUENCE_TARGET = 1000
# The players that a notebook shows where a certificate does not hold.
SHOWN_PLAYERS = 5


@dataclass(frozen=True, eq=False)
class Certificate:
    """Whether the estimates are (ε1, ξ·ε1, δ)-Shapley fair, and what that rests on."""

    holds: bool
    epsilon1: float
    epsilon2: float
    delta: float
    level: float
    """The level spent on this very statement; below δ when the run had looked before"""
    bound: str
    values: FloatArray
    """The values that the certificate speaks of."""
    half_widths: FloatArray
    """h_i: with probability at least 1 − δ every |φ̂_i − φ_i| ≤ h_i"""
    allowed: FloatArray
    """The largest h_i with which A0 holds for every value in the interval"""
    evaluations: int
    reason: str
    """Why it does not hold; empty when it does"""
    warning: str
    """Says so where the statement says little; empty otherwise"""
    statement: str
    tightest: float = math.inf
    """The smallest ε1 that these intervals carry, at the same δ and ξ; infinite when none"""
    player_names: tuple[str, ...] | None = None
    test_set: str = ""
    """What the choice of the test rows adds to the error of estimation, where that is known"""
    failure: float = math.nan
    """The sum of the tails beyond what is allowed, which is at most the level when it holds; NaN
    for bounds that give equal shares of δ to all players"""

    @property
    def said(self) -> list[str]:
        """The statement, what the test set adds, and the warnings, a paragraph each."""
        beside = [self.test_set] if self.test_set else []
        warned = [f"Warning: {self.warning}"] if self.warning else []
        return [self.statement, *beside, *warned]

    @property
    def worst_players(self) -> IntArray:
        """The players whose intervals exceed what is allowed, the worst first."""
        excess = excess_widths(self.half_widths, self.allowed)
        order = np.argsort(-excess, kind="stable")
        return order[excess[order] > 1].astype(np.int64)

    def __str__(self) -> str:
        return "\n".join(self.said)

    def _repr_html_(self) -> str:
        """The verdict, the sentences, and the players that stand in its way."""
        title = f"Certified: ε1 = {self.epsilon1:g}, δ = {self.delta:g}"
        if not self.half_widths.any():
            title = "Exact"
        if not self.holds:
            title = f"Not certified: ε1 = {self.epsilon1:g}, δ = {self.delta:g}"
            if self.tightest < 1:
                title += f"; ε1 = {rounded_up(self.tightest):g} holds"
        parts, names = [sentences_html(self.said)], self.player_names
        worst = self.worst_players[:SHOWN_PLAYERS].tolist()
        # Without any interval there is nothing to say of single players.
        if worst and np.isfinite(self.half_widths[worst]).any():
            rows = [
                (
                    f"{player}" if names is None else escaped(names[player]),
                    f"{self.values[player]:.4g}",
                    f"{self.half_widths[player]:.3g}",
                    f"{self.allowed[player]:.3g}",
                )
                for player in worst
            ]
            parts.append(table_html(("player", "value", "known to ±", "needed ±"), rows))
        return block_html(title, *parts)


def excess_widths(half_widths: FloatArray, allowed: FloatArray) -> FloatArray:
    """H over what is allowed, 0 for 0/0 and for anything that is allowed without limit."""
    free = (half_widths <= allowed) & ((allowed == 0) | np.isinf(allowed))
    with np.errstate(divide="ignore"):
        return np.where(free, 0.0, half_widths / np.where(free, 1.0, allowed))


def tightest_epsilon1(values: FloatArray, half_widths: FloatArray, xi: float) -> float:
    """The smallest ε1 with which A0 holds for every φ with |φ̂ − φ| ≤ h; infinite when none does.

    It is the largest |φ̂ − φ|/(|φ| + ξ) inside the intervals. Towards zero that is h/(|φ̂| − h + ξ),
    or |φ̂|/ξ at zero itself; beyond zero it is h/(h − |φ̂| + ξ).

    Examples
    --------
    >>> tightest_epsilon1(np.array([1.0, 0.0]), np.array([0.5, 0.5]), xi=0.5)
    0.5
    """
    size = np.abs(values)
    across = half_widths > size
    # 0/0 is a value that is known to be 0; anything else over 0 has no tolerance.
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = half_widths / (np.abs(size - half_widths) + xi)
        ratios = np.where(across, np.maximum(ends, size / xi), ends)
    known = np.where(half_widths == 0, 0.0, np.where(np.isnan(ratios), np.inf, ratios))
    return float(known.max())


def rounded_up(share: float) -> float:
    """Three digits, never below: a tolerance that is rounded down may not hold.

    Examples
    --------
    >>> rounded_up(0.12341), rounded_up(0.0)
    (0.124, 0.0)
    """
    if not 0 < share < math.inf:
        return share
    step = 10.0 ** (math.floor(math.log10(share)) - 2)
    return float(f"{math.ceil(share / step) * step:.3g}")


def holding(tightest: float, half_widths: FloatArray, xi: float) -> str:
    """What intervals show of all values together, in words.

    Examples
    --------
    >>> holding(0.25, np.array([0.1, 0.2]), xi=0.01)
    'each value differs from the true value by at most 0.25 times its size plus 0.0025'
    >>> holding(7.0, np.array([0.1, 0.2]), xi=0.01)
    'the values are known to between ± 0.1 and ± 0.2 (the tightest ε1 is 7: some may be zero)'
    """
    share = rounded_up(tightest)
    if share < 1:
        return (
            f"each value differs from the true value by at most {share:g} times its size plus "
            f"{share * xi:.3g}"
        )
    reach = f"between ± {half_widths.min():.3g} and ± {half_widths.max():.3g}"
    if len(half_widths) == 1:
        reach = f"± {half_widths[0]:.3g}"
    if share == math.inf:
        return f"the values are known to {reach}, and no relative tolerance holds for all of them"
    return f"the values are known to {reach} (the tightest ε1 is {share:g}: some may be zero)"


def needed_evaluations(certificate: Certificate, evidence: Evidence) -> float:
    """The evaluations with which the certificate is predicted to hold, as the run has gone so far.

    Intervals shrink with the square root of the number. It is never more than there are
    coalitions: then the values are exact.
    """
    if not math.isnan(certificate.failure):
        tolerance, near = certificate.epsilon1, certificate.epsilon2
        return evaluations_for(
            evidence,
            certificate.level,
            lambda then: fair_failure(then, tolerance, near, certificate.delta),
        )
    excess = float(excess_widths(certificate.half_widths, certificate.allowed).max())
    # A ratio above 1e9 counts as infinite, and its square does not overflow.
    return min(evidence.evaluations * excess**2 if excess < 1e9 else math.inf, evidence.coalitions)


def cost_text(needed: float, coalitions: float) -> str:
    """A predicted number of evaluations in words.

    Examples
    --------
    >>> cost_text(1234.5, 2.0**20), cost_text(64.0, 64.0), cost_text(2.0**800, 2.0**800)
    ('about 1,230 evaluations', 'all 64 coalitions', 'more than 10^15 evaluations')
    """
    if needed == coalitions == math.inf:
        return "more evaluations than can be predicted"
    if min(needed, coalitions) > 1e15:  # nobody makes so many, or reads so many digits
        return "more than 10^15 evaluations"
    if needed < coalitions:
        return f"about {float(f'{needed:.3g}'):,.0f} evaluations"
    return f"all {coalitions:,.0f} coalitions"


def half_widths(
    evidence: Evidence,
    level: float,
    bound: str = "normal",
    *,
    delta: float | None = None,
    together: bool = True,
    sequential: bool = False,
) -> FloatArray:
    """Half-widths of intervals that cover all players together with probability 1 − level.

    Parameters
    ----------
    evidence
        What is known.
    level
        The probability of failure, all players together.
    bound
        "normal": Student's t on the contributions. "chebyshev": any distribution whose variance
        is the estimated one. "bernstein": empirical Bernstein (Maurer & Pontil 2009), for finite
        samples; needs the range of the contributions.
    delta
        The level at which draws may have missed something; by default `level`.
    together
        Whether all values are covered together, or each by itself.
    sequential
        Valid at all times at once (an asymptotic confidence sequence), for a run that looks as
        often as it likes; with the normal bound only.

    Returns
    -------
    array
        One half-width a player; infinite where nothing may be said.
    """
    if evidence.exact:
        return np.zeros(evidence.n_players)
    if doubts(evidence, bound):
        return np.full(evidence.n_players, np.inf)
    share = level
    if together:
        share = player_level(level, evidence.n_players, independent=evidence.independent)
    widths = _widths(evidence, share, bound, sequential=sequential)
    if bound != "bernstein":
        widths = widths + allowances(evidence, level if delta is None else delta)
    # Without variation there is no quantile to go by. An unseen kind of contribution of probability
    # p stays unseen m times with probability (1 − p)^m, so p ≤ log(1/share)/m at this level, and
    # it moves the value by at most p times the range.
    width = evidence.contribution_width
    reach = math.inf if width is None else width * math.log(1.0 / share)
    widths = np.where(all_equal(evidence), reach / np.maximum(evidence.counts, 1), widths)
    if nulls := evidence.n_nulls:
        widths[-nulls:] = np.abs(evidence.values[-nulls:])
    return widths


def _widths(evidence: Evidence, share: float, bound: str, *, sequential: bool) -> FloatArray:
    """Half-widths at a level for each player, from the spread of its contributions."""
    errors, width = evidence.standard_errors, evidence.contribution_width
    counts = evidence.counts.astype(np.float64)
    if bound == "normal" and sequential:
        # With few contributions their own spread is too uncertain to be followed all the time.
        factor = _sequence_factor(np.maximum(counts, 1.0), share)
        return np.where(counts >= FEW_CONTRIBUTIONS, errors * factor, np.inf)
    if bound == "normal":
        quantiles = -np.asarray(stdtrit(counts - 1, share / 2), dtype=np.float64)
        return errors * (quantiles + skew_terms(evidence) * (2.0 * np.square(quantiles) + 1.0))
    if bound == "chebyshev":
        return errors / math.sqrt(share)
    if width is None or not evidence.identically_distributed:
        raise InputError(
            "a finite-sample bound needs i.i.d. contributions of known range",
            remedy="declare its {value_range}, and use a method such as 'mc' or 'kernel'",
        )
    log = math.log(4.0 / share)
    return errors * math.sqrt(2.0 * log) + 7.0 * width * log / (3.0 * (counts - 1))


def _sequence_factor(counts: FloatArray, alpha: float) -> FloatArray:
    """h_t/se_t of the confidence sequence of Waudby-Smith et al. 2024 (their equation 10).

    h_t = s·√(2(tρ²+1)/(t²ρ²)·log(√(tρ²+1)/α)); ρ² makes it shortest at t = SEQUENCE_TARGET.
    """
    argument = float(lambertw(-(alpha**2) / math.e, -1).real)
    rho2 = (-argument - 1.0) / SEQUENCE_TARGET
    scaled = counts * rho2 + 1.0
    return np.sqrt(2.0 * scaled / (counts * rho2) * np.log(np.sqrt(scaled) / alpha))


def certify(
    evidence: Evidence,
    epsilon1: float,
    delta: float,
    *,
    xi: float,
    bound: str = "normal",
    level: float | None = None,
    sequential: bool = False,
) -> Certificate:
    """Decide whether the estimates are certified as (ε1, ξ·ε1, δ)-Shapley fair.

    Parameters
    ----------
    evidence
        What is known.
    epsilon1, delta, xi
        The tolerance, the tolerated probability of failure, the tolerance near zero.
    bound
        See `half_widths`.
    level
        The level left for this look when the run has looked before; by default all of δ.
    sequential
        Whether the run looks at will, see `half_widths`.
    """
    tolerance, failure, xi = check_epsilon1(epsilon1), check_delta(delta), check_xi(xi)
    check_bound(bound, BOUNDS)
    spent = failure if level is None else level
    epsilon2, values = xi * tolerance, evidence.values
    doubted = doubts(evidence, bound)
    widths = half_widths(evidence, spent, bound, delta=failure, sequential=sequential)
    allowed = allowed_half_width(values, tolerance, epsilon2)
    # The sum of tails spends δ on the players in doubt; the other bounds have equal shares.
    summed = bound == "normal" and not (sequential or doubted)
    failure_bound = fair_failure(evidence, tolerance, epsilon2, failure) if summed else math.nan
    reason = "; ".join(doubted)
    if not reason and not (failure_bound <= spent if summed else (widths <= allowed).all()):
        reason = _too_wide(evidence, widths, allowed)
    tightest = tightest_epsilon1(values, widths, xi)
    if summed:
        tightest = _tightest(evidence, spent, failure, xi, tightest)
    chance = f"with a probability of at least {1 - failure:.6g}"
    if reason:
        claim = None if np.isinf(widths).any() else holding(tightest, widths, xi)
        statement = _refused(tolerance, chance, reason, claim)
    else:
        within = f" differs from the true value by at most {tolerance:.6g} times the size of the "
        within += f"true value plus {epsilon2:.6g}"
        looks = ", whenever the run is stopped" if sequential else ""
        looks = ", allowing for the earlier checks of the run" if spent < failure else looks
        statement = _affirmed(evidence, within, epsilon2, chance, _ASSUMPTIONS[bound] + looks)
    return Certificate(
        holds=not reason,
        epsilon1=tolerance,
        epsilon2=epsilon2,
        delta=failure,
        level=spent,
        bound=bound,
        values=values,
        half_widths=widths,
        allowed=allowed,
        evaluations=evidence.evaluations,
        reason=reason,
        warning="" if doubted else _warning(evidence, xi),
        statement=statement,
        tightest=tightest,
        player_names=evidence.player_names,
        failure=failure_bound,
    )


def _tightest(evidence: Evidence, level: float, delta: float, xi: float, wide: float) -> float:
    """The smallest ε1 at which the tails add up to the level, from one that is large enough."""
    low, high = 0.0, wide
    for _ in range(40 if 0 < wide < math.inf else 0):
        middle = 0.5 * (low + high)
        holds = fair_failure(evidence, middle, middle * xi, delta) <= level
        low, high = (low, middle) if holds else (middle, high)
    return high


def _too_wide(evidence: Evidence, widths: FloatArray, allowed: FloatArray) -> str:
    """Why the intervals do not suffice."""
    if unknown := int((all_equal(evidence) & np.isinf(widths)).sum()):
        return (
            f"the sampled contributions of {several(unknown, 'player')} were all equal, which says "
            "nothing about those not sampled: a declared range of the utility bounds them"
        )
    if np.isinf(widths).any():
        return (
            f"a run that may stop at any time needs at least {FEW_CONTRIBUTIONS} contributions "
            f"for each player; the fewest of a player are {int(evidence.counts.min())}"
        )
    worst = int(np.argmax(excess_widths(widths, allowed)))
    return (
        f"the intervals of {int((widths > allowed).sum())} of {evidence.n_players} players are "
        f"too wide; {evidence.named(worst)} is known to ± {widths[worst]:.3g} where "
        f"± {allowed[worst]:.3g} is needed"
    )


def _warning(evidence: Evidence, xi: float) -> str:
    """What makes a certificate say little."""
    mean = float(np.abs(evidence.values).mean())
    if evidence.exact or not 0 < LARGE_XI * mean < xi:
        return ""
    times = float(f"{xi / mean:.2g}")
    return (
        f"ξ is {times:,g} times the mean |value|: with such a large tolerance near zero the "
        "statement says very little"
    )


def _refused(tolerance: float, chance: str, reason: str, holds: str | None) -> str:
    """The statement of a certificate that does not hold: why, and what holds instead."""
    refused = f"Not certified at ε1 = {tolerance:.6g}: {reason}."
    if holds is None:
        return refused
    return f"{refused} What holds instead, {chance}: {holds}."


def _affirmed(
    evidence: Evidence, within: str, epsilon2: float, chance: str, assumption: str
) -> str:
    """The statement of a certificate that holds."""
    everyone = f"Each of the {evidence.n_players} values"
    if evidence.exact:
        how = "they have a closed formula"
        if evidence.evaluations:
            count = f"{evidence.evaluations:,} evaluations"
            how = f"all coalitions that count were evaluated ({count})"
        return f"{everyone} is exact for this utility: {how}. {_SCOPE}"
    return (
        f"{everyone}{within}, for all of them together {chance}. So a player who adds nothing is "
        f"valued within ± {epsilon2:.3g}, and identical players, or a player who adds no less than "
        "another, are valued as they should be up to the sum of their tolerances (A1–A3). This "
        f"rests on {evidence.evaluations:,} evaluations and on {assumption}, with "
        f"{'independent' if evidence.independent else 'possibly dependent'} "
        f"estimates. {_SCOPE}"
    )


_ASSUMPTIONS = {
    "normal": "the assumptions that averages of so many contributions, samples of what a player "
    "adds, are close to normally distributed but for their skewness, and that coalitions that were "
    "not drawn deviate no more than those next to none and to all players, the drawn ones, and a "
    "tenth of what all players add together",
    "chebyshev": "the assumption that the variances of the contributions are as estimated",
    "bernstein": "the stated range of the utility alone",
}
_SCOPE = (
    "It covers the error of estimation for this utility. It does not cover the choice of the test "
    "set behind it, takes a coalition to have the same utility each time unless the game is "
    "declared random, and does not say whether the utility is a good measure."
)
