"""The driver's end of the wire: games on their way out, replies on their way back."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable
from typing import Any

from fairshapley.errors import EngineError, InputError
from fairshapley.evaluation.engines.engine import Answer, WorkerLostError
from fairshapley.evaluation.engines.worker import Failure, Reply
from fairshapley.games.game import Game


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


def pickle_game(game: Game, dumps: Callable[[Any], bytes]) -> bytes:
    """The game as bytes, or an InputError that says what can be done."""
    try:
        return dumps(game)
    except Exception as error:
        raise InputError(
            f"the game cannot be sent to other processes ({type(error).__name__}: {error}). "
            "Lambdas, closures and classes of a script can be; locks, open files, connections and "
            "generators cannot: open those inside the utility when it is first called, or use "
            "engine='serial'"
        ) from error


def unique_name() -> str:
    """A name for the game of a session, which no other session has."""
    return f"fairshapley-{uuid.uuid4().hex}"


def to_answer(reply: Reply, timeout: float | None) -> Answer:
    """A reply as the session's answer; an EngineError when the game could not be loaded."""
    failure = reply.failure
    if failure is None:
        return Answer(reply.values, reply.seconds)
    if failure.kind == "load":
        raise EngineError(
            f"the game could not be loaded in a worker ({failure.name}: {failure.text}). Its "
            "modules must be installed there, in the same versions; a module of your own can be "
            "sent along with cloudpickle.register_pickle_by_value(module)"
        )
    if failure.kind == "timeout":
        lost = WorkerLostError(f"it took longer than the timeout of {timeout:g} s", timed_out=True)
        if failure.trace:
            lost.add_note(f"where it was then, in the worker:\n{failure.trace}")
        return Answer(error=lost)
    return Answer(error=_exception(failure))


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


def _exception(failure: Failure) -> Exception:
    """The utility's exception, with the traceback of the worker as a note."""
    error: Exception = RemoteError(failure.name, failure.text)
    if failure.pickled is not None:
        try:
            again = pickle.loads(failure.pickled)  # noqa: S301 (it comes from our own worker)
        except Exception:
            again = None
        if isinstance(again, Exception):
            error = again
    error.add_note(f"in the worker:\n{failure.trace}")
    return error
