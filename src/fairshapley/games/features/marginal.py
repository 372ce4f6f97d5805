"""The marginal (interventional) expectation: absent features come from background rows.

v(S) = mean over the explained rows x and the background rows z of predict(x_S, z_rest).
"""

from __future__ import annotations

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.games.features.players import Players
from fairshapley.games.features.predictor import Predictor
from fairshapley.games.features.tables import Table

# Means kept at a time, one per coalition, explained row and output: 2**20 doubles are 8 MiB.
_MEANS = 1 << 20


class MarginalExpectation:
    """Utilities of all outputs for some explained rows.

    A *unit* is one coalition with one explained row: as many mixtures as there are background
    rows. Units share calls of predict as far as its rows allow; a unit with more rows than that
    is cut, at the same places whatever the coalitions beside it.

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
        self.predictor = predictor
        self.rows = explained.followed_by(background)
        self.n_explained = len(explained)
        self.n_background = len(background)
        self.players = players

    @property
    def n_outputs(self) -> int:
        """The number of outputs of a prediction."""
        return self.predictor.n_outputs

    def values(self, coalitions: BoolArray) -> FloatArray:
        """The utilities, (coalitions, outputs)."""
        values = np.empty((len(coalitions), self.n_outputs))
        step = max(1, _MEANS // (self.n_explained * self.n_outputs))
        for start in range(0, len(coalitions), step):
            part = slice(start, start + step)
            values[part] = self._chunk(self.players.column_masks(coalitions[part])).T
        return values

    def _chunk(self, masks: BoolArray) -> FloatArray:
        units = len(masks) * self.n_explained
        means = np.empty((self.n_outputs, units))
        at_once = max(1, self.predictor.max_rows // self.n_background)
        for start in range(0, units, at_once):
            unit = np.arange(start, min(units, start + at_once))
            coalition, row = np.divmod(unit, self.n_explained)
            means[:, unit] = self._unit_means(masks[coalition], row)
        return _mean(means.reshape(self.n_outputs, len(masks), self.n_explained))

    def _unit_means(self, masks: BoolArray, rows: IntArray) -> FloatArray:
        """The mean prediction of each unit, (outputs, units)."""
        others = self.n_explained + np.arange(self.n_background)
        step = self.predictor.max_rows
        pieces = [
            self.predictor(self.rows.mixed(masks, rows, others[at : at + step]))
            for at in range(0, self.n_background, step)
        ]
        # With more than one piece there is one unit, so that pieces follow each other.
        predictions = np.concatenate(pieces).T
        return _mean(predictions.reshape(self.n_outputs, len(masks), self.n_background))


def _mean(values: FloatArray) -> FloatArray:
    """The mean over the last axis, with the same bits whatever the other axes hold."""
    with np.errstate(invalid="ignore"):  # infinite predictions of both signs: NaN, reported later
        mean: FloatArray = np.ascontiguousarray(values).mean(axis=-1)
    return mean
