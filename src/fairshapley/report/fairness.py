"""The certificate in words: what holds, for whom, and otherwise by how much it is missed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._types import FloatArray
from fairshapley.errors import InputError
from fairshapley.fairness.certificate import Certificate, allowed_half_width, excess_widths
from fairshapley.fairness.guarantee import required_fidelity
from fairshapley.report.players import PlayerTable
from fairshapley.report.wording import number, percent, several

if TYPE_CHECKING:
    from fairshapley.result import Result

# The tolerances ε1 of a curve, and the probabilities of failure at which certificates are tried.
TOLERANCES = tuple(10 ** (place / 16) for place in range(-32, 9))
LEVELS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6)
# A tolerance above this is not worth a certificate.
LARGEST_TOLERANCE = 3.0


@dataclass(frozen=True)
class Verdict:
    """What the top of the report says."""

    kind: str
    """"holds", "fails" or "impossible": how it is coloured"""
    headline: str
    summary: str
    details: tuple[str, ...]
    """Sentences: by how much it is missed, what it would cost, what holds instead"""
    statement: str
    """The certificate's own words"""
    warnings: tuple[str, ...]


def verdict(
    result: Result, table: PlayerTable, epsilon1: float, delta: float, smallest: float | None
) -> Verdict:
    """The certificate of a result at ε1 and δ in words.

    Parameters
    ----------
    result, table
        The result and its players.
    epsilon1, delta
        The tolerances asked for.
    smallest
        The smallest ε1 that is certified at δ, where there is one.
    """
    try:
        certificate = result.certificate(epsilon1, delta)
    except InputError as error:
        return _impossible(result, f"{error}.", f"Not certified: {error}.")
    # The certificate speaks of numbers of players; the reader knows their names.
    if not certificate.holds and not np.isfinite(certificate.half_widths).all():
        summary = certificate.reason[0].upper() + certificate.reason[1:] + "."
        return replace(
            _impossible(result, summary, certificate.statement), warnings=certificate.warnings
        )
    if result.exact:
        headline = "These values are exact"
        summary = (
            f"Every value was computed, not estimated: {result.stopped}."
            if result.complete
            else "Every value was computed, not estimated."
        )
        return Verdict("holds", headline, summary, (), certificate.statement, certificate.warnings)
    tolerance = _tolerance(certificate)
    if certificate.holds:
        headline = "These values are certified as fair"
        summary = (
            f"With a probability of at least {percent(1 - delta)}, every one of the "
            f"{several(result.n_players, 'value')} is right to within {tolerance}."
        )
        return Verdict("holds", headline, summary, (), certificate.statement, certificate.warnings)
    details = [
        _shortfall(certificate, table),
        *_cost(result, certificate),
        _instead(result, delta, smallest),
    ]
    too_wide = int((certificate.half_widths > certificate.allowed).sum())
    summary = (
        f"Asked for: every value right to within {tolerance}, with a probability of at least "
        f"{percent(1 - delta)}. This is not shown for {too_wide:,} of the "
        f"{several(result.n_players, 'value')}."
    )
    headline = "These values are not certified at this tolerance"
    return Verdict(
        "fails", headline, summary, tuple(details), certificate.statement, certificate.warnings
    )


def _impossible(result: Result, summary: str, statement: str) -> Verdict:
    headline = "These values cannot be certified"
    if not result.complete:
        headline = "A partial result, which cannot be certified"
    return Verdict("impossible", headline, summary, (), statement, ())


def _tolerance(certificate: Certificate) -> str:
    share = percent(certificate.epsilon1)
    return f"{share} of its size plus {number(certificate.epsilon2)}"


def _shortfall(certificate: Certificate, table: PlayerTable) -> str:
    """By how much the worst interval is too wide."""
    worst = int(certificate.worst_players[0])
    width, allowed = certificate.half_widths[worst], certificate.allowed[worst]
    ratio = f", {number(width / allowed, 2)} times too wide" if allowed > 0 else ""
    return (
        f"The farthest off is “{table.names[worst]}”, known to ± {number(width)} where "
        f"± {number(allowed)} is needed{ratio}."
    )


def _instead(result: Result, delta: float, smallest: float | None) -> str:
    """What does hold at the same level."""
    if smallest is None or smallest >= 1:
        return (
            f"At {percent(1 - delta)} not even a tolerance of 100 % of the size of each value, "
            f"plus {number(result.xi)}, is shown for all of them together."
        )
    return (
        f"What does hold at {percent(1 - delta)} is a tolerance of ε1 = {number(smallest)}: every "
        f"value is right to within {percent(float(f'{smallest:.3g}'))} of its size plus "
        f"{number(result.xi * smallest)}."
    )


def _cost(result: Result, certificate: Certificate) -> list[str]:
    """What the certificate would cost, and what the paper's proposition predicts."""
    excess = float(excess_widths(certificate.half_widths, certificate.allowed).max())
    needed = result.evaluations * excess**2 if excess < 1e6 else math.inf
    coalitions = 2.0**result.n_players if result.n_players < 1000 else math.inf
    if needed >= coalitions:
        words = f"it would take all {coalitions:,.0f} coalitions"
        if coalitions == math.inf:
            words = "it would take more evaluations than can be told; a larger ξ may be meant"
    else:
        words = (
            f"it would take about {number(needed, 2)} evaluations, {number(excess**2, 2)} times "
            "what was spent, as intervals shrink with the square root of the evaluations"
        )
    try:
        prediction = result.predict(certificate.epsilon1, certificate.delta, bound="normal")
    except InputError:
        return [f"At the present pace {words}."]
    return [
        f"At the present pace {words}.",
        "By the paper's Proposition 1, with the estimated fidelity plugged in and normal errors, "
        f"it would be {number(prediction.evaluations, 2)} evaluations; spent where they are needed "
        f"(Corollary 1), {number(prediction.contributions, 2)} contributions.",
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
        decisions = result.decisions(delta)
    except InputError:
        return None
    widths: FloatArray = 0.5 * (decisions.upper - decisions.lower)

    def holds(epsilon1: float) -> bool:
        allowed = allowed_half_width(result.values, epsilon1, epsilon1 * result.xi)
        return bool((widths <= allowed).all())

    low, high = 1e-6, LARGEST_TOLERANCE
    if not holds(high):
        return None
    # What is allowed grows with ε1.
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def target_fidelity(result: Result, epsilon1: float, delta: float) -> float:
    """The minimum fidelity that ε1 and δ ask for, by Proposition 1 with normal errors."""
    return required_fidelity(
        result.n_players, epsilon1, delta, independent=result.independent, bound="normal"
    )
