"""Chunks on their way through an engine: several at a time, and what is done when one is lost.

A worker that dies takes its chunk with it, in a pool of processes its neighbours' chunks too.
Such a chunk is tried again alone; one that is lost alone is halved until the coalition is found
that ends its worker. A chunk whose error is transient is tried again after a
pause. So every chunk ends as utilities or as an error, and what is computed twice is paid twice.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import FloatArray
from fairshapley.errors import EngineError, GameError
from fairshapley.evaluation.engines import Engine
from fairshapley.evaluation.engines.engine import Answer, Session, Ticket, WorkerLostError
from fairshapley.evaluation.interrupts import InterruptGuard

# A worker may die for reasons of its own (a spot instance, the memory taken by others). So a
# coalition may be lost alone three times before it is to blame.
LOSSES_ALONE = 3
# Pauses before retries double up to this.
LONGEST_BACKOFF = 30.0
# While nothing but pauses is waited for, the deadline and Ctrl-C are looked at so often; and
# while anything is, an event that cancels.
NAP = 0.5

# A chunk of masks and what a game makes of it should stay well below the memory of a laptop.
CHUNK_BYTES = 32 * 2**20
# A chunk is also what is lost when the process is killed, and how long Ctrl-C or the end of the
# time budget may wait: half a second of work.
CHUNK_SECONDS = 0.5
# The way to a worker and back takes 1 to 2 ms: a chunk of 20 ms still spends most on its game.
WORTHWHILE_SECONDS = 0.02
FIRST_CHUNK = 64
GROWTH = 4


_log = logging.getLogger("fairshapley")
_log.addHandler(logging.NullHandler())


class OutOfTimeError(Exception):
    """The deadline passed between two chunks; what was computed is kept."""


class Pace:
    """How many coalitions make a chunk: enough to be worth sending, few enough to lose.

    Parameters
    ----------
    fixed
        Coalitions per chunk, whatever the speed; None follows the measured speed.
    n_players
        The number of players, which says how much memory a coalition takes.
    least
        Coalitions that take no longer together than one alone: no chunk is made smaller.
    first
        Coalitions in the first chunk, of which nothing is known yet.

    Examples
    --------
    >>> pace = Pace(None, 100)
    >>> pace.size()
    64
    >>> pace.observe(64, 32.0)
    >>> pace.size()
    1
    """

    def __init__(
        self, fixed: int | None, n_players: int, least: int = 1, first: int = FIRST_CHUNK
    ) -> None:
        self._fixed = fixed
        self._least, self._next = least, max(least, first)
        self._most = max(1, CHUNK_BYTES // n_players)
        self._failed = False
        self._seconds = 0.0
        """The time that a coalition takes"""

    def capacity(self, workers: int, ahead: int) -> int:
        """Return how many chunks may be handed in; 1 in this process."""
        if self._seconds > CHUNK_SECONDS:
            ahead = 1  # a second one would only wait long
        return max(1, ahead * workers)

    def size(self, missing: int | None = None, workers: int = 0) -> int:
        """Return the size of the next chunk.

        With workers every one of them gets some of the coalitions that are missing in the round,
        unless the way there would take longer than the work.
        """
        if self._fixed is not None:
            return self._fixed
        most = max(1, min(self._next, self._most))
        if missing is None or not workers:
            return most
        even = -(-missing // (2 * workers))
        worthwhile = int(WORTHWHILE_SECONDS / self._seconds) if self._seconds > 0 else 1
        return max(1, min(most, max(even, min(worthwhile, FIRST_CHUNK * GROWTH))))

    def observe(self, count: int, seconds: float) -> None:
        """Learn how long a chunk took."""
        self._seconds = seconds / count
        affordable = CHUNK_SECONDS * count / max(seconds, 1e-9)
        grown = self._next + self._next // 8 + 1 if self._failed else GROWTH * self._next
        self._next = int(max(1 if self._failed else self._least, min(affordable, grown)))

    def failed(self, count: int) -> None:
        """Grow slowly from now on: a chunk failed as a whole, perhaps because it was too large."""
        self._next, self._failed = max(1, count // 2), True


@dataclass(eq=False)
class Tally:
    """What evaluation has cost so far."""

    evaluations: int = 0
    """Distinct coalitions whose utility this run needed, computed now or found in the journal; one
    that the bounded cache forgot counts again when it is needed again"""
    computed: int = 0
    """Utilities computed for this run, failed attempts included"""
    cache_hits: int = 0
    """Requests answered from memory"""
    largest: float = 0.0
    """The size of the largest utility"""
    skipped: int = 0
    """Evaluations that failed and were skipped on request"""
    first_failure: str = ""
    """The first of them, with the reason"""
    halved: int = 0
    """Batches that failed as a whole and were computed in smaller parts"""
    cost: float = 0.0
    """What the evaluations cost, where the game has prices"""
    retried: int = 0
    """Evaluations that failed with a transient error and were computed again"""
    lost: int = 0
    """Chunks that were lost with their worker and computed again"""

    @property
    def requests(self) -> int:
        """Coalitions asked for, known ones too: what a run without memory would have computed."""
        return self.evaluations + self.cache_hits


@dataclass(eq=False)
class Chunk:
    """Some distinct coalitions, and what became of them.

    It is done when it has values or an error; one that was halved is replaced by its halves.
    """

    keys: Sequence[bytes]
    again: bool = False
    """Whether they were computed before: they are paid, and not journalled"""
    sent: bool = False
    alone: bool = False
    values: FloatArray | None = None
    unusable: dict[int, str] = field(default_factory=dict)
    """The places whose value cannot be taken, with the reason"""
    replicates: dict[bytes, bytes] = field(default_factory=dict)
    """Where the game has them: what the utilities change by without each group of test rows, in
    single precision, for they become an error"""
    error: Exception | None = None
    halves: tuple[Chunk, ...] = ()
    losses: int = 0
    retries: int = 0
    due: float = 0.0
    """When it may be tried again"""

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, answer: FloatArray) -> None:
        """Keep the utilities; of several columns the first."""
        self.values = answer
        if answer.ndim == 2:
            self.values = np.ascontiguousarray(answer[:, 0])
            changes = (answer[:, 1:] - answer[:, :1]).astype("<f4")
            rows = (row.tobytes() for row in changes)
            self.replicates = dict(zip(self.keys, rows, strict=True))

    def parts(self) -> Iterator[Chunk]:
        """Yield what the chunk was replaced by, or the chunk itself."""
        if not self.halves:
            yield self
        for half in self.halves:
            yield from half.parts()

    def cut(self, *places: int) -> tuple[Chunk, ...]:
        """Replace the chunk by parts, cut at these places."""
        cuts = zip((0, *places), (*places, len(self)), strict=True)
        parts = [self.keys[start:stop] for start, stop in cuts if start < stop]
        self.halves = tuple(Chunk(part, self.again, True, self.alone) for part in parts)
        return self.halves


@dataclass(eq=False, repr=False)
class Dispatcher:
    """Cuts the coalitions of a round into chunks, and keeps a session busy with them."""

    session: Session
    """Where chunks are computed"""
    engine: Engine
    """The engine of the session, which says what is tried again"""
    pace: Pace
    """Says how many chunks to hand in, and learns how long they take"""
    guard: InterruptGuard
    """Lets Ctrl-C through while chunks are waited for"""
    tally: Tally
    """Counts what happens to chunks"""
    on_values: Callable[[Chunk], None]
    """Called with each chunk that is computed, in the order of the answers"""
    on_call: Callable[[Chunk], None]
    """Called before a chunk is handed in"""

    def __post_init__(self) -> None:
        self._keys: Sequence[bytes] = ()
        self._at, self._again = 0, False
        self._begun: deque[Chunk] = deque()
        """The chunks of the round that nobody has taken yet, in its order"""
        self._waiting: list[Chunk] = []
        """Chunks to hand in again, or in parts"""
        self._flying: dict[Ticket, Chunk] = {}
        self._tainted = False
        """Whether a worker was lost since they were last replaced"""

    @property
    def unsent(self) -> Sequence[bytes]:
        """The coalitions that no worker ever had; none where all were computed before."""
        begun = [part for chunk in self._begun for part in chunk.parts() if not part.sent]
        keys = [key for part in begun for key in part.keys]
        return () if self._again else [*keys, *self._keys[self._at :]]

    def compute(
        self, keys: Sequence[bytes], deadline: float = math.inf, *, again: bool = False
    ) -> Iterator[Chunk]:
        """Compute coalitions; yield their chunks in order, each as soon as all before it are done.

        With `again` they were computed before: they are paid, and not journalled.
        """
        self._keys, self._again, self._at = keys, again, 0
        while self._at < len(keys) or self._begun:
            self.guard.check()
            if (self._at < len(keys) or self._waiting) and time.monotonic() > deadline:
                raise OutOfTimeError
            self._step()
            while self._begun:
                chunk = self._begun[0]
                if not chunk.halves and chunk.values is None and chunk.error is None:
                    break
                self._begun.popleft()
                self._begun.extendleft(reversed(chunk.halves))
                if not chunk.halves:
                    yield chunk

    def _step(self) -> None:
        """Hand in what the engine can take, and wait for an answer."""
        now = time.monotonic()
        self._fill(now)
        pauses = [chunk.due - now for chunk in self._waiting if chunk.due > now]
        pause = min([*pauses, NAP]) if pauses or self.guard.cancel is not None else None
        with self.guard.interruptible():
            if self._flying:
                answers = self.session.wait(list(self._flying), pause)
            else:
                answers = []
                time.sleep(pause or 0.0)
        for ticket, answer in answers:
            self._land(self._flying.pop(ticket), answer)

    def _fill(self, now: float) -> None:
        """Hand in what was tried before, then more of the round; suspects are tried alone."""
        ready = [chunk for chunk in self._waiting if chunk.due <= now]
        suspect = next((chunk for chunk in ready if chunk.alone), None)
        if suspect is not None:
            if not self._flying:
                self._replace_lost()
                self._submit(suspect)
            return
        workers = self.session.workers
        while len(self._flying) < self.pace.capacity(workers, self.session.ahead):
            if ready:
                self._submit(ready.pop(0))
            elif missing := len(self._keys) - self._at:
                size = self.pace.size(missing, workers)
                chunk = Chunk(self._keys[self._at : self._at + size], self._again, self._again)
                self._begun.append(chunk)
                self._at += len(chunk)
                self._submit(chunk)
            else:
                return

    def _replace_lost(self) -> None:
        if self._tainted:
            self.session.renew()
            self._tainted = False

    def _submit(self, chunk: Chunk) -> None:
        self.on_call(chunk)
        if chunk in self._waiting:
            self._waiting.remove(chunk)
        chunk.sent = True
        rows = bits.joined(chunk.keys, len(chunk.keys[0]))
        self._flying[self.session.submit(rows, alone=chunk.alone)] = chunk

    def _land(self, chunk: Chunk, answer: Answer) -> None:
        error = answer.error
        if error is None and answer.values is not None:
            chunk.take(answer.values)
            self.pace.observe(len(chunk), answer.seconds)
            if not chunk.again:
                self.on_values(chunk)
        elif isinstance(error, WorkerLostError):
            self._lost(chunk, error)
        elif answer.values is not None and len(chunk) > 1:
            self._keep_answered(chunk, answer)
        elif error is not None and (error := self._unless_transient(chunk, error)) is None:
            return
        elif len(chunk) == 1 or (isinstance(error, GameError) and error.coalition is None):
            # A wrong shape or a complex answer is not the fault of one coalition.
            chunk.error = error
        else:
            self._halve(chunk)

    def _keep_answered(self, chunk: Chunk, answer: Answer) -> None:
        """Keep the calls before the one that failed: they are paid, and are not made again."""
        assert answer.values is not None  # noqa: S101 - asked before
        count = len(answer.values)
        *answered, failed = chunk.cut(count, count + 1)[: 1 + bool(count)]
        for part in answered:
            part.take(answer.values)
            if not chunk.again:
                self.on_values(part)
        for part in chunk.halves[1 + bool(count) :]:  # never called: it is paid already
            part.sent = False
            self._waiting.insert(0, part)
        self._land(failed, Answer(error=answer.error))

    def _halve(self, chunk: Chunk) -> None:
        self.tally.halved += 1
        self.pace.failed(len(chunk))
        self._waiting[:0] = chunk.cut(len(chunk) // 2)

    def _unless_transient(self, chunk: Chunk, error: Exception) -> Exception | None:
        """Pause the chunk when it is to be tried again; else return the error to report."""
        try:
            if chunk.retries >= self.engine.retries or not self.engine.transient(error):
                return error
        except Exception as raised:
            return raised
        pause = min(LONGEST_BACKOFF, self.engine.backoff * 2**chunk.retries)
        chunk.retries += 1
        _log.warning(
            "a call failed, and is made again in %.1f s: %s: %s", pause, type(error).__name__, error
        )
        chunk.due = time.monotonic() + pause
        self._waiting.append(chunk)
        return None

    def _lost(self, chunk: Chunk, error: WorkerLostError) -> None:
        self.tally.lost += 1
        self._tainted = True
        chunk.losses += chunk.alone
        if chunk.alone and len(chunk) > 1:
            self._halve(chunk)
        elif chunk.alone and (error.timed_out or chunk.losses >= LOSSES_ALONE):
            self._require_a_worker(chunk, error)
            chunk.error = error
        else:
            # One that was alone already comes first again, others after those lost with them.
            self._waiting.insert(0 if chunk.alone else len(self._waiting), chunk)
            chunk.alone = True

    def _require_a_worker(self, chunk: Chunk, error: WorkerLostError) -> None:
        """Check that a worker can load the game at all, before a coalition is blamed."""
        self._replace_lost()
        probe = self.session.submit(bits.joined([], len(chunk.keys[0])), alone=True)
        with self.guard.interruptible():
            answers = self.session.wait([probe])
        if isinstance(answers[0][1].error, WorkerLostError):
            raise EngineError(
                f"the workers die as soon as they load the game ({answers[0][1].error}): it may "
                "need more memory than they have"
            ) from error

    def finish(self) -> None:
        """Hand in nothing more, and wait for what workers have begun: it is paid for."""
        while self._drop_waiting():
            self._step()

    def abandon(self) -> list[Chunk]:
        """Drop all chunks; return those that were answered in the meantime."""
        flying, self._flying = self._flying, {}
        self._drop_waiting()
        answered = []
        with suppress(EngineError):  # something else is being reported already
            for ticket, answer in self.session.abort(list(flying)) if flying else []:
                if answer.values is not None and len(answer.values) and not flying[ticket].again:
                    chunk = flying[ticket].cut(len(answer.values))[0]
                    chunk.take(answer.values)
                    answered.append(chunk)
        return answered

    def _drop_waiting(self) -> bool:
        """Forget the coalitions that no worker has; whether any are left to wait for."""
        self._keys, self._at = (), 0
        self._waiting.clear()
        self._begun.clear()
        return bool(self._flying)
