"""The serial engine: this process, one chunk after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fairshapley._basics.types import BoolArray
from fairshapley.evaluation.engines.engine import (
    Answer,
    CheckedEngine,
    Ticket,
    as_exception,
    check_answer,
)
from fairshapley.games.game import Game


class SerialEngine(CheckedEngine):
    """Computes in this process.

    Parameters
    ----------
    chunk_size
        Coalitions per call of the game. By default it follows the measured speed (half a second
        per chunk) and the memory (32 MiB of masks).
    in_flight
        The least that a round holds: 32 gives the bits of "threads:32".

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0])
    >>> fs.estimate(game, budget=10, seed=0, engine=fs.SerialEngine(chunk_size=1)).values
    array([1., 2.])
    """

    def __init__(self, chunk_size: int | None = None, *, in_flight: int = 1) -> None:
        super().__init__(chunk_size=chunk_size, in_flight=in_flight)

    def __repr__(self) -> str:
        return f"SerialEngine(chunk_size={self.chunk_size})"

    def open(self, game: Game) -> SerialSession:
        """The game as it is."""
        return SerialSession(game)


class SerialSession:
    """Computes a chunk when it is waited for."""

    workers = 0

    def __init__(self, game: Game) -> None:
        self._game = game
        self._chunks: dict[Ticket, BoolArray] = {}
        self._count = 0

    def submit(self, masks: BoolArray, *, alone: bool = False) -> Ticket:
        """Keep the chunk until it is waited for; a copy, in case the game changes it."""
        self._count += 1
        self._chunks[self._count] = masks.copy()
        return self._count

    def wait(
        self, tickets: Sequence[Ticket], seconds: float | None = None
    ) -> list[tuple[Ticket, Answer]]:
        """Compute the first of the chunks."""
        masks = self._chunks.pop(tickets[0])
        start = time.perf_counter()
        try:
            values = check_answer(self._game(masks), len(masks), self._game)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit: a utility does not end the program
            return [(tickets[0], Answer(error=as_exception(error)))]
        return [(tickets[0], Answer(values, time.perf_counter() - start))]

    def renew(self) -> None:
        """Nothing can be lost here."""

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """Nothing is answered before it is waited for.

        That also drops what a utility returned that swallowed an interrupt: no utility.
        """
        self._chunks.clear()
        return []

    def close(self) -> None:
        """Nothing is held."""
