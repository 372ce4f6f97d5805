"""What runs in a worker, whatever engine started it: load the game once, answer chunks.

Nothing that a utility does reaches the engine as an exception: it is in the answer, in words that
any process can read. So an exception that an engine reports is a fault of the engine, or of a
worker that died.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairshapley._basics.types import ByteArray
from fairshapley.errors import EngineError, GameError
from fairshapley.evaluation.engines.engine import (
    Answer,
    PackedGame,
    RemoteError,
    WorkerLostError,
    answer_within,
    as_exception,
    is_transient,
)

# Seconds after which a worker whose utility hangs ends itself, once it has sent its answer.
LAST_SECONDS = 0.5
# A utility that hangs in compiled code and lets no other thread run is ended from outside Python,
# so long after the timeout that it cannot be mistaken.
HARD_SECONDS = 5.0

_kept = threading.local()
_drivers: set[int] = set()
"""Holds the id of this process once it has opened a session: it is no worker of its own"""


def mark_driver() -> None:
    """Say that this process drives runs: an engine's thread in it must not limit or end it."""
    _drivers.add(os.getpid())


def run_chunk(
    name: str,
    source: str | ByteArray,
    rows: ByteArray,
    threads: int = 1,
    timeout: float | None = None,
    sole: bool = True,
) -> Answer:
    """Return the utilities of a chunk.

    Parameters
    ----------
    name
        The name of the game, unique among all sessions.
    source
        The pickled game: as an array of bytes, or the path of a file.
    rows
        The coalitions, one bit per player.
    threads
        The threads of BLAS and OpenMP.
    timeout
        The seconds for a chunk.
    sole
        Whether the process computes one chunk at a time.

    Examples
    --------
    >>> import fairshapley as fs
    >>> packed = PackedGame(fs.games.Additive([1.0, 2.0]), 2)
    >>> game = np.frombuffer(pickle.dumps(packed), dtype=np.uint8)
    >>> mark_driver()
    >>> run_chunk("example", game, np.array([[3]], dtype=np.uint8)).values
    array([3.])
    """
    try:
        game = _load(name, source, threads)
    except BaseException as error:
        words = f"{type(error).__name__}: {_portable(error)}"
        return Answer(
            error=EngineError(
                f"the game could not be loaded in a worker ({words}). Its modules must be "
                "installed there, in the same versions; a module of your own can be sent along "
                "with cloudpickle.register_pickle_by_value(module)"
            )
        )
    if not len(rows):
        return Answer(np.empty(0))
    try:
        answer = _answer_within(game, rows, timeout, sole)
    except TimeoutError as error:
        lost = WorkerLostError(str(error), timed_out=True)
        for note in getattr(error, "__notes__", ()):
            lost.add_note(f"in the worker, {note}")
        return Answer(error=lost)
    return answer if answer.error is None else replace(answer, error=_portable(answer.error))


def _load(name: str, source: str | ByteArray, threads: int) -> PackedGame:
    """Return the game of this thread: each thread has its own copy, for a game may keep notes."""
    if getattr(_kept, "name", "") != name:
        data: Any = Path(source).read_bytes() if isinstance(source, str) else source
        # The bytes come from the driver, which is as trusted as the code it sends.
        _kept.game, _kept.name = pickle.loads(data), name  # noqa: S301
        _limit_threads(threads)
    game: PackedGame = _kept.game
    return game


def _limit_threads(threads: int) -> None:
    """Use as many threads of BLAS and OpenMP as the worker may, in libraries loaded by now."""
    if os.getpid() in _drivers:
        return
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def _answer_within(game: PackedGame, rows: ByteArray, timeout: float | None, sole: bool) -> Answer:
    """Return the answer; a worker whose utility takes too long ends itself."""
    driver = os.getpid() in _drivers
    stderr = sys.__stderr__ if sole and not driver else None
    if timeout is not None and stderr is not None:
        faulthandler.dump_traceback_later(timeout + HARD_SECONDS, exit=True, file=stderr)
    try:
        return answer_within(timeout, game, rows)
    except TimeoutError:
        if not driver:
            # The answer is on its way then: a thread that hangs cannot be ended alone.
            timer = threading.Timer(LAST_SECONDS, os._exit, [1])
            timer.daemon = True
            timer.start()
        raise
    finally:
        if stderr is not None:
            faulthandler.cancel_dump_traceback_later()


def _portable(error: BaseException) -> Exception:
    """Return an exception in words; one of a type of another process could not be unpickled."""
    raised = as_exception(error)
    try:
        text = str(raised)
    except Exception:
        text = "(its message cannot be shown)"
    name = raised.name if isinstance(raised, RemoteError) else type(raised).__name__
    portable: Exception = RemoteError(text, name, transient=is_transient(raised))
    if isinstance(raised, GameError):
        portable = GameError(text, raised.coalition)
    portable.add_note(f"in the worker:\n{''.join(traceback.format_exception(raised))}")
    return portable
