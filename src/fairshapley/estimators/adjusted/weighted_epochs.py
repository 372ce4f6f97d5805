"""Weighted means of independent parts of an estimate, such as epochs.

The weights depend on no value of their part. Within an epoch contributions are i.i.d. given all
before; its weight was fixed before it began, and is the same for all players. So
φ̂ = Σ w_e·M_e·ȳ_e / Σ w_e·M_e has martingale deviations, and Σ w_e²·M_e·s_e² / (Σ w_e·M_e)²
estimates its variance.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.estimators.estimator import Estimate
from fairshapley.estimators.moments import (
    ROUNDING,
    Moments,
    WeightedParts,
    floor_variances,
    whole_below,
)


class WeightedEpochs:
    """Sums over the epochs that have ended.

    Examples
    --------
    >>> epochs = WeightedEpochs(1)
    >>> for row, weight in (([1.0, 5.0], 1.0), ([2.0, 4.0], 3.0)):
    ...     part = Moments(1)
    ...     part.add(np.array([row]).T)
    ...     epochs.add(part, weight)
    >>> estimate = epochs.estimate()
    >>> estimate.values, estimate.variances, estimate.counts
    (array([3.]), array([0.8125]), array([3]))
    """

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players
        self.parts = WeightedParts.none(n_players)
        """Of ȳ with the weights w·M and the variances s²/M"""
        self.square = 0.0
        """Σ w²·M"""
        self.second: float = 0.0
        """Σ w²·Σ y², all players together"""
        self.single = True
        """Whether no epoch has two contributions"""

    def add(self, part: Moments, weight: float) -> None:
        """Fold in an epoch; every player has the same number of contributions in it."""
        count = int(part.counts[0])
        if count == 0:
            return
        self.square += weight**2 * count
        # An epoch of one contribution says nothing of the variance; the others stand in for it.
        variances = part.squares / (count * max(count - 1, 1))
        self.parts = self.parts.plus(weight * count, part.means, variances)
        self.second += weight**2 * float((part.squares + count * part.means**2).sum())
        self.single = self.single and count < 2

    def copy(self) -> WeightedEpochs:
        """The same sums, to be added to."""
        return copy(self)  # arrays are replaced, never changed

    @property
    def values(self) -> FloatArray:
        """φ̂; NaN before the first contribution."""
        return self.parts.mean()[0]

    def estimate(self, largest: FloatArray | None = None) -> Estimate:
        """The weighted mean; `largest` holds the largest w·|y − φ̂| of each player.

        Weights w count as (Σw)²/Σw² equal ones (Kish).
        """
        if not self.square:
            return Estimate.unknown(self.n_players)
        weight = self.parts.weights[0]
        counts = whole_below(np.square(self.parts.weights) / self.square)
        equal = float(counts[0])
        # τ² in the unit of contributions, each counted as often as its squared weight says.
        mean_square = self.second / (self.square * self.n_players)
        values, variances = self.parts.mean()
        if self.single:
            variances = np.full(self.n_players, np.nan)
        floored = floor_variances(variances, counts, mean_square)
        extremes = None
        if largest is not None:
            vary = variances * equal > ROUNDING**2 * mean_square
            one = np.where(vary, variances * equal, 1.0)
            ratio = np.square(largest * equal / weight) / one
            extremes = np.where(np.isnan(variances), np.nan, np.where(vary, ratio, 0.0))
        return Estimate(values, floored, counts, extremes=extremes)
