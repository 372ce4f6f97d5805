"""Engines: who computes the utilities of a chunk of coalitions.

A chunk is what an engine ships at a time; any chunk size gives the same bits.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np

from fairshapley._types import BoolArray, FloatArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.base import Game

# A chunk of masks and what a game makes of it should stay well below the memory of a laptop.
CHUNK_BYTES = 32 * 2**20
# A chunk is also what is lost when the process is killed, and how long Ctrl-C or the end of the
# time budget may wait: half a second of work.
CHUNK_SECONDS = 0.5
FIRST_CHUNK = 64
GROWTH = 4


class Engine(Protocol):
    """Computes utilities, and says how many coalitions it wants at a time."""

    def chunk_size(self, n_players: int) -> int:
        """The number of coalitions of the next chunk."""
        ...

    def compute(self, game: Game, masks: BoolArray) -> FloatArray:
        """What the game answers for a chunk, in order; the evaluator checks it."""
        ...


def check_answer(answer: Any, count: int) -> FloatArray:
    """The utilities as a float array of the right length, or a GameError.

    Entries under a mask are NaN, and −0.0 is 0.0, whose sign a journal would not keep.

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
        values = np.asarray(array).astype(np.float64)
    except (TypeError, ValueError):
        raise GameError(
            f"the game returned {type(answer).__name__} of {array.dtype}, which are not numbers: "
            f"return one float for each of the {count} coalitions"
        ) from None
    if values.shape != (count,):
        raise GameError(
            f"the game returned an array of shape {values.shape} for {count} coalitions: "
            f"return one float for each, shape ({count},)"
        )
    return values + 0.0


class SerialEngine:
    """Computes in this process.

    Parameters
    ----------
    chunk_size
        Coalitions per call of the game. By default it follows the measured speed (half a second
        per chunk) and the memory (32 MiB of masks).

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0])
    >>> fs.estimate(game, budget=10, seed=0, engine=fs.SerialEngine(chunk_size=1)).values
    array([1., 2.])
    """

    def __init__(self, chunk_size: int | None = None) -> None:
        if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
            raise InputError(f"chunk_size must be a whole number of at least 1, not {chunk_size!r}")
        self._fixed = chunk_size
        self._next = FIRST_CHUNK

    def chunk_size(self, n_players: int) -> int:
        """The fixed size, or as many as half a second and the memory allow."""
        if self._fixed is not None:
            return self._fixed
        return max(1, min(self._next, CHUNK_BYTES // n_players))

    def compute(self, game: Game, masks: BoolArray) -> FloatArray:
        """Call the game, and learn how long a coalition takes."""
        start = time.perf_counter()
        try:
            values = game(masks)
        except Exception:
            self._next = max(1, len(masks) // 2)  # perhaps it was too much at once
            raise
        elapsed = time.perf_counter() - start
        affordable = CHUNK_SECONDS * len(masks) / max(elapsed, 1e-9)
        self._next = int(max(1, min(affordable, GROWTH * self._next)))
        return values
