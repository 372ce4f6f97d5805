"""Evaluation of coalitions: cache, journal and engine. It knows games, not estimators."""

from fairshapley.evaluation.engines import Engine, SerialEngine
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.evaluation.journal import Journal

__all__ = ["Engine", "Evaluator", "Journal", "SerialEngine"]
