"""Averages of weighted marginal contributions: plain and self-normalised.

Both answer the same questions, so that an estimator may use either: how many contributions, which
value, and which variance of one contribution, with a floor where all were equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.statistics.moments import Means, Moments, floor_variances


class Average(ABC):
    """What an estimator asks of an average."""

    def __init__(self) -> None:
        self._power, self._told = 0.0, 0

    @property
    @abstractmethod
    def counts(self) -> IntArray:
        """The contributions of each player."""

    @property
    @abstractmethod
    def values(self) -> FloatArray:
        """φ̂; 0 for a player without a contribution."""

    @property
    def mean_square(self) -> float:
        """τ²: the mean square of all players' contributions."""
        return self._power / max(self._told, 1)

    def add(self, players: IntArray, marginals: FloatArray, weights: FloatArray) -> None:
        """Fold in marginal contributions with their weights; a player may come several times."""
        kept = ~np.isnan(marginals)
        players, marginals, weights = players[kept], marginals[kept], weights[kept]
        self._power += float(np.square(marginals * weights).sum())
        self._told += len(players)
        self._fold(players, marginals, weights)

    @abstractmethod
    def _fold(self, players: IntArray, marginals: FloatArray, weights: FloatArray) -> None:
        """Fold in contributions, none of them NaN."""

    @abstractmethod
    def variances_of_one(self, players: IntArray | slice) -> FloatArray:
        """The variance s² of one contribution, with its floor; NaN below two contributions."""

    def extremes(self) -> FloatArray | None:
        """See `Estimate.extremes`; None where they are not kept."""
        return None


def with_floor(variances: FloatArray, counts: IntArray, mean_square: float) -> FloatArray:
    """The variance of one contribution, with the floor of `floor_variances`: τ²/(m + 1)."""
    safe = np.maximum(counts, 1)
    return safe * floor_variances(variances / safe, counts, mean_square)


class PlainMean(Average):
    """φ̂_i = Σ wσ / m_i: unbiased when the weights are the ratios of the probabilities.

    Examples
    --------
    >>> mean = PlainMean(2)
    >>> mean.add(np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), np.array([2.0, 2.0, 1.0]))
    >>> mean.values, mean.counts
    (array([4., 5.]), array([2, 1]))
    """

    def __init__(self, n_players: int) -> None:
        super().__init__()
        self.moments = Moments(n_players)

    @property
    def counts(self) -> IntArray:
        """The contributions of each player."""
        return self.moments.counts

    @property
    def values(self) -> FloatArray:
        """The means."""
        return self.moments.means

    def _fold(self, players: IntArray, marginals: FloatArray, weights: FloatArray) -> None:
        self.moments.add_at(players, marginals * weights)

    def variances_of_one(self, players: IntArray | slice) -> FloatArray:
        """The sample variance s²."""
        counts = self.moments.counts[players]
        enough = counts > 1
        degrees = np.where(enough, counts - 1.0, 1.0)
        variances = np.where(enough, self.moments.squares[players] / degrees, np.nan)
        return with_floor(variances, counts, self.mean_square)

    def extremes(self) -> FloatArray:
        """See `Estimate.extremes`."""
        return self.moments.extremes()


class SelfNormalised(Average):
    """φ̂_i = Σ wσ / Σ w: biased by O(1/m_i), exact when all marginals of a player are equal.

    The delta method gives V[φ̂] ≈ Σ w²(σ − φ̂)² / (Σ w)². Two weighted means, with the weights w
    and w², are sufficient for it: Σ w²(σ − φ̂)² is the sum of squares about the second mean plus
    Σ w² times its squared distance to φ̂, which cancels nothing.

    Examples
    --------
    >>> mean = SelfNormalised(1)
    >>> mean.add(np.array([0, 0]), np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    >>> mean.values
    array([2.])
    """

    def __init__(self, n_players: int) -> None:
        super().__init__()
        self._counts: IntArray = np.zeros(n_players, dtype=np.int64)
        self._mean = Means(n_players, counts=np.float64)
        self._square = Means(n_players, counts=np.float64)

    @property
    def counts(self) -> IntArray:
        """The contributions of each player."""
        return self._counts

    @property
    def values(self) -> FloatArray:
        """The weighted means."""
        return self._mean.means

    def _fold(self, players: IntArray, marginals: FloatArray, weights: FloatArray) -> None:
        self._counts = self._counts + np.bincount(players, minlength=len(self._counts))
        self._mean.add_at(players, marginals, weights)
        self._square.add_at(players, marginals, np.square(weights))

    def variances_of_one(self, players: IntArray | slice) -> FloatArray:
        """m_i times the variance of φ̂_i, with m/(m − 1) for the fitted mean."""
        counts = self.counts[players]
        enough = counts > 1
        squares = self._square.squares[players] + self._square.counts[players] * np.square(
            self._square.means[players] - self._mean.means[players]
        )
        total = np.where(enough, self._mean.counts[players], 1.0)
        scale = np.where(enough, counts**2 / np.maximum(counts - 1.0, 1.0), np.nan)
        return with_floor(scale * squares / np.square(total), counts, self.mean_square)
