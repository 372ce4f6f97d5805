"""Evaluation of coalitions: cache, journal and engine. It knows games, not estimators."""

from fairshapley.evaluation.engines import (
    DaskEngine,
    Engine,
    ProcessEngine,
    RayEngine,
    SerialEngine,
    ThreadEngine,
)
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.evaluation.journal import Journal

__all__ = [
    "DaskEngine",
    "Engine",
    "Evaluator",
    "Journal",
    "ProcessEngine",
    "RayEngine",
    "SerialEngine",
    "ThreadEngine",
]
