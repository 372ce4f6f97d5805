"""Fairness: what holds, for whom, and by how much the tolerance is missed.

The words are in the template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import several
from fairshapley.errors import InputError
from fairshapley.estimators.exact import MAX_EXACT_PLAYERS
from fairshapley.fairness.certificate import cost_text
from fairshapley.fairness.findings import Findings
from fairshapley.fairness.guarantees import Prediction, required_fidelity
from fairshapley.fairness.levels import EPSILON1

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# The tolerances ε1 of a curve, and the probabilities of failure at which certificates are tried.
TOLERANCES = tuple(10 ** (place / 16) for place in range(-32, 9))
LEVELS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6)
# A tolerance above this is not worth a certificate.
LARGEST_TOLERANCE = 3.0


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the top of the report tells of."""

    result: Result
    kind: str
    """Exact, certified, shown, missed (where somebody asked for more) or impossible"""
    statement: str
    """The certificate's own words"""
    warning: str = ""
    obstacle: str = ""
    """Why nothing can be stated, by the certificate"""
    findings: Findings | None = None
    """What holds, where the certificate does not"""

    @classmethod
    def of(cls, result: Result, epsilon1: float, delta: float, *, asked: bool = True) -> Verdict:
        """What holds of a result at ε1 and δ; `asked` says whether somebody asked for ε1."""
        certificate = result.certificate(epsilon1, delta)
        said = certificate.statement, certificate.warning
        if certificate.holds:
            return cls(result, "exact" if result.exact else "certified", *said)
        if not np.isfinite(certificate.half_widths).all():
            return cls(result, "impossible", *said, certificate.reason)
        findings = result.findings(epsilon1, delta, result.xi)
        return cls(result, "missed" if asked else "shown", *said, findings=findings)

    @property
    def unknown(self) -> int:
        """How many players have no standard error."""
        return int(np.isnan(self.result.standard_errors).sum())

    @property
    def constant(self) -> bool:
        """Whether all utilities that were evaluated are known to be equal."""
        profile = self.result.run.profile
        spreads, means = {part.deviation for part in profile}, {part.mean for part in profile}
        return spreads == {0.0} and len(means) == 1

    @property
    def few_players(self) -> bool:
        """Whether exact values could be computed."""
        return self.result.n_players <= MAX_EXACT_PLAYERS

    @property
    def reason(self) -> str:
        """Why nothing can be stated."""
        if not self.result.evidence.obstacle and self.constant:
            return f"all {self.result.evaluations:,} utilities that were evaluated are equal"
        if not self.result.evidence.obstacle and self.unknown:
            players = several(self.unknown, "player")
            return f"for {players} the samples do not show how much the contributions vary"
        return self.obstacle

    @property
    def cost(self) -> str:
        """What the tolerance would take."""
        needed = 0.0 if self.findings is None else self.findings.needed
        return cost_text(needed, self.result.evidence.coalitions)

    @property
    def prediction(self) -> Prediction | None:
        """What it would take by the paper's proposition; None where that says nothing."""
        if self.findings is None:
            return None
        certificate = self.findings.certificate
        try:
            return self.result.predict(certificate.epsilon1, certificate.delta, bound="normal")
        except InputError:
            return None


@dataclass(frozen=True, eq=False)
class ToleranceCurves:
    """δ against ε1: as the certificate has it, and as the paper's guarantee has it."""

    certified: tuple[tuple[float, float], ...]
    """(ε1, δ): the smallest ε1 that is certified at δ"""
    guaranteed: dict[str, tuple[tuple[float, float], ...]]
    """By bound: (ε1, δ) of `Result.guarantee`"""

    @classmethod
    def of(cls, result: Result) -> ToleranceCurves:
        """The curves of a result; empty where nothing can be stated, or certified."""
        if result.exact or result.evidence.modelled:
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
        result.n_players, epsilon1, delta, independent=result.evidence.independent, bound="normal"
    )
