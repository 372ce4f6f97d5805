"""Fairness of an estimate: fidelity scores and axioms. It reads values, never a game."""

from fairshapley.fairness.axioms import (
    AxiomCheck,
    check_axioms,
    desirable_pairs,
    null_players,
    symmetric_pairs,
)
from fairshapley.fairness.fidelity import fidelity

__all__ = [
    "AxiomCheck",
    "check_axioms",
    "desirable_pairs",
    "fidelity",
    "null_players",
    "symmetric_pairs",
]
