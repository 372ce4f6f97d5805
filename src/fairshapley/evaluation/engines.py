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
        """The utilities of a chunk, in order."""
        ...


def call_game(game: Game, masks: BoolArray) -> FloatArray:
    """The game's utilities as a float array of the right length, or a GameError."""
    answer: Any = game(masks)
    try:
        values = np.asarray(answer)
        if np.iscomplexobj(values):
            raise GameError("the game returned complex numbers: utilities must be real")
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise GameError(
            f"the game returned {type(answer).__name__}, which is not an array of numbers: "
            f"return one float for each of the {len(masks)} coalitions"
        ) from None
    if values.shape != (len(masks),):
        raise GameError(
            f"the game returned an array of shape {values.shape} for {len(masks)} coalitions: "
            f"return one float for each, shape ({len(masks)},)"
        )
    # −0.0 becomes 0.0: a journal does not keep the sign of zero.
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
        if chunk_size is not None and chunk_size < 1:
            raise InputError(f"chunk_size must be at least 1, it is {chunk_size}")
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
        values = call_game(game, masks)
        elapsed = time.perf_counter() - start
        affordable = CHUNK_SECONDS * len(masks) / max(elapsed, 1e-9)
        self._next = int(max(1, min(affordable, GROWTH * self._next)))
        return values
