"""The marginal (interventional) expectation: absent features come from background rows.

v(S) = mean over the explained rows x and the background rows z of predict(x_S, z_rest).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairshapley._basics.types import BoolArray, IntArray
from fairshapley.errors import GameError
from fairshapley.games.features.expectation import MixedExpectation
from fairshapley.games.features.players import Players
from fairshapley.games.features.predictor import Predictor
from fairshapley.games.features.tables import Table


class MarginalExpectation(MixedExpectation):
    """Absent features as they are in background rows.

    Parameters
    ----------
    predictor
        The prediction function.
    explained, background
        The rows to explain, and those that stand in for absent features.
    players
        Who owns which columns.
    """

    def __init__(
        self, predictor: Predictor, explained: Table, background: Table, players: Players
    ) -> None:
        super().__init__(predictor, len(explained), len(background), background.weights)
        self.rows = explained.followed_by(background, predictor.place)
        self.players = players

    def mixed(self, coalitions: BoolArray, rows: IntArray, others: slice) -> Any:
        """The rows with background rows where a feature is absent."""
        background = self.n_explained + np.arange(self.n_background)[others]
        return self._filled(coalitions[:, self.players.owners], rows, background)

    def _filled(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        return self.rows.mixed(masks, rows, others)


class CustomExpectation(MarginalExpectation):
    """Absent features by a function of one's own: (rows, masks of columns) to rows to predict."""

    def __init__(
        self,
        predictor: Predictor,
        explained: Table,
        background: Table,
        players: Players,
        absence: Callable[[Any, BoolArray], Any],
    ) -> None:
        super().__init__(predictor, explained, background.take(np.array([0])), players)
        self.absence = absence

    def _filled(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        filled = self.absence(self.rows.handed(rows), masks)
        if len(filled) != len(masks):
            raise GameError(
                f"kind= gave {len(filled)} rows for {len(masks)} pairs of a row and a mask: it "
                "must give one row for each"
            )
        return filled
