"""Engines: who computes the utilities of a chunk of coalitions."""

from fairshapley.evaluation.engines.choice import EngineOption, opened_engine, parse_engine
from fairshapley.evaluation.engines.dask import DaskEngine
from fairshapley.evaluation.engines.engine import Answer, Engine, Session, check_answer
from fairshapley.evaluation.engines.processes import ProcessEngine
from fairshapley.evaluation.engines.ray import RayEngine
from fairshapley.evaluation.engines.serial import SerialEngine
from fairshapley.evaluation.engines.threads import ThreadEngine

__all__ = [
    "Answer",
    "DaskEngine",
    "Engine",
    "EngineOption",
    "ProcessEngine",
    "RayEngine",
    "SerialEngine",
    "Session",
    "ThreadEngine",
    "check_answer",
    "opened_engine",
    "parse_engine",
]
