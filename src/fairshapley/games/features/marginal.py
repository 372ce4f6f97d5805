"""The marginal (interventional) expectation: absent features come from background rows.

v(S) = mean over the explained rows x and the background rows z of predict(x_S, z_rest).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.features.players import Players
from fairshapley.games.features.predictor import Predictor
from fairshapley.games.features.tables import ArrayTable, Table

# Means kept at a time, one per coalition, explained row and output: 2**20 doubles are 8 MiB.
_MEANS = 1 << 20
# So much of each variance is added to it, lest a covariance has no inverse.
_RIDGE = 1e-6


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
        self.rows = predictor.table(explained.followed_by(background))
        self.n_explained = len(explained)
        self.n_background = len(background)
        self.players = players

    @property
    def n_outputs(self) -> int:
        """The number of outputs of a prediction."""
        return self.predictor.n_outputs

    def values(self, coalitions: BoolArray) -> FloatArray:
        """The utilities, (coalitions, outputs): means over the explained rows."""
        values = np.empty((len(coalitions), self.n_outputs))
        step = max(1, _MEANS // (self.n_explained * self.n_outputs))
        for start in range(0, len(coalitions), step):
            part = slice(start, start + step)
            each = self.each(coalitions[part], np.arange(self.n_explained))
            values[part] = _mean(each.transpose(2, 0, 1)).T
        return values

    def each(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The utilities of some of the explained rows, (coalitions, rows, outputs)."""
        masks = self.players.column_masks(coalitions)
        units = len(masks) * len(rows)
        means = np.empty((self.n_outputs, units))
        at_once = max(1, self.predictor.max_rows // self.n_background)
        for start in range(0, units, at_once):
            unit = np.arange(start, min(units, start + at_once))
            coalition, row = np.divmod(unit, len(rows))
            means[:, unit] = self._unit_means(masks[coalition], rows[row])
        return means.reshape(self.n_outputs, len(masks), len(rows)).transpose(1, 2, 0)

    def _unit_means(self, masks: BoolArray, rows: IntArray) -> FloatArray:
        """The mean prediction of each unit, (outputs, units)."""
        others = self.n_explained + np.arange(self.n_background)
        step = self.predictor.max_rows
        pieces = [
            self.predictor(self._mixed(masks, rows, others[at : at + step]))
            for at in range(0, self.n_background, step)
        ]
        # With more than one piece there is one unit, so that pieces follow each other.
        predictions = np.concatenate(pieces).T
        return _mean(predictions.reshape(self.n_outputs, len(masks), self.n_background))

    def _mixed(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        """The rows to predict: those of a mask together."""
        return self.rows.mixed(masks, rows, others)


class GaussianExpectation(MarginalExpectation):
    """Absent features as they are given those present, in a normal distribution.

    A background row z becomes one that agrees with x in S, by Matheron's rule: z_rest + Σ_rest,S
    Σ_SS⁻¹ (x_S − z_S). For normal background rows that is a draw from the conditional distribution;
    others keep what the regression on S leaves of them.
    """

    def __init__(
        self, predictor: Predictor, explained: Table, background: Table, players: Players
    ) -> None:
        super().__init__(predictor, explained, background, players)
        numbers = [explained.coordinates(at)[1] for at in range(len(explained.labels))]
        if not isinstance(self.rows, ArrayTable) or not all(numbers):
            raise InputError(
                "kind='gaussian' needs an array of numbers: encode texts and categories, and give "
                "X.to_numpy() of a data frame"
            )
        self._values = self.rows.values
        values = self._values[self.n_explained :].astype(np.float64)
        covariance = np.atleast_2d(np.cov(values.T)) if len(values) > 1 else np.eye(values.shape[1])
        scales = np.diagonal(covariance)
        # Columns that are sums of others, and one-hots, have no inverse without a little of this.
        self.covariance = covariance + np.diag(_RIDGE * np.where(scales > 0, scales, 1.0))

    def _mixed(self, masks: BoolArray, rows: IntArray, others: IntArray) -> NDArray[Any]:
        values = self._values
        theirs = values[others].astype(np.float64)
        mixed = np.empty((len(masks), len(others), values.shape[1]))
        kinds, which = np.unique(masks, axis=0, return_inverse=True)
        for at, mask in enumerate(kinds):
            units = np.flatnonzero(which.ravel() == at)
            gaps = np.where(mask, values[rows[units]][:, None] - theirs, 0.0)
            mixed[units] = theirs + gaps
            if mask.any() and not mask.all():
                slopes = np.linalg.solve(self.covariance[mask][:, mask], self.covariance[mask])
                mixed[units] += np.where(mask, 0.0, gaps[..., mask] @ slopes)
        return mixed.reshape(-1, values.shape[1]).astype(np.result_type(values, np.float32))


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

    def _mixed(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        filled = self.absence(self.rows.handed(rows), masks)
        if len(filled) != len(masks):
            raise GameError(
                f"kind= gave {len(filled)} rows for {len(masks)} pairs of a row and a mask: it "
                "must give one row for each"
            )
        return filled


def _mean(values: FloatArray) -> FloatArray:
    """The mean over the last axis, with the same bits whatever the other axes hold."""
    with np.errstate(invalid="ignore"):  # infinite predictions of both signs: NaN, reported later
        mean: FloatArray = np.ascontiguousarray(values).mean(axis=-1)
    return mean
