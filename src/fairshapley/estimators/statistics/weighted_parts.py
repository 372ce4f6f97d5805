"""Independent parts of an estimate, such as epochs, with weights that depend on no value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class WeightedParts:
    """Sums over the parts: the mean Σ λ·value / Σ λ has the variance Σ λ²·variance / (Σ λ)².

    Examples
    --------
    >>> parts = WeightedParts.none(2)
    >>> for value in (1.0, 4.0):
    ...     parts = parts.plus(np.array([value, 0.0]), np.full(2, value), np.full(2, 1.0))
    >>> parts.mean()
    (array([3.4, nan]), array([0.68,  nan]))
    """

    weights: FloatArray
    """Σ λ"""
    values: FloatArray
    """Σ λ·value"""
    variances: FloatArray
    """Σ λ²·variance"""

    @classmethod
    def none(cls, n_players: int) -> WeightedParts:
        """No part yet."""
        return cls(*np.zeros((3, n_players)))

    def plus(
        self, weights: FloatArray | float, values: FloatArray, variances: FloatArray | float
    ) -> WeightedParts:
        """With one part more; a weight of 0 leaves a player out."""
        return WeightedParts(
            self.weights + weights,
            self.values + weights * values,
            self.variances + np.square(weights) * variances,
        )

    def mean(self) -> tuple[FloatArray, FloatArray]:
        """The weighted means and their variances; NaN for a player without a part."""
        total = np.where(self.weights > 0, self.weights, np.nan)
        return self.values / total, self.variances / np.square(total)


def whole_below(numbers: FloatArray) -> IntArray:
    """The whole numbers below, but for rounding: what should be whole must not fall below itself.

    Examples
    --------
    >>> whole_below(np.array([2.9999999999, 2.9]))
    array([3, 2])
    """
    return np.floor(numbers + 1e-9).astype(np.int64)
