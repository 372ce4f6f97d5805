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
from fairshapley.evaluation.engines import Engine
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.games.features.expectation import Expectation
from fairshapley.games.game import check_coalitions
from fairshapley.runs.setup import JournalOption, evaluating, game_facts


class RowsGame:
    """The utilities of some outputs of some rows.

    Parameters
    ----------
    expectation
        Where they come from.
    outputs
        Which outputs.
    players
        The players of each row.
    """

    def __init__(self, expectation: Expectation, outputs: tuple[int, ...], players: int) -> None:
        self.expectation, self.outputs, self.players = expectation, outputs, players
        self._bits = max(1, (expectation.n_explained * len(outputs) - 1).bit_length())
        self.n_players = self._bits + players

    def encoded(self, coalitions: BoolArray, rows: IntArray) -> BoolArray:
        """The coalitions of each row, for each output."""
        numbers = (rows[:, None] * len(self.outputs) + np.arange(len(self.outputs))).ravel()
        which = bits.numbered(range(1 << self._bits), self._bits)[numbers]
        return np.hstack([np.tile(which, (len(coalitions), 1)), coalitions.repeat(len(which), 0)])

    def decoded(self, masks: BoolArray) -> tuple[BoolArray, IntArray, IntArray]:
        """Coalitions of the players, with their rows and the places of their outputs."""
        numbers = masks[:, : self._bits] @ (1 << np.arange(self._bits))
        return masks[:, self._bits :], *np.divmod(numbers, len(self.outputs))

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each: the outputs of a row are predicted at once."""
        masks = check_coalitions(coalitions, self.n_players)
        known, rows, outputs = self.decoded(masks)
        pairs = np.hstack([rows[:, None], known])
        _, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        found = self.expectation.pairs(known[first], rows[first])[:, list(self.outputs)]
        values: FloatArray = found[which.ravel(), outputs]
        return values


class StoredRows:
    """Utilities that an engine computes and a journal keeps, of the outputs asked for alone."""

    def __init__(self, game: RowsGame, evaluator: Evaluator, rows: IntArray) -> None:
        self.game, self._evaluator, self._rows = game, evaluator, rows
        self.n_outputs = len(game.outputs)

    @property
    def computed(self) -> int:
        """Utilities that were computed, not found."""
        return self._evaluator.tally.computed

    def each(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The utilities of some of the explained rows, (coalitions, rows, outputs)."""
        masks = self.game.encoded(coalitions, rows)
        try:
            values = self._evaluator.evaluate(ListedCoalitions.of(masks)).values
        except GameError as error:
            if error.coalition is not None:
                mask = np.isin(np.arange(self.game.n_players), error.coalition)
                known, row, _ = self.game.decoded(mask[None])
                players = np.flatnonzero(known[0]).tolist()
                error.add_note(
                    f"Behind it is row {self._rows[row[0]]} with the players {players} known."
                )
            raise
        return values.reshape(len(coalitions), len(rows), -1)

    def again(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """What the model says now."""
        return self.game.expectation.each(coalitions, rows)[:, :, list(self.game.outputs)]


@contextmanager
def stored_rows(
    game: RowsGame, rows: IntArray, engine: Engine, journal: JournalOption
) -> Iterator[StoredRows]:
    """The utilities of rows, by an engine and from a journal."""
    facts = game_facts(game, needed=journal is not None)
    with evaluating(game, facts, engine=engine, journal=journal) as evaluator:
        yield StoredRows(game, evaluator, rows)
