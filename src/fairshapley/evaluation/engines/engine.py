"""What an engine is: it computes chunks of coalitions, several at a time.

A chunk is what an engine ships at a time; any chunk size gives the same bits. An engine is a
configuration, and perhaps a pool of workers that outlives a run; `open` gives a session, which
holds one game. The evaluator cuts the chunks, keeps a few of them in a session, and decides what
is to be done about a worker that was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import GameError
from fairshapley.games.game import Game

Ticket: TypeAlias = Any
"""Stands for a chunk that was handed in"""

# When a run stops, most chunks are done within half a second: to let them end is cheaper than to
# end their workers, and keeps what they compute.
LAST_MOMENT = 1.0


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
    """Return what a utility raised as an exception that ends no program: SystemExit would.

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


@dataclass(frozen=True, eq=False)
class Answer:
    """What became of a chunk: the utilities in order, or the error that the game raised.

    `error` is a `WorkerLostError` when not the game but the worker failed.
    """

    values: FloatArray | None = None
    seconds: float = 0.0
    """The time that the game took"""
    error: Exception | None = None


class Session(Protocol):
    """One game at work in an engine."""

    @property
    def workers(self) -> int:
        """How many chunks are computed at a time; 0 when it is one, in this process."""
        ...

    def submit(self, masks: BoolArray, *, alone: bool = False) -> Ticket:
        """Hand in a chunk; `alone` says that nothing else is handed in before it is answered.

        One of no rows lets a worker load the game, and asks it nothing.
        """
        ...

    def wait(
        self, tickets: Sequence[Ticket], seconds: float | None = None
    ) -> list[tuple[Ticket, Answer]]:
        """Wait until a chunk is answered, or so long; an EngineError when none ever will be."""
        ...

    def renew(self) -> None:
        """Replace workers that hang; called while nothing is handed in."""
        ...

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """Drop what is not yet answered, and give what is."""
        ...

    def close(self) -> None:
        """Let go of the game."""
        ...


class Engine(Protocol):
    """Who computes the utilities.

    One with ``in_flight`` wants rounds of so many coalitions at least. They are drawn then, so that
    results depend on that number; it is a setting, never a count of what there happens to be. One
    with ``retries`` has chunks whose error is ``transient`` computed again, after a pause of
    ``backoff`` seconds that doubles each time.
    """

    @property
    def chunk_size(self) -> int | None:
        """Coalitions per chunk; None follows the measured speed."""
        ...

    def open(self, game: Game) -> Session:
        """Set the game up where it is to be computed."""
        ...

    def close(self) -> None:
        """End the workers that the engine started."""
        ...


class CheckedEngine:
    """The settings that engines share, checked; used in a ``with`` statement, it is closed."""

    def __init__(
        self, *, chunk_size: int | None = None, timeout: float | None = None, in_flight: int = 1
    ) -> None:
        self.chunk_size = None if chunk_size is None else checks.whole("chunk_size", chunk_size)
        remedy = "give seconds for a chunk, or None for no limit"
        self.timeout = (
            None if timeout is None else checks.real("timeout", timeout, above=0, remedy=remedy)
        )
        self.in_flight = checks.whole("in_flight", in_flight, remedy="it counts coalitions")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing outlives a session."""


def check_answer(answer: Any, count: int, game: object = None) -> FloatArray:
    """The utilities as a float array of the right length, or a GameError.

    A game with `n_columns` answers with that many numbers for each coalition. Entries under a mask
    are NaN, and −0.0 is 0.0, whose sign a journal would not keep.

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
    columns: int | None = getattr(game, "n_columns", None)
    if values.shape != ((count,) if columns is None else (count, columns)):
        raise GameError(
            f"the game returned an array of shape {values.shape} for {count} coalitions: "
            f"return one float for each, shape ({count},)"
        )
    return values + 0.0  # a copy: the array may be the game's own
