"""What engines share whose workers are other processes: the game's way out, replies on their way.

On a cluster, workers come and go: now and then a session looks how many there are.
"""

from __future__ import annotations

import pickle
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray
from fairshapley.errors import EngineError, InputError
from fairshapley.evaluation.engines.engine import Answer, Ticket, WorkerLostError
from fairshapley.evaluation.engines.worker import (
    LAST_SECONDS,
    Failure,
    Reply,
    Settings,
    mark_driver,
)
from fairshapley.games.game import Game

# How often to look whether the cluster is still there, and how long it may be without a worker
# (some may be about to start) before that is an error.
LOOK_SECONDS = 1.0
EMPTY_SECONDS = 60.0


class RemoteError(Exception):
    """An exception of a utility, known only by the name of its type and its message.

    Attributes
    ----------
    name
        The name of the type.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


def as_exception(error: BaseException) -> Exception:
    """What a utility raised, as an exception that ends no program: SystemExit would.

    Examples
    --------
    >>> as_exception(SystemExit("bye"))
    RemoteError('bye')
    """
    if isinstance(error, Exception):
        return error
    described = RemoteError(type(error).__name__, str(error))
    described.__cause__ = error
    return described


class RemoteSession(ABC):
    """A game in other processes.

    Parameters
    ----------
    game
        The game that is computed there.
    dumps
        How it is pickled.
    settings
        Of the workers.
    """

    def __init__(self, game: Game, dumps: Callable[[Any], bytes], settings: Settings) -> None:
        mark_driver()
        try:
            payload = dumps(game)
        except Exception as error:
            raise InputError(
                f"the game cannot be sent to other processes ({type(error).__name__}: {error}). "
                "Lambdas, closures and classes of a script can be; locks, open files, connections "
                "and generators cannot: open those inside the utility when it is first called, or "
                "use engine='serial'"
            ) from error
        # As an array: Ray copies bytes for every task, and lends arrays.
        self._payload = np.frombuffer(payload, dtype=np.uint8)
        self._n_players = game.n_players
        self._name = f"fairshapley-{uuid.uuid4().hex}"
        self._settings = settings
        self._game: Any = None
        """Where a worker finds the pickled game"""
        self._seen = time.monotonic()
        """When there was last a worker"""

    def _arguments(self, masks: BoolArray) -> tuple[Any, ...]:
        """What a worker's `run_chunk` is called with."""
        return (self._name, self._game, bits.pack(masks), self._n_players, self._settings)

    @abstractmethod
    def _reply(self, ticket: Ticket) -> Reply:
        """What a worker sent; a WorkerLostError when it died."""

    def _answer(self, ticket: Ticket) -> Answer:
        """A reply as the evaluator takes it; an EngineError when the game could not be loaded."""
        try:
            reply = self._reply(ticket)
        except WorkerLostError as error:
            return Answer(error=error)
        except Exception as error:
            raise EngineError(
                f"a chunk could not be sent to a worker or back ({type(error).__name__}: {error}): "
                "fairshapley must be installed there, in the same version"
            ) from error
        failure = reply.failure
        if failure is None:
            return Answer(reply.values, reply.seconds)
        if failure.kind == "load":
            raise EngineError(
                f"the game could not be loaded in a worker ({failure.name}: {failure.text}). Its "
                "modules must be installed there, in the same versions; a module of your own can "
                "be sent along with cloudpickle.register_pickle_by_value(module)"
            )
        if failure.kind == "game":
            return Answer(error=_exception(failure))
        words = f"it took longer than the timeout of {self._settings.timeout:g} s"
        lost = WorkerLostError(words, timed_out=True)
        if failure.trace:
            lost.add_note(f"where it was then, in the worker:\n{failure.trace}")
        return Answer(error=lost)


class ClusterSession(RemoteSession):
    """A game on a cluster, whose workers are counted."""

    empty_seconds: ClassVar[float] = EMPTY_SECONDS
    _workers = 0
    _looked = -LOOK_SECONDS

    @property
    def workers(self) -> int:
        """How many chunks the cluster computes at a time; it may grow and shrink."""
        if time.monotonic() > self._looked + LOOK_SECONDS:
            with suppress(EngineError):  # raised where chunks are handed in and waited for
                self._look()
        return max(1, self._workers)

    @abstractmethod
    def _count(self) -> tuple[int, str]:
        """How many workers there are, and what is missing while there are none.

        An EngineError when the cluster is gone.
        """

    def _look(self) -> None:
        """Count the workers; an EngineError when there have been none for long."""
        self._workers, missing = self._count()
        self._looked = time.monotonic()
        if self._workers:
            self._seen = self._looked
        elif self._looked > self._seen + self.empty_seconds:
            raise EngineError(missing)

    @abstractmethod
    def _done(self, tickets: Sequence[Ticket], seconds: float) -> list[Ticket]:
        """What is answered by now, or within the time when nothing is."""

    def wait(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """Wait for at least one chunk, with a look at the cluster now and then."""
        while not (done := self._done(tickets, LOOK_SECONDS)):
            self._look()
        return [(ticket, self._answer(ticket)) for ticket in done]

    def renew(self) -> None:
        """Wait until a worker that hangs has ended itself; the cluster starts another."""
        time.sleep(2 * LAST_SECONDS)


def _exception(failure: Failure) -> Exception:
    """The utility's exception, with the traceback of the worker as a note."""
    error: Exception = RemoteError(failure.name, failure.text)
    if failure.pickled is not None:
        with suppress(Exception):
            again = pickle.loads(failure.pickled)  # noqa: S301 (it comes from our own worker)
            error = again if isinstance(again, Exception) else error
    error.add_note(f"in the worker:\n{failure.trace}")
    return error
