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
from fairshapley.fairness.certificate import Certificate, certify
from fairshapley.fairness.decisions import Decisions
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.findings import Findings
from fairshapley.fairness.guarantees import (
    BoundGain,
    Guarantee,
    Prediction,
    bound_gain,
    guarantee,
    minimum_fidelity,
    required_fidelity,
)
from fairshapley.fairness.pigou_dalton import pdp_prefers
from fairshapley.fairness.scores import fidelity

__all__ = [
    "AxiomCheck",
    "BoundGain",
    "Certificate",
    "Decisions",
    "Evidence",
    "Findings",
    "Guarantee",
    "Prediction",
    "Premises",
    "bound_gain",
    "certify",
    "check_axioms",
    "check_fairness",
    "desirable_pairs",
    "fidelity",
    "guarantee",
    "minimum_fidelity",
    "null_players",
    "pdp_prefers",
    "required_fidelity",
    "symmetric_pairs",
    "within_tolerance",
]
