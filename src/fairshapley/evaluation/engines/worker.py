"""What runs in a worker, whatever engine started it: load the game once, answer chunks.

Nothing that a utility does reaches the engine as an exception: it is described in the reply. So
an exception that an engine reports is a fault of the engine, or of a worker that died.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import threading
import time
import traceback
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray
from fairshapley.evaluation.engines.engine import check_answer
from fairshapley.games.game import Game

# Two runs may share a cluster; more games than that are not kept in a worker's memory.
KEPT_GAMES = 2
# Seconds after which a worker whose utility hangs ends itself, once it has sent its reply.
LAST_SECONDS = 0.5
# A utility that hangs in compiled code and lets no other thread run is ended from outside Python,
# so long after the timeout that it cannot be mistaken.
HARD_SECONDS = 5.0

_threads = threading.local()
_drivers: set[int] = set()
"""Holds the id of this process once it has opened a session: it is no worker of its own"""


@dataclass(frozen=True)
class Settings:
    """How a worker computes.

    `threads` is the number of BLAS and OpenMP threads, `timeout` the seconds for a chunk, `sole`
    says that the process computes one chunk at a time.
    """

    threads: int = 1
    timeout: float | None = None
    sole: bool = True


@dataclass(frozen=True)
class Failure:
    """An exception in words that any process can read."""

    kind: Literal["game", "load", "timeout"]
    name: str
    """The name of its type"""
    text: str
    trace: str
    coalition: tuple[int, ...] | None = None
    """That of a GameError"""


@dataclass(frozen=True)
class Reply:
    """What a worker sends back for a chunk."""

    values: FloatArray | None = None
    seconds: float = 0.0
    failure: Failure | None = None


def mark_driver() -> None:
    """Say that this process drives runs: an engine's thread in it must not limit or end it."""
    _drivers.add(os.getpid())


def run_chunk(
    name: str, source: str | ByteArray, packed: ByteArray, n_players: int, settings: Settings
) -> Reply:
    """The utilities of a chunk.

    Parameters
    ----------
    name
        The name of the game, unique among all sessions.
    source
        The pickled game: as an array of bytes, or the path of a file.
    packed
        The coalitions, one bit per player.
    n_players, settings
        How many players there are, and how to compute.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = np.frombuffer(pickle.dumps(fs.games.Additive([1.0, 2.0])), dtype=np.uint8)
    >>> mark_driver()
    >>> run_chunk("example", game, np.array([[3]], dtype=np.uint8), 2, Settings()).values
    array([3.])
    """
    try:
        game = _load(name, source, settings.threads)
    except BaseException as error:
        return Reply(failure=_describe("load", error))
    if not len(packed):
        return Reply(np.empty(0))
    start = time.perf_counter()
    try:
        masks = bits.unpack(packed, n_players)
        if settings.timeout is None:
            values = check_answer(game(masks), len(masks), game)
        else:
            values = _within(game, masks, settings.timeout, sole=settings.sole)
    except _TooLongError as error:
        return Reply(failure=Failure("timeout", "TimeoutError", "", str(error)))
    except BaseException as error:  # SystemExit, for one: a utility does not end its worker
        return Reply(failure=_describe("game", error))
    return Reply(values, time.perf_counter() - start)


def _load(name: str, source: str | ByteArray, threads: int) -> Game:
    """The game of this thread: each thread has its own copy, for a game may keep notes."""
    games: OrderedDict[str, Game] | None = getattr(_threads, "games", None)
    if games is None:
        games = _threads.games = OrderedDict()
    if name not in games:
        data: Any = Path(source).read_bytes() if isinstance(source, str) else source
        # The bytes come from the driver, which is as trusted as the code it sends.
        games[name] = pickle.loads(data)  # noqa: S301
        while len(games) > KEPT_GAMES:
            games.popitem(last=False)
        _limit_threads(threads)
    games.move_to_end(name)
    return games[name]


def _limit_threads(threads: int) -> None:
    """As many threads of BLAS and OpenMP as this worker may use, in libraries loaded by now."""
    if os.getpid() in _drivers:
        return
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


class _TooLongError(Exception):
    """The time for a chunk has passed; the message is where the utility hangs."""


def _within(game: Game, masks: BoolArray, timeout: float, *, sole: bool) -> FloatArray:
    """The utilities, from a thread that is left behind when it takes too long."""
    outcome: list[Any] = []

    def compute() -> None:
        try:
            outcome.append(check_answer(game(masks), len(masks), game))
        except BaseException as error:
            outcome.append(error)

    helper = threading.Thread(target=compute, daemon=True)
    stderr = sys.__stderr__ if sole and os.getpid() not in _drivers else None
    if stderr is not None:
        faulthandler.dump_traceback_later(timeout + HARD_SECONDS, exit=True, file=stderr)
    try:
        helper.start()
        helper.join(timeout)
    finally:
        if stderr is not None:
            faulthandler.cancel_dump_traceback_later()
    if helper.is_alive():
        frame = sys._current_frames().get(helper.ident or 0)
        where = "".join(traceback.format_stack(frame)) if frame is not None else ""
        _end_soon()
        raise _TooLongError(where)
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _end_soon() -> None:
    """End this worker when its reply is on its way: a thread that hangs cannot be ended alone."""
    if os.getpid() in _drivers:
        return
    timer = threading.Timer(LAST_SECONDS, os._exit, [1])
    timer.daemon = True
    timer.start()


def _describe(kind: Literal["game", "load"], error: BaseException) -> Failure:
    """An exception in words; one of another process's type could not be unpickled."""
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    trace = "".join(traceback.format_exception(error))
    coalition = getattr(error, "coalition", None)
    return Failure(kind, type(error).__name__, text, trace, coalition)
