"""The engine for utilities that wait: many calls at a time, of a service, a model, people.

One thread runs an event loop in which every call has its turn, its time limit and its retries.
A plain function is called in a thread of a pool, an ``async def`` in the loop itself.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.evaluation.engines.engine import (
    LAST_MOMENT,
    Answer,
    CheckedEngine,
    Ticket,
    check_answer,
)
from fairshapley.evaluation.engines.remote import as_exception
from fairshapley.games.abilities import is_async
from fairshapley.games.game import Game

Transient: TypeAlias = Callable[[Exception], bool]

# Enough for a service that answers in 50 ms to give 600 answers a second, which the driver can use.
WORKERS = 32
# A thread takes some 100 kB, and services refuse more connections from one place.
MOST_WORKERS = 1024
RETRIES = 5
# Seconds before the first retry; they double. Five retries wait 15 s in all: long enough for a
# service that restarts, or a limit that counts by the quarter of a minute.
BACKOFF, LONGEST_BACKOFF = 0.5, 30.0


def is_transient(error: Exception) -> bool:
    """Whether a call may succeed when it is made again: time-outs and broken connections.

    Examples
    --------
    >>> is_transient(ConnectionResetError()), is_transient(ValueError())
    (True, False)
    """
    return isinstance(error, TimeoutError | ConnectionError)


class ThreadEngine(CheckedEngine):
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
        Says of an exception whether it is transient; by default time-outs and broken connections
        are.
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

    def __init__(
        self,
        workers: int = WORKERS,
        *,
        timeout: float | None = None,
        per_second: float | None = None,
        retries: int = RETRIES,
        backoff: float = BACKOFF,
        transient: Transient = is_transient,
        chunk_size: int = 1,
    ) -> None:
        self.workers = checks.whole("workers", workers)
        super().__init__(chunk_size=chunk_size, timeout=timeout, in_flight=self.workers)
        if self.workers > MOST_WORKERS:
            raise InputError(
                f"workers must be at most {MOST_WORKERS:,}, not {self.workers:,}: give fewer calls "
                "at a time"
            )
        self.interval = 0.0
        if per_second is not None:
            self.interval = 1.0 / checks.real("per_second", per_second, above=0)
        self.retries = checks.whole("retries", retries, least=0)
        self.backoff = checks.real("backoff", backoff, least=0)
        if not callable(transient):
            raise InputError(
                f"transient must be a function of an exception, not {transient!r}: "
                "e.g. lambda error: isinstance(error, OSError)"
            )
        self.transient = transient

    def __repr__(self) -> str:
        return f"ThreadEngine(workers={self.workers}, timeout={self.timeout})"

    def open(self, game: Game) -> ThreadSession:
        """Start the loop."""
        return ThreadSession(self, game)


class ThreadSession:
    """One game, whose calls an event loop makes."""

    def __init__(self, engine: ThreadEngine, game: Game) -> None:
        self._engine, self._game = engine, game
        self.workers = engine.workers
        self._answers: SimpleQueue[tuple[Ticket, Answer]] = SimpleQueue()
        self._count = 0
        # Only the loop's thread touches these.
        self._calls: set[asyncio.Task[None]] = set()
        self._running: set[asyncio.Task[Any] | None] = set()
        self._turns = asyncio.Semaphore(engine.workers)
        self._work: SimpleQueue[tuple[BoolArray, Future[FloatArray]] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        """Threads that wait for work"""
        self._next_start = 0.0
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def submit(self, masks: BoolArray, *, alone: bool = False) -> Ticket:
        """Hand a chunk to the loop; a copy, in case the game changes it."""
        self._count += 1
        self._loop.call_soon_threadsafe(self._begin, self._count, masks.copy())
        return self._count

    def _begin(self, ticket: Ticket, masks: BoolArray) -> None:
        task = self._loop.create_task(self._answer(ticket, masks))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _answer(self, ticket: Ticket, masks: BoolArray) -> None:
        async with self._turns:
            self._answers.put((ticket, await self._tried(masks)))

    async def _tried(self, masks: BoolArray) -> Answer:
        """The utilities of a chunk, or the error of the last attempt."""
        engine, backoff = self._engine, self._engine.backoff
        for left in range(engine.retries, -1, -1):
            await self._rate_limit()
            start = time.perf_counter()
            try:
                values = check_answer(await self._call(masks), len(masks), self._game)
                return Answer(values, time.perf_counter() - start)
            except Exception as raised:
                error = raised
            try:
                again = left > 0 and engine.transient(error)
            except Exception as raised:
                error, again = raised, False
            if not again:
                break
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, LONGEST_BACKOFF)
        return Answer(error=error)

    async def _rate_limit(self) -> None:
        """Wait for this call's turn; calls begin at even distances."""
        if interval := self._engine.interval:
            now = time.monotonic()
            self._next_start = max(now, self._next_start + interval)
            await asyncio.sleep(self._next_start - now)

    async def _call(self, masks: BoolArray) -> FloatArray:
        """One attempt, within the time limit."""
        task, timeout = asyncio.current_task(), self._engine.timeout
        self._running.add(task)
        work = self._in_the_loop if is_async(self._game) else self._in_a_thread
        try:
            return await asyncio.wait_for(work(masks), timeout)
        except TimeoutError as error:
            if timeout is None or str(error):  # the utility's own
                raise
            raise TimeoutError(f"it took longer than the timeout of {timeout:g} s") from error
        finally:
            self._running.discard(task)

    async def _in_the_loop(self, masks: BoolArray) -> FloatArray:
        try:
            return await self._game.answer(masks)  # type: ignore[attr-defined]
        except (SystemExit, KeyboardInterrupt) as error:  # they would end the loop
            raise as_exception(error) from error

    async def _in_a_thread(self, masks: BoolArray) -> FloatArray:
        outcome: Future[FloatArray] = Future()
        outcome.set_running_or_notify_cancel()  # an answer may come too late, and is dropped
        self._work.put((masks, outcome))
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._serve, daemon=True).start()
        return await asyncio.wrap_future(outcome)

    def _serve(self) -> None:
        """One call after the other; in a daemon, for one that hangs must not keep the program."""
        while (task := self._work.get()) is not None:
            masks, outcome = task
            try:
                outcome.set_result(self._game(masks))
            except BaseException as error:  # also SystemExit: a utility does not end the program
                outcome.set_exception(as_exception(error))
            self._idle.release()
        self._work.put(None)  # for the next thread

    def wait(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """All that is answered, at least one."""
        found: list[tuple[Ticket, Answer]] = []
        while not found:
            with suppress(Empty):  # a limit, so that Ctrl-C gets through everywhere
                found.append(self._answers.get(timeout=LAST_MOMENT))
        return found + self._answered()

    def _answered(self) -> list[tuple[Ticket, Answer]]:
        found = []
        with suppress(Empty):
            while True:
                found.append(self._answers.get_nowait())
        return found

    def renew(self) -> None:
        """No worker is ever lost here."""

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """What is answered within a moment; the rest is cancelled, and no call begins."""
        asyncio.run_coroutine_threadsafe(self._wind_up(LAST_MOMENT), self._loop).result()
        return self._answered()

    async def _wind_up(self, seconds: float) -> None:
        for task in self._calls - self._running:
            task.cancel()
        if self._calls and seconds:
            await asyncio.wait(self._calls, timeout=seconds)
        for task in self._calls:
            task.cancel()

    def close(self) -> None:
        """End the loop and the threads; one whose call hangs ends with it, or with the process."""
        self._work.put(None)
        asyncio.run_coroutine_threadsafe(self._wind_up(0.0), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
