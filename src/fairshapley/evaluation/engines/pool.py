"""The one engine for workers: chunks are calls that an executor makes and a future answers.

Threads, local processes, Dask and Ray differ in the executor, in how the game reaches a worker and
in which errors mean that a worker was lost. An engine says these; the rest is here.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from fairshapley._basics.types import ByteArray
from fairshapley.errors import EngineError, InputError
from fairshapley.evaluation.engines.engine import (
    LOOK_SECONDS,
    Answer,
    Engine,
    PackedGame,
    Session,
    Ticket,
    WorkerLostError,
)
from fairshapley.evaluation.engines.worker import LAST_SECONDS, mark_driver, run_chunk

# How long there may be no workers (some may be about to start) before that is an error.
EMPTY_SECONDS = 60.0


class PoolEngine(Engine, ABC):
    """An engine whose workers are other processes, here or on a cluster."""

    threads: int
    """Threads of BLAS and OpenMP in each worker"""
    sole: ClassVar[bool] = True
    """Whether a worker process computes one chunk at a time"""
    empty_seconds: ClassVar[float] = EMPTY_SECONDS

    @abstractmethod
    def executor(self, workers: int) -> Executor:
        """Return where chunks are handed in; `workers` of them compute at a time."""

    @abstractmethod
    def places(self) -> tuple[int, str]:
        """Return how many chunks are computed at a time, and why none can be.

        An EngineError when the cluster is gone.
        """

    @abstractmethod
    def send(self, session: PoolSession, payload: ByteArray) -> Any:
        """Bring the pickled game to the workers: what they find it by.

        `session.release`, where it is set, takes the game back.
        """

    @abstractmethod
    def lost(self, error: BaseException) -> str | None:
        """Return what happened to the worker when an error means that it was lost."""

    def dumps(self, game: PackedGame) -> bytes:
        """Return the game as bytes."""
        import cloudpickle  # type: ignore[import-untyped]

        data: bytes = cloudpickle.dumps(game)
        return data

    def restart(self) -> None:
        """Replace workers that hang: a cluster does so itself when they have ended themselves."""
        time.sleep(2 * LAST_SECONDS)

    def stop(self, tickets: Sequence[Ticket]) -> None:
        """End the workers that compute some chunks."""

    def open(self, game: PackedGame) -> PoolSession:
        """Send the game to the workers."""
        return PoolSession(self, game)


class PoolSession(Session):
    """A game in other processes.

    Parameters
    ----------
    engine
        The engine, whose methods say what is special about its workers.
    game
        The game that is computed there.
    """

    def __init__(self, engine: PoolEngine, game: PackedGame) -> None:
        mark_driver()
        self._engine = engine
        self._most = 1 << min(game.n_players, 30)
        """The coalitions that there are"""
        try:
            data = engine.dumps(game)
        except Exception as error:
            raise InputError(
                f"the game cannot be sent to other processes ({type(error).__name__}: {error}). "
                "Lambdas, closures and classes of a script can be; locks, open files, connections "
                "and generators cannot",
                remedy=(
                    "open those inside the utility when it is first called",
                    "give {engine:'serial'}",
                ),
            ) from error
        self.name = f"fairshapley-{uuid.uuid4().hex}"
        self.release: Callable[[], object] | None = None
        self._count = 0
        self._seen, self._looked = time.monotonic(), 0.0
        """When there was last a worker, and a look"""
        self._look()
        while not self._count:
            time.sleep(LOOK_SECONDS / 10)
            self._look()
        # As an array: Ray copies bytes for every task, and lends arrays.
        self._source = engine.send(self, np.frombuffer(data, dtype=np.uint8))

    @property
    def workers(self) -> int:  # type: ignore[override]
        """How many chunks are computed at a time, no more than there are coalitions."""
        if time.monotonic() > self._looked + LOOK_SECONDS:
            with suppress(EngineError):  # raised where chunks are handed in and waited for
                self._look()
        return max(1, min(self._count, self._most))

    def _look(self) -> None:
        """Count the workers; an EngineError when there have been none for long."""
        self._count, missing = self._engine.places()
        self._looked = time.monotonic()
        if self._count:
            self._seen = self._looked
        elif self._looked > self._seen + self._engine.empty_seconds:
            raise EngineError(missing)

    def submit(self, rows: ByteArray, *, alone: bool = False) -> Ticket:
        """Hand a chunk to the workers, to new ones when these have died."""
        engine = self._engine
        settings = engine.threads, engine.timeout, engine.sole
        try:
            # A chunk that may end its process does not take those of all cores with it.
            executor = engine.executor(1 if alone else self.workers)
            return executor.submit(run_chunk, self.name, self._source, rows, *settings)
        except (EngineError, MemoryError):
            raise
        except Exception as error:  # a pool that broke, or no more processes
            engine.stop([])
            broken: Future[Answer] = Future()
            broken.set_exception(error)
            return broken

    def _answer(self, ticket: Ticket) -> Answer:
        """Return what became of a chunk; raise an EngineError when no worker can compute any."""
        try:
            answer: Answer = ticket.result()
        except Exception as error:
            words = self._engine.lost(error)
            if words is None:
                raise EngineError(
                    f"a chunk could not be sent to a worker or back ({type(error).__name__}: "
                    f"{error}): fairshapley must be installed there, in the same version"
                ) from error
            self._look()
            lost = WorkerLostError(words)
            lost.__cause__ = error
            return Answer(error=lost)
        if isinstance(answer.error, EngineError):
            raise answer.error
        return answer

    def renew(self) -> None:
        """Replace workers that hang."""
        self._engine.restart()

    def _stop(self, tickets: Sequence[Ticket]) -> None:
        self._engine.stop(tickets)

    def close(self) -> None:
        """Take the game back."""
        self._source = None
        if self.release is not None:
            with suppress(Exception):
                self.release()
