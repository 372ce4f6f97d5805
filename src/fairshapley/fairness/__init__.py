"""Fairness of an estimate: fidelity, guarantee, certificate, decisions, axioms, planned looks.

It reads values, never a game.
"""

from fairshapley.fairness.axioms import (
    AxiomCheck,
    Premises,
    check_axioms,
    check_fairness,
    desirable_pairs,
    null_players,
    symmetric_pairs,
    within_tolerance,
)
from fairshapley.fairness.certificate import Certificate
from fairshapley.fairness.decisions import Decisions
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.findings import Findings
from fairshapley.fairness.guarantees import (
    Guarantee,
    fidelity,
    guarantee,
    required_fidelity,
)

__all__ = [
    "AxiomCheck",
    "Certificate",
    "Decisions",
    "Evidence",
    "Findings",
    "Guarantee",
    "Premises",
    "check_axioms",
    "check_fairness",
    "desirable_pairs",
    "fidelity",
    "guarantee",
    "null_players",
    "required_fidelity",
    "symmetric_pairs",
    "within_tolerance",
]
