"""The marginal (interventional) expectation: absent features come from background rows.

v(S) = mean over the explained rows x and the background rows z of predict(x_S, z_rest).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray, IntArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.features.expectation import MixedExpectation
from fairshapley.games.features.players import Players
from fairshapley.games.features.predictor import Predictor
from fairshapley.games.features.tables import Table

# This share of each variance is added to it, so that a covariance always has an inverse.
_RIDGE = 1e-6


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
        if self.rows.is_frame or not all(numbers):
            raise InputError(
                "kind='gaussian' needs an array of numbers: encode texts and categories, and give "
                "X.to_numpy() of a data frame"
            )
        values = self.rows.rows[self.n_explained :].astype(np.float64)
        covariance = np.atleast_2d(np.cov(values.T)) if len(values) > 1 else np.eye(values.shape[1])
        scales = np.diagonal(covariance)
        # Columns that are sums of others, and one-hots, have no inverse without a little of this.
        self.covariance = covariance + np.diag(_RIDGE * np.where(scales > 0, scales, 1.0))

    def _filled(self, masks: BoolArray, rows: IntArray, others: IntArray) -> NDArray[Any]:
        values = self.rows.rows
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

    def _filled(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        filled = self.absence(self.rows.handed(rows), masks)
        if len(filled) != len(masks):
            raise GameError(
                f"kind= gave {len(filled)} rows for {len(masks)} pairs of a row and a mask: it "
                "must give one row for each"
            )
        return filled
