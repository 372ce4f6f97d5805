"""The engine for utilities that wait: many calls at a time, of a service, a model, people.

A plain function is called in a thread, an ``async def`` in an event loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from fairshapley._basics import checks
from fairshapley._basics.types import ByteArray
from fairshapley.evaluation.engines.engine import (
    Answer,
    Engine,
    PackedGame,
    Session,
    Ticket,
    answer_within,
    as_exception,
    too_long,
)
from fairshapley.games.abilities import is_async

# Enough for a service that answers in 50 ms to give 600 answers a second, which the driver can use.
WORKERS = 32
# A thread takes some 100 kB, and services refuse more connections from one place.
MOST_WORKERS = 1024
# What a call is told that has not begun when the run stops.
ENDED = Answer(error=TimeoutError("the run has ended"))
CALLERS_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("loop", default=None)
"""The loop that awaits a run, in which an ``async def`` may have its connections"""


@dataclass(eq=False, repr=False)
class ThreadEngine(Engine):
    """Keeps many calls in flight, for utilities that wait instead of computing.

    A plain function must be safe to call from several threads; an ``async def`` needs none.
    Rounds hold at least as many coalitions as there are workers, so that none is idle. So the
    number of workers decides which coalitions are drawn: the same number gives the same bits.

    Parameters
    ----------
    workers
        The most calls at a time.
    timeout
        The seconds that a call may take; one that takes longer counts as a TimeoutError. By default
        it is waited for. A plain function that hangs leaves its thread behind.
    per_second
        The most calls that begin in a second, retries included.
    retries
        How often a call is made again after an error that is transient.
    backoff
        The seconds to wait before the first retry; twice as long before each further one.
    transient
        Says of an exception whether it is transient; by default time-outs, broken connections and
        answers of a busy service are.
    chunk_size
        Coalitions per call.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.FunctionGame(lambda coalition: float(len(coalition)), 4)
    >>> with ThreadEngine(8, per_second=1000) as engine:
    ...     fs.estimate(game, budget=16, engine=engine).values
    array([1., 1., 1., 1.])
    """

    workers: int = WORKERS
    per_second: float | None = field(default=None, kw_only=True)
    chunk_size: int | None = field(default=1, kw_only=True)
    in_flight: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        remedy = "give fewer calls at a time"
        self.workers = checks.whole("workers", self.workers, most=MOST_WORKERS, remedy=remedy)
        self.in_flight = self.workers
        if self.per_second is not None:
            self.per_second = checks.real("per_second", self.per_second, above=0)
        super().__post_init__()

    def __repr__(self) -> str:
        return f"ThreadEngine(workers={self.workers}, timeout={self.timeout})"

    def open(self, game: PackedGame) -> ThreadSession:
        """Start the threads or the loop."""
        return ThreadSession(self, game)


class ThreadSession(Session):
    """A game; each call has its own thread, calls of an ``async def`` share an event loop."""

    ahead = 1

    def __init__(self, engine: ThreadEngine, game: PackedGame) -> None:
        self._engine, self._game, self.workers = engine, game, engine.workers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._borrowed, self._calls = CALLERS_LOOP.get(), set[Future[Any]]()
        if is_async(game.game):
            self._loop = self._borrowed or asyncio.new_event_loop()
        if self._loop is not None and self._borrowed is None:
            threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()
        self._lock, self._next_start = threading.Lock(), 0.0
        self._interval = 1.0 / engine.per_second if engine.per_second else 0.0
        self._stopped = threading.Event()
        """Set when no call may begin any more"""

    def submit(self, rows: ByteArray, *, alone: bool = False) -> Ticket:
        """Call the game; a thread whose call hangs does not keep the program from ending."""
        self._stopped.clear()
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()
        if self._loop is None:
            threading.Thread(target=self._call, args=(future, rows), daemon=True).start()
        else:
            call = asyncio.run_coroutine_threadsafe(self._await(future, rows), self._loop)
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
        return future

    def _delay(self) -> float:
        """Return the seconds until this call may begin; calls begin at even distances."""
        with self._lock:
            now = time.monotonic()
            self._next_start = max(now, self._next_start + self._interval)
            return self._next_start - now

    def _call(self, future: Future[Answer], rows: ByteArray) -> None:
        """Call a plain function; one that hangs leaves its thread behind."""
        answer = ENDED
        if not self._stopped.wait(self._delay()):
            try:
                answer = answer_within(self._engine.timeout, self._game, rows)
            except TimeoutError as error:
                answer = Answer(error=error)
        future.set_result(answer)

    async def _await(self, future: Future[Answer], rows: ByteArray) -> None:
        """Call an ``async def``."""
        await asyncio.sleep(self._delay())
        if self._stopped.is_set():
            future.set_result(ENDED)
            return
        start, limit = time.perf_counter(), asyncio.timeout(self._engine.timeout)
        try:
            async with limit:
                values = await self._game.answer(rows)
            answer = Answer(values, time.perf_counter() - start)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # also SystemExit, which would end the loop
            answer = Answer(self._game.before(error), error=as_exception(error))
            if limit.expired():
                answer = Answer(error=TimeoutError(too_long(self._engine.timeout)))
        future.set_result(answer)

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """Return what is answered within a moment; no call begins."""
        self._stopped.set()
        return super().abort(tickets)

    def close(self) -> None:
        """Cancel what still waits, and end the loop unless it is the caller's."""
        self._stopped.set()
        for call in tuple(self._calls):
            call.cancel()
        if self._loop is not None and self._borrowed is None:
            asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _cancel_others() -> None:
    """Cancel all tasks of the loop but this one."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
