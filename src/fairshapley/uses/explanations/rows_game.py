"""Rows together through an engine or a journal: all of them are one game.

A coalition of that game is a number in its first bits, which says which row and which output, and
the players of that row in the others. What computes, keeps and finds utilities is then what it is
for every game.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import ListedCoalitions
from fairshapley.errors import GameError
from fairshapley.evaluation.engines import EngineOption
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.evaluation.failures import shorten
from fairshapley.games.features.expectation import Expectation
from fairshapley.games.game import check_coalitions, members
from fairshapley.runs.setup import JournalOption, evaluating, game_facts


class RowsGame:
    """The utilities of some outputs of some rows.

    Parameters
    ----------
    expectation
        Where they come from.
    rows, outputs
        The positions of the rows, and which outputs.
    players
        How many each row has.
    """

    def __init__(
        self, expectation: Expectation, rows: IntArray, outputs: tuple[int, ...], players: int
    ) -> None:
        self.expectation, self.rows, self.outputs = expectation, rows, outputs
        self._bits = max(1, (expectation.n_explained * len(outputs) - 1).bit_length())
        self.n_players = self._bits + players

    def encoded(self, coalitions: BoolArray, rows: IntArray) -> BoolArray:
        """The coalitions of each row, for each output."""
        numbers = (rows[:, None] * len(self.outputs) + np.arange(len(self.outputs))).ravel()
        which = bits.numbered(range(1 << self._bits), self._bits)[numbers]
        return np.hstack([np.tile(which, (len(coalitions), 1)), coalitions.repeat(len(which), 0)])

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each: the outputs of a row are predicted at once."""
        masks = check_coalitions(coalitions, self.n_players)
        numbers = masks[:, : self._bits] @ (1 << np.arange(self._bits))
        known, (rows, outputs) = masks[:, self._bits :], np.divmod(numbers, len(self.outputs))
        pairs = np.hstack([rows[:, None], known])
        _, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        found = self.expectation.pairs(known[first], rows[first])[:, list(self.outputs)]
        check_finite(found[:, None], known[first], self.rows[rows[first], None])
        return found[which.ravel(), outputs]


class StoredRows:
    """Utilities that an engine computes and a journal keeps, of the outputs asked for alone."""

    def __init__(self, game: RowsGame, evaluator: Evaluator) -> None:
        self.game, self.evaluator, self.n_outputs = game, evaluator, len(game.outputs)

    def each(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The utilities of some of the explained rows, (coalitions, rows, outputs)."""
        draw = ListedCoalitions.of(self.game.encoded(coalitions, rows))
        return self.evaluator.evaluate(draw).values.reshape(len(coalitions), len(rows), -1)

    def again(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """What the model says now."""
        return self.game.expectation.each(coalitions, rows)[:, :, list(self.game.outputs)]


@contextmanager
def stored_rows(
    game: RowsGame, engine: EngineOption, journal: JournalOption
) -> Iterator[StoredRows]:
    """The utilities of rows, by an engine and from a journal."""
    facts = game_facts(game, needed=journal is not None)
    with evaluating(game, facts, engine=engine, journal=journal) as evaluator:
        yield StoredRows(game, evaluator)


def check_finite(values: FloatArray, coalitions: BoolArray, rows: IntArray) -> None:
    """A GameError that names the row and the players behind a utility that is no number.

    `values` are (coalitions, rows, outputs); `rows` are those of each coalition, or of all.
    """
    if np.isfinite(values).all():
        return
    coalition, row, _ = np.argwhere(~np.isfinite(values))[0]
    known = members(coalitions[coalition])
    raise GameError(
        "predict returned NaN or an infinite number for row "
        f"{np.broadcast_to(rows, values.shape[:2])[coalition, row]} where coalition "
        f"{shorten(known)} is known: it must be finite for every mixture of rows",
        known,
    )
