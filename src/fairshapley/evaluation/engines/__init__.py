"""Engines: who computes the utilities of a chunk of coalitions, and the option that names one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from fairshapley.errors import InputError
from fairshapley.evaluation.engines.dask import DaskEngine
from fairshapley.evaluation.engines.engine import Engine, SerialEngine, check_answer
from fairshapley.evaluation.engines.processes import ProcessEngine
from fairshapley.evaluation.engines.ray import RayEngine
from fairshapley.evaluation.engines.threads import ThreadEngine
from fairshapley.games.abilities import is_async

__all__ = [
    "DaskEngine",
    "Engine",
    "EngineOption",
    "ProcessEngine",
    "RayEngine",
    "SerialEngine",
    "ThreadEngine",
    "check_answer",
    "opened_engine",
    "parse_engine",
]

EngineOption: TypeAlias = Any
"""None, a text as in `parse_engine`, a `distributed.Client`, or an `Engine`"""

DASK_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "ucxx")


def parse_engine(engine: EngineOption) -> Engine:
    """Return the engine that an option names.

    Parameters
    ----------
    engine
        None or "serial"; "processes" or, for four of them, "processes:4"; "threads" or, for 32
        calls at a time, "threads:32"; a `distributed.Client`, "dask://host:port" or a scheduler's
        own address, "tcp://host:port"; "ray" or "ray://host:port"; or an engine.

    Examples
    --------
    >>> parse_engine("serial")
    SerialEngine(chunk_size=None)
    """
    if engine is None:
        return SerialEngine()
    if isinstance(engine, str) and (named := _named(engine)) is not None:
        return named
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(engine, distributed.Client):
        return DaskEngine(engine)
    if not isinstance(engine, Engine):
        raise InputError(
            "must be 'serial', 'processes', 'processes:4', 'threads:32', 'dask://host:port', "
            "'ray', 'ray://host:port' or an engine",
            parameter="engine",
            received=engine,
        )
    return engine


def _named(text: str) -> Engine | None:
    """Return the engine of a text, None when it names none."""
    name, colon, rest = text.partition(":")
    if text == "serial":
        return SerialEngine()
    if name in ("processes", "threads") and (not colon or rest.isdecimal()):
        engine = ProcessEngine if name == "processes" else ThreadEngine
        return engine(int(rest)) if rest else engine()
    if text == "ray":
        return RayEngine()
    if not rest.removeprefix("//") or not rest.startswith("//"):
        return None
    if name == "ray":
        return RayEngine(text)
    if name == "dask":
        return DaskEngine(f"tcp:{rest}")
    return DaskEngine(text) if name in DASK_SCHEMES else None


@contextmanager
def opened_engine(option: EngineOption, game: object = None) -> Iterator[Engine]:
    """Open the engine of an option; close it afterwards when it was made here.

    Without an option this process computes, or waits for the answers of an ``async def``.
    """
    engine = ThreadEngine() if option is None and is_async(game) else parse_engine(option)
    try:
        yield engine
    finally:
        if engine is not option:
            engine.close()
