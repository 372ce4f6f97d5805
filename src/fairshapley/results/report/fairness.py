"""The certificate in words: what holds, for whom, and otherwise by how much it is missed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import several, visible
from fairshapley.errors import InputError
from fairshapley.estimators.exact import MAX_EXACT_PLAYERS
from fairshapley.fairness.certificate import (
    Certificate,
    excess_widths,
    needed_evaluations,
    rounded_up,
)
from fairshapley.fairness.guarantees import required_fidelity
from fairshapley.fairness.levels import EPSILON1
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.wording import isolated, number, percent

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# The tolerances ε1 of a curve, and the probabilities of failure at which certificates are tried.
TOLERANCES = tuple(10 ** (place / 16) for place in range(-32, 9))
LEVELS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6)
# A tolerance above this is not worth a certificate.
LARGEST_TOLERANCE = 3.0
# What the normal bound, the one of the report, rests on.
ASSUMPTION = "assuming that averages of the sampled contributions are close to normally distributed"


@dataclass(frozen=True)
class Verdict:
    """What the top of the report says."""

    kind: str
    """"holds", "shown", "fails" or "impossible": how it is coloured"""
    stamp: str
    """The verdict in a word or two"""
    headline: str
    """One sentence with the tolerance, the confidence and the assumption"""
    details: tuple[str, ...]
    """Where nothing is certified: what is known instead, and what a certificate would take"""
    statement: str
    """The certificate's own words"""
    warnings: tuple[str, ...] = ()


def verdict(
    result: Result,
    table: PlayerTable,
    epsilon1: float,
    delta: float,
    smallest: float | None,
    *,
    asked: bool = True,
) -> Verdict:
    """The certificate of a result at ε1 and δ in words; where nobody asked, what holds.

    Parameters
    ----------
    result, table
        The result and its players.
    epsilon1, delta
        The tolerances asked for.
    smallest
        The smallest ε1 that is certified at δ, where there is one.
    asked
        Whether somebody asked for ε1.
    """
    try:
        certificate = result.certificate(epsilon1, delta)
    except InputError as error:
        return _impossible(result, str(error), f"Not certified: {error}.")
    if not certificate.holds and not np.isfinite(certificate.half_widths).all():
        found = _impossible(result, certificate.reason, certificate.statement)
        return replace(found, warnings=certificate.warnings)
    say = partial(Verdict, statement=certificate.statement, warnings=certificate.warnings)
    if result.exact:
        evaluated = "all coalitions that count were evaluated"
        how = evaluated if result.evaluations else "they have a closed formula"
        headline = f"{_everyone(result)} is exact for this utility: {how}, so there is no "
        return say("holds", "Exact", f"{headline}estimation error.", ())
    claim = f"{_everyone(result)} {_differs(certificate, result)}{_together(result)}"
    confidence = f"with {percent(1 - delta)} confidence"
    if certificate.holds:
        return say("holds", "Certified", f"{claim}, {confidence}, {ASSUMPTION}.", ())
    if not asked:
        return say("shown", "What holds", *_shown(result, certificate, table, delta, smallest))
    headline = (
        f"The following has not been shown: {claim[0].lower()}{claim[1:]}, {confidence}, "
        f"{ASSUMPTION}."
    )
    details = (
        *_known_instead(result, certificate, table, delta),
        _instead(result, delta, smallest),
        *_cost(result, certificate),
    )
    return say("fails", "Not certified", headline, details)


def _shown(
    result: Result,
    certificate: Certificate,
    table: PlayerTable,
    delta: float,
    smallest: float | None,
) -> tuple[str, tuple[str, ...]]:
    """A headline that holds, where nobody asked for more, and details."""
    intervals, farthest = _known_instead(result, certificate, table, delta)
    confidence = f"with {percent(1 - delta)} confidence, {ASSUMPTION}"
    if smallest is not None and smallest < 1:
        share = rounded_up(smallest)
        tightest = replace(certificate, epsilon1=share, epsilon2=result.xi * share)
        claim = f"{_everyone(result)} {_differs(tightest, result)}"
    else:
        claim = "Each true value lies in the interval given for it below"
    details = (
        *(said for said in (intervals.removeprefix("What is known instead: "),) if smallest),
        f"For a tolerance of {percent(certificate.epsilon1)} instead: {farthest}",
        *_cost(result, certificate),
    )
    headline = f"{claim}{_together(result)}, {confidence}."
    return headline, tuple(f"{text[0].upper()}{text[1:]}" for text in details)


def _everyone(result: Result) -> str:
    return "The value" if result.n_players == 1 else f"Each of the {result.n_players:,} values"


def _together(result: Result) -> str:
    return "" if result.n_players == 1 else f", for all {result.n_players:,} players together"


def _differs(certificate: Certificate, result: Result) -> str:
    unit = f" ({isolated(visible(result.unit))})" if result.unit else " utility units"
    return (
        f"differs from its true value by at most {percent(certificate.epsilon1)} of the size of "
        f"that true value plus {number(certificate.epsilon2, 6)}{unit}"
    )


def _impossible(result: Result, reason: str, statement: str) -> Verdict:
    """No joint statement: what is known of single players, or of the utilities seen."""
    errors = result.standard_errors
    unknown = int(np.isnan(errors).sum())
    if not result.obstacle and _constant(result):
        reason = f"all {result.evaluations:,} utilities that were evaluated are equal"
    elif not result.obstacle and unknown:
        reason = (
            f"for {several(unknown, 'player')} the samples do not show how much the contributions "
            "vary"
        )
    headline = f"No confidence statement can be made about these values: {visible(reason)}."
    details = []
    if unknown < result.n_players:
        details.append(
            "What is known instead: each estimate and its standard error, at most "
            f"{number(float(np.nanmax(errors)))}. For one player alone, an interval of two "
            "standard errors to each side contains the true value about 95 % of the time, if the "
            "method has no bias and errors are close to normally distributed. No such claim is "
            "made for all players together."
        )
    if unknown:
        details.append(
            f"For {several(unknown, 'player')} only the estimate is known, not how far it may be "
            "from the true value."
        )
    if _constant(result):
        details.append(
            f"Every utility evaluated was {number(result.profile[0].mean)}. If this holds for all "
            "coalitions, every value is 0. Coalitions that were not evaluated are not covered."
        )
    if unknown and result.n_players <= MAX_EXACT_PLAYERS:
        details.append(
            f"Exact values would take all {2**result.n_players:,} coalitions "
            f"({result.evaluations:,} were evaluated)."
        )
    return Verdict("impossible", "No confidence statement", headline, tuple(details), statement)


def _constant(result: Result) -> bool:
    """Whether all utilities that were evaluated are known to be equal."""
    return {part.deviation for part in result.profile} == {0.0} and (
        len({part.mean for part in result.profile}) == 1
    )


def _known_instead(
    result: Result, certificate: Certificate, table: PlayerTable, delta: float
) -> list[str]:
    """The intervals there are, and how far they are from what was asked for."""
    widths, allowed = certificate.half_widths, certificate.allowed
    worst = int(certificate.worst_players[0])
    enough = int((widths <= allowed).sum())
    ratio = widths[worst] / allowed[worst] if allowed[worst] > 0 else math.inf
    times = f", so its interval is {number(ratio, 2)} times too wide" if ratio < math.inf else ""
    spread = (
        f"The intervals reach from ± {number(widths.min())} to ± {number(widths.max())} around "
        "the estimates."
        if result.n_players > 1
        else f"The interval is ± {number(widths[0])} around the estimate."
    )
    return [
        f"What is known instead: each true value lies in the interval given for it below"
        f"{_together(result)}, with {percent(1 - delta)} confidence and under the same "
        f"assumption. {spread}",
        f"These intervals are narrow enough for {enough:,} of the "
        f"{several(result.n_players, 'value')}. The farthest from the goal is "
        f"“{isolated(table.names[worst])}”, known to ± {number(widths[worst])} where "
        f"± {number(allowed[worst])} is needed{times}.",
    ]


def _instead(result: Result, delta: float, smallest: float | None) -> str:
    """The tolerance that does hold at the same level."""
    if smallest is None or smallest >= 1:
        return (
            f"No tolerance below 100 % of the size of each true value plus {number(result.xi)} "
            f"holds for all values with {percent(1 - delta)} confidence."
        )
    share = rounded_up(smallest)
    return (
        f"The smallest tolerance that does hold with {percent(1 - delta)} confidence is "
        f"{percent(share)} of the size of each true value plus {number(result.xi * share, 6)} "
        f"(ε1 = {number(share)})."
    )


def _cost(result: Result, certificate: Certificate) -> list[str]:
    """What the certificate would cost, and what the paper's proposition predicts."""
    excess = float(excess_widths(certificate.half_widths, certificate.allowed).max())
    needed, coalitions = needed_evaluations(certificate, result), result.coalitions
    if needed >= coalitions:
        words = f"would take all {coalitions:,.0f} coalitions"
        if coalitions == math.inf:
            words = "is out of reach; choose a larger tolerance ε1 or a larger ξ"
    else:
        words = (
            f"would take about {number(needed, 2)} evaluations, {number(excess**2, 2)} times as "
            "many as were made, because intervals shrink with the square root of their number"
        )
    found = [f"With this method the certificate {words}."]
    try:
        prediction = result.predict(certificate.epsilon1, certificate.delta, bound="normal")
    except InputError:
        return found
    return [
        *found,
        "Proposition 1 of the underlying paper, which treats the estimated fidelity as the true "
        f"one, predicts {number(prediction.evaluations, 2)} evaluations; if only the players that "
        f"need more are sampled, {number(prediction.contributions, 2)} contributions "
        "(Corollary 1).",
    ]


@dataclass(frozen=True, eq=False)
class ToleranceCurves:
    """δ against ε1: as the certificate has it, and as the paper's guarantee has it."""

    certified: tuple[tuple[float, float], ...]
    """(ε1, δ): the smallest ε1 that is certified at δ"""
    guaranteed: dict[str, tuple[tuple[float, float], ...]]
    """By bound: (ε1, δ) of `Result.guarantee`"""

    @classmethod
    def of(cls, result: Result) -> ToleranceCurves:
        """The curves of a result; empty where nothing can be stated."""
        if result.exact:
            return cls((), {})
        pairs = [(smallest_epsilon1(result, delta), delta) for delta in LEVELS]
        certified = tuple((epsilon1, delta) for epsilon1, delta in pairs if epsilon1 is not None)
        guaranteed = {}
        if np.isfinite(result.fidelity()).any() and not np.isnan(result.fidelity()).any():
            for bound in ("normal", "chebyshev"):
                points = [(e, result.guarantee(e, bound=bound).delta) for e in TOLERANCES]
                # Certainty of failure says nothing; nor do probabilities beyond any experiment.
                guaranteed[bound] = tuple(point for point in points if 1e-9 < point[1] < 1)
        return cls(certified, guaranteed)


def smallest_epsilon1(result: Result, delta: float) -> float | None:
    """The smallest ε1 at which the certificate holds at δ; None when there is none worth it."""
    if result.exact:
        return None
    try:
        found = result.certificate(EPSILON1, delta).tightest
    except InputError:
        return None
    return found if found <= LARGEST_TOLERANCE else None


def target_fidelity(result: Result, epsilon1: float, delta: float) -> float:
    """The minimum fidelity that ε1 and δ ask for, by Proposition 1 with normal errors."""
    return required_fidelity(
        result.n_players, epsilon1, delta, independent=result.independent, bound="normal"
    )
