"""What an engine is: it computes chunks of coalitions, several at a time.

A chunk is what an engine ships at a time; any chunk size gives the same bits. An engine is a
configuration, and perhaps a pool of workers that outlives a run; `open` gives a session, which
holds one game. The evaluator cuts the chunks, keeps a few of them in a session, and decides what
is to be done about a worker that was lost.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np

from fairshapley._basics import bits, checks
from fairshapley._basics.types import ByteArray, FloatArray
from fairshapley.errors import EngineError, GameError, InputError
from fairshapley.games import abilities
from fairshapley.games.game import FunctionGame, Game
from fairshapley.randomness import SEED_BYTES

Ticket: TypeAlias = Any
"""Stands for a chunk that was handed in"""
Transient: TypeAlias = Callable[[Exception], bool]

# How often to look whether the workers are still there.
LOOK_SECONDS = 1.0
# When a run stops, most chunks are done within half a second: to let them end is cheaper than to
# end their workers, and keeps what they compute.
LAST_MOMENT = 1.0
RETRIES = 5
# Seconds before the first retry; they double. Five retries wait 15 s in all: long enough for a
# service that restarts, or a limit that counts by the quarter of a minute.
BACKOFF = 0.5
# What clients of services call a failure that passes, and the states of HTTP that mean one.
TRANSIENT_NAMES = {"Timeout", "TimeoutException", "NetworkError", "ConnectionError"}
TRANSIENT_NAMES |= {"ClientConnectionError", "APIConnectionError", "RateLimitError"}
BUSY = {408, 425, 429, 500, 502, 503, 504, 529}


class WorkerLostError(Exception):
    """A chunk came to nothing because its worker died or took too long; it may be tried again.

    Attributes
    ----------
    timed_out
        Whether the utility ran longer than the engine's `timeout`.
    """

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class RemoteError(Exception):
    """An exception of a utility, known only by its message and the name of its type.

    Attributes
    ----------
    name
        The name of the type.
    transient
        Whether the exception itself is transient.
    """

    def __init__(self, text: str, name: str = "", *, transient: bool = False) -> None:
        super().__init__(text)
        self.name, self.transient = name, transient


def is_transient(error: Exception) -> bool:
    """Return whether a call may succeed when it is made again.

    Time-outs and broken connections are transient, also as httpx, requests, aiohttp and clients of
    language models raise them. So are answers of a busy service (status 429, 503).

    Examples
    --------
    >>> is_transient(ConnectionResetError()), is_transient(ValueError())
    (True, False)
    """
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    answer = getattr(error, "response", None)
    status = {getattr(error, name, None) for name in ("status_code", "status")}
    status.add(getattr(answer, "status_code", None))
    names = {kind.__name__ for kind in type(error).__mro__}
    passing = bool(names & TRANSIENT_NAMES or status & BUSY)
    return passing or bool(getattr(error, "transient", False))


@dataclass(frozen=True, eq=False)
class Answer:
    """What became of a chunk: the utilities in order, or the error that the game raised.

    With an error, `values` come from the calls before it. `error` is a `WorkerLostError` when
    not the game but the worker failed.
    """

    values: FloatArray | None = None
    seconds: float = 0.0
    """The time that the game took"""
    error: Exception | None = None


class PackedGame:
    """A game as engines compute it: a coalition is a row of bits, behind which a seed may stand.

    Parameters
    ----------
    game
        The game.
    n_active
        The players in a row; the others take part in no coalition.
    columns
        The numbers for each coalition, where there are several: its utility, and then that without
        each group of test rows.
    seeded
        Whether rows end with the seed of a random utility.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = PackedGame(fs.games.Additive([1.0, 2.0]), 2)
    >>> game(np.array([[3], [1]], dtype=np.uint8))
    array([3., 1.])
    """

    def __init__(
        self, game: Game, n_active: int, *, columns: int | None = None, seeded: bool = False
    ) -> None:
        self.game, self.n_active = game, n_active
        self.n_players = game.n_players
        self.seeds = SEED_BYTES if seeded else 0
        """The bytes of a seed"""
        self.columns = columns

    def _call(self, rows: ByteArray) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return the function that answers, and its arguments: seeds where it takes any."""
        masks = bits.unpack(rows[:, : rows.shape[1] - self.seeds], self.n_active)
        if self.n_active < self.n_players:
            masks = np.pad(masks, ((0, 0), (0, self.n_players - self.n_active)))
        draw = abilities.seeded_draw(self.game) if self.seeds else None
        if draw is None:
            game: Any = self.game
            return game if self.columns is None else game.with_replicates, (masks,)
        seeds = np.ascontiguousarray(rows[:, -self.seeds :]).view("<u4")[:, 0]
        return draw, (masks, seeds.astype(np.int64))

    def __call__(self, rows: ByteArray) -> FloatArray:
        """Return the utilities of some coalitions, checked."""
        function, arguments = self._call(rows)
        return check_answer(function(*arguments), len(rows), self.columns)

    def before(self, error: BaseException) -> FloatArray | None:
        """Return the utilities that a function gave before a call of it failed."""
        return getattr(error, "answered", None) if isinstance(self.game, FunctionGame) else None

    async def answer(self, rows: ByteArray) -> FloatArray:
        """Return the same from an ``async def``."""
        game: Any = self.game
        return check_answer(await game.answer(*self._call(rows)[1]), len(rows))


def check_answer(answer: Any, count: int, columns: int | None = None) -> FloatArray:
    """Return utilities as a float array of the right length; raise a GameError otherwise.

    With `columns` there are that many numbers for each coalition. Entries under a mask are NaN, and
    −0.0 is 0.0, whose sign a journal would not keep.

    Examples
    --------
    >>> check_answer([1, 2], 2)
    array([1., 2.])
    """
    array = np.asanyarray(answer)
    if array.dtype.kind == "c":
        raise GameError("the game returned complex numbers: utilities must be real")
    try:
        if array.dtype.kind not in "fiubO":
            raise TypeError
        if isinstance(array, np.ma.MaskedArray):
            array = np.ma.filled(array.astype(np.float64), np.nan)
        values = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise GameError(
            f"the game returned {type(answer).__name__} of {array.dtype}, which are not numbers: "
            f"return one float for each of the {count} coalitions"
        ) from None
    if values.shape != ((count,) if columns is None else (count, columns)):
        raise GameError(
            f"the game returned an array of shape {values.shape} for {count} coalitions: "
            f"return one float for each, shape ({count},)"
        )
    return values + 0.0  # a copy: the array may be the game's own


def answer_of(game: PackedGame, rows: ByteArray) -> Answer:
    """Return what a game answers to a chunk; what it raises is in the answer."""
    start = time.perf_counter()
    try:
        values = game(rows)
    except BaseException as error:  # also SystemExit: a utility does not end the program
        return Answer(game.before(error), error=as_exception(error))
    return Answer(values, time.perf_counter() - start)


def as_exception(error: BaseException) -> Exception:
    """Return what a utility raised as an exception that ends no program: SystemExit would.

    Examples
    --------
    >>> as_exception(SystemExit("bye"))
    RemoteError('bye')
    """
    if isinstance(error, Exception):
        return error
    described = RemoteError(str(error), type(error).__name__)
    described.__cause__ = error
    return described


def too_long(seconds: float | None) -> str:
    """Return what a call is told that took longer than it may."""
    return f"it took longer than the timeout of {seconds:g} s"


def answer_within(seconds: float | None, game: PackedGame, rows: ByteArray) -> Answer:
    """Return what a game answers in time; raise a TimeoutError that notes where it hangs.

    The game runs in a thread, which is left behind when it takes too long.
    """
    if seconds is None:
        return answer_of(game, rows)
    answers: list[Answer] = []
    helper = threading.Thread(target=lambda: answers.append(answer_of(game, rows)), daemon=True)
    helper.start()
    helper.join(seconds)
    if not answers:
        error = TimeoutError(too_long(seconds))
        if (frame := sys._current_frames().get(helper.ident or 0)) is not None:
            error.add_note(f"where it was then:\n{''.join(traceback.format_stack(frame))}")
        raise error
    return answers[0]


class Session:
    """One game at work in an engine: chunks are futures, and no worker can be lost."""

    workers: int = 0
    """The number of chunks that workers compute at a time; 0 when this process computes"""
    ahead: int = 2
    """Chunks that a worker is handed at a time: one waits, so that it is never idle"""

    def submit(self, rows: ByteArray, *, alone: bool = False) -> Ticket:
        """Hand in a chunk; `alone` says that nothing else is handed in before it is answered.

        One of no rows lets a worker load the game, and asks it nothing.
        """
        raise NotImplementedError

    def wait(
        self, tickets: Sequence[Ticket], seconds: float | None = None
    ) -> list[tuple[Ticket, Answer]]:
        """Wait until a chunk is answered, or so long; raise EngineError when none ever will be."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            left = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - time.monotonic())
            done, _ = wait(tickets, max(0.0, left), FIRST_COMPLETED)
            if done or left <= 0:
                return [(ticket, self._answer(ticket)) for ticket in tickets if ticket in done]
            self._look()

    def _answer(self, ticket: Ticket) -> Answer:
        """Return what became of a chunk that is done."""
        answer: Answer = ticket.result()
        return answer

    def _look(self) -> None:
        """Raise EngineError when there is nobody left to answer."""

    def _stop(self, tickets: Sequence[Ticket]) -> None:
        """End what computes these chunks."""

    def renew(self) -> None:
        """Replace workers that hang; called while nothing is handed in."""

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """Return what is done, or will be in a moment; a worker that computes longer is ended."""
        begun = [ticket for ticket in tickets if not ticket.cancel()]
        done, rest = wait(begun, LAST_MOMENT)
        if rest:
            self._stop(list(rest))
        answers = []
        for ticket in begun:
            if ticket in done:
                with suppress(EngineError):  # something else is being reported already
                    answers.append((ticket, self._answer(ticket)))
        return answers

    def close(self) -> None:
        """Let go of the game."""


@dataclass(eq=False, repr=False, kw_only=True)
class Engine:
    """Who computes the utilities; used in a ``with`` statement, it is closed.

    Parameters
    ----------
    chunk_size
        Coalitions per chunk; None follows the measured speed.
    timeout
        The seconds that a chunk may take; None waits.
    in_flight
        The least that a round holds. Rounds are drawn then, so that results depend on it: it is a
        setting, never a count of what there happens to be.
    retries
        How often a call is made again after an error that is transient.
    backoff
        The seconds to wait before the first retry; twice as long before each further one.
    transient
        Says of an exception whether it is transient; by default time-outs, broken connections and
        answers of a busy service are.
    """

    chunk_size: int | None = None
    timeout: float | None = None
    in_flight: int = 1
    retries: int = RETRIES
    backoff: float = BACKOFF
    transient: Transient = is_transient

    def __post_init__(self) -> None:
        if self.chunk_size is not None:
            self.chunk_size = checks.whole("chunk_size", self.chunk_size)
        if self.timeout is not None:
            remedy = "give seconds for a chunk, or None for no limit"
            self.timeout = checks.real("timeout", self.timeout, above=0, remedy=remedy)
        self.in_flight = checks.whole("in_flight", self.in_flight, remedy="it counts coalitions")
        self.retries = checks.whole("retries", self.retries, least=0)
        self.backoff = checks.real("backoff", self.backoff, least=0)
        if not callable(self.transient):
            raise InputError(
                f"transient must be a function of an exception, not {self.transient!r}: "
                "e.g. lambda error: isinstance(error, OSError)"
            )

    def open(self, game: PackedGame) -> Session:
        """Set the game up where it is to be computed."""
        raise NotImplementedError

    def close(self) -> None:
        """End the workers that the engine started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@dataclass(eq=False, repr=False)
class SerialEngine(Engine):
    """Computes in this process.

    Parameters
    ----------
    chunk_size
        Coalitions per call of the game. By default it follows the measured speed (half a second
        per chunk) and the memory (32 MiB of masks).
    in_flight
        The least that a round holds: 32 gives the bits of "threads:32".
    retries, backoff, transient
        What is done about calls that fail, see `ThreadEngine`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0])
    >>> fs.estimate(game, budget=10, seed=0, engine=fs.SerialEngine(chunk_size=1)).values
    array([1., 2.])
    """

    chunk_size: int | None = None

    def __repr__(self) -> str:
        return f"SerialEngine(chunk_size={self.chunk_size})"

    def open(self, game: PackedGame) -> Session:
        """Return the game as it is."""
        return SerialSession(game)


class SerialSession(Session):
    """Computes a chunk when it is waited for."""

    def __init__(self, game: PackedGame) -> None:
        self._game = game

    def submit(self, rows: ByteArray, *, alone: bool = False) -> Ticket:
        """Keep the chunk until it is waited for."""
        return partial(answer_of, self._game, rows)

    def wait(
        self, tickets: Sequence[Ticket], seconds: float | None = None
    ) -> list[tuple[Ticket, Answer]]:
        """Compute the first of the chunks; Ctrl-C ends the wait."""
        answer: Answer = tickets[0]()
        cause = None if answer.error is None else answer.error.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise cause
        return [(tickets[0], answer)]

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """Return nothing: no chunk is answered before it is waited for.

        That also drops what a utility returned that swallowed an interrupt: no utility.
        """
        return []
