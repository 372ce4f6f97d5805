"""Chunks on their way through an engine: several at a time, and what is done when one is lost.

A worker that dies takes its chunk with it, in a pool of processes those of its neighbours too.
Such a chunk is tried again, once beside others, then alone; one that is lost alone is halved until
the coalition is found that ends its worker. A chunk whose error is transient is tried again after a
pause. So every chunk ends as utilities or as an error, and what is computed twice is paid twice.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import EngineError, GameError
from fairshapley.evaluation.engines import Engine
from fairshapley.evaluation.engines.engine import Answer, Session, Ticket, WorkerLostError
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.pace import Pace

# A worker may die for reasons of its own (a spot instance, the memory taken by others). So a chunk
# may be lost once beside others, and a coalition twice alone, before it is to blame.
LOSSES_IN_COMPANY = 1
LOSSES_ALONE = 2
# Pauses before retries double up to this.
LONGEST_BACKOFF = 30.0
# While nothing but pauses is waited for, the deadline and Ctrl-C are looked at so often.
NAP = 0.5


class Chunk:
    """Some distinct coalitions, and what became of them.

    It is done when it has values or an error; one that was halved is replaced by its halves.
    """

    def __init__(self, rows: IntArray, masks: BoolArray, keys: list[bytes]) -> None:
        self.rows, self.masks, self.keys = rows, masks, keys
        self.values: FloatArray | None = None
        self.unusable: IntArray = np.empty(0, dtype=np.int64)
        """The places whose value is no number that can be squared"""
        self.replicates: dict[bytes, bytes] = {}
        """Where the game has them: what the utilities change by without each group of test rows, in
        single precision, for they become an error"""
        self.error: Exception | None = None
        self.halves: tuple[Chunk, Chunk] | None = None
        self.losses = self.retries = 0
        self.alone = self.sent = self.known = False

    def __len__(self) -> int:
        return len(self.masks)

    @property
    def done(self) -> bool:
        """Whether there is an outcome."""
        return self.values is not None or self.error is not None

    def take(self, answer: FloatArray) -> None:
        """The utilities; of several columns the first."""
        self.values = answer
        if answer.ndim == 2:
            self.values = np.ascontiguousarray(answer[:, 0])
            changes = (answer[:, 1:] - answer[:, :1]).astype("<f4")
            self.replicates = {
                key: row.tobytes() for key, row in zip(self.keys, changes, strict=True)
            }

    def halve(self) -> tuple[Chunk, Chunk]:
        """Replace the chunk by two."""
        middle = len(self) // 2
        first, second = (
            Chunk(self.rows[part], self.masks[part], self.keys[part])
            for part in (slice(middle), slice(middle, None))
        )
        for half in (first, second):
            half.sent, half.alone = True, self.alone
        self.halves = (first, second)
        return self.halves


class Dispatcher:
    """Keeps a session busy.

    Parameters
    ----------
    session
        Where chunks are computed.
    pace
        Says how many chunks to hand in, and learns how long they take.
    guard
        Lets Ctrl-C through while chunks are waited for.
    engine
        The engine of the session, which says what is tried again.
    on_values
        Called with each chunk as soon as it has values, in any order.
    on_repeat
        Called with each chunk before it is computed once more.
    """

    def __init__(
        self,
        session: Session,
        pace: Pace,
        guard: InterruptGuard,
        engine: Engine,
        on_values: Callable[[Chunk], None],
        on_repeat: Callable[[Chunk], None],
    ) -> None:
        self._session = session
        self._pace = pace
        self._guard = guard
        self._on_values, self._on_repeat = on_values, on_repeat
        self._retries: int = getattr(engine, "retries", 0)
        self._backoff: float = getattr(engine, "backoff", 0.0)
        self._transient: Callable[[Exception], bool] = getattr(engine, "transient", bool)
        self._paused: list[tuple[float, Chunk]] = []
        """Chunks to try again, each with the time when that is due"""
        self._queue: deque[Chunk] = deque()
        self._suspects: deque[Chunk] = deque()
        self._flying: dict[Ticket, Chunk] = {}
        self._tainted = False
        self.losses = 0
        """How many times a chunk was lost with its worker"""
        self.halved = 0
        """How many chunks failed as a whole, and were computed in halves"""

    @property
    def hungry(self) -> bool:
        """Whether the engine could take more than there is."""
        return len(self) < self._pace.capacity(self._session.workers)

    def __len__(self) -> int:
        waiting = len(self._queue) + len(self._suspects) + len(self._paused)
        return waiting + len(self._flying)

    def drop_waiting(self) -> bool:
        """Forget the chunks that no worker has; whether any are left to wait for."""
        self._queue.clear()
        self._suspects.clear()
        self._paused.clear()
        return bool(self._flying)

    @property
    def waiting(self) -> bool:
        """Whether there are chunks that no worker has."""
        return bool(self._queue or self._suspects or self._paused)

    def push(self, chunks: list[Chunk]) -> None:
        """Add chunks behind those that wait."""
        self._queue.extend(chunks)

    def step(self) -> None:
        """Hand in what the engine can take, and wait for an answer."""
        self._fill()
        pause = None
        if self._paused:
            due = min(due for due, _ in self._paused)
            pause = min(NAP, max(0.0, due - time.monotonic()))
        if not self._flying:
            with self._guard.interruptible():
                time.sleep(pause or 0.0)
            return
        with self._guard.interruptible():
            answers = self._session.wait(list(self._flying), pause)
        for ticket, answer in answers:
            self._land(self._flying.pop(ticket), answer)

    def compute(self, chunks: list[Chunk]) -> list[Chunk]:
        """Chunks of one coalition each, when all are done."""
        self.push(chunks)
        try:
            while not all(chunk.done for chunk in chunks):
                self.step()
        except BaseException:
            self.abandon()
            raise
        return chunks

    def _fill(self) -> None:
        now = time.monotonic()
        self._queue.extendleft(chunk for due, chunk in self._paused if due <= now)
        self._paused = [(due, chunk) for due, chunk in self._paused if due > now]
        if self._suspects:
            if self._flying:
                return  # a suspect is tried alone
            if self._tainted:
                self._session.renew()
                self._tainted = False
            self._submit(self._suspects.popleft())
            return
        capacity = self._pace.capacity(self._session.workers)
        while self._queue and len(self._flying) < capacity:
            self._submit(self._queue.popleft())

    def _submit(self, chunk: Chunk) -> None:
        if chunk.sent:
            self._on_repeat(chunk)
        chunk.sent = True
        self._flying[self._session.submit(chunk.masks, alone=chunk.alone)] = chunk

    def _land(self, chunk: Chunk, answer: Answer) -> None:
        error = answer.error
        if error is None and answer.values is not None:
            chunk.take(answer.values)
            self._pace.observe(len(chunk), answer.seconds)
            if not chunk.known:
                self._on_values(chunk)
        elif isinstance(error, WorkerLostError):
            self._lost(chunk, error)
        elif error is not None and (error := self._unless_transient(chunk, error)) is None:
            return
        elif len(chunk) == 1 or (isinstance(error, GameError) and error.coalition is None):
            # A wrong shape or a complex answer is not the fault of one coalition.
            chunk.error = error
        else:
            self._halve(chunk, self._queue)

    def _halve(self, chunk: Chunk, queue: deque[Chunk]) -> None:
        self.halved += 1
        self._pace.failed(len(chunk))
        queue.extendleft(reversed(chunk.halve()))

    def _unless_transient(self, chunk: Chunk, error: Exception) -> Exception | None:
        """Pause the chunk when it is to be tried again; else the error to report."""
        try:
            if chunk.retries >= self._retries or not self._transient(error):
                return error
        except Exception as raised:
            return raised
        pause = min(LONGEST_BACKOFF, self._backoff * 2**chunk.retries)
        chunk.retries += 1
        self._paused.append((time.monotonic() + pause, chunk))
        return None

    def _lost(self, chunk: Chunk, error: WorkerLostError) -> None:
        self.losses += 1
        self._tainted = True
        chunk.losses += 1
        if not chunk.alone:
            if error.timed_out or chunk.losses > LOSSES_IN_COMPANY:
                chunk.alone, chunk.losses = True, 0
                self._suspects.append(chunk)
            else:
                self._queue.appendleft(chunk)
        elif len(chunk) > 1:
            self._halve(chunk, self._suspects)
        elif error.timed_out or chunk.losses >= LOSSES_ALONE:
            self._require_a_worker(chunk, error)
            chunk.error = error
        else:
            self._suspects.appendleft(chunk)

    def _require_a_worker(self, chunk: Chunk, error: WorkerLostError) -> None:
        """Before a coalition is blamed: a worker must be able to load the game at all."""
        self._session.renew()
        self._tainted = False
        probe = self._session.submit(chunk.masks[:0], alone=True)
        with self._guard.interruptible():
            answers = self._session.wait([probe])
        if isinstance(answers[0][1].error, WorkerLostError):
            raise EngineError(
                f"the workers die as soon as they load the game ({answers[0][1].error}): it may "
                "need more memory than they have"
            ) from error

    def abandon(self) -> list[Chunk]:
        """Drop all chunks; those that were answered in the meantime are given back."""
        flying, self._flying = self._flying, {}
        self.drop_waiting()
        answered = []
        with suppress(EngineError):  # something else is being reported already
            for ticket, answer in self._session.abort(list(flying)) if flying else []:
                if answer.values is not None:
                    flying[ticket].take(answer.values)
                    answered.append(flying[ticket])
        return answered
