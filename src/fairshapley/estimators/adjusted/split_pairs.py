"""Pairs among single units: the covariance of their halves in the variance of the mean."""

from __future__ import annotations

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.moments import Moments

# A variance of zero would claim certainty, where a few pairs only happened to cancel.
MIN_FACTOR = 1e-3


class SplitPairs:
    """Adds up (y_a − ȳ)·(y_b − ȳ) over the halves a, b of split pairs, block by block.

    The mean of all units is unbiased whether their contributions depend on each other or not; its
    variance is Σ(y_t − ȳ)² + 2·Σ(y_a − ȳ)(y_b − ȳ), over M(M − 1).

    Parameters
    ----------
    groups
        The group of each unit; the halves of a pair follow each other and are a group.

    Examples
    --------
    >>> moments, halves = Moments(1), SplitPairs(np.array([0, 0, 1]))
    >>> contributions = np.array([[1.0], [-1.0], [0.0]])
    >>> moments.add(contributions)
    >>> halves.add(contributions)
    >>> halves.factors(moments)
    array([0.001])
    """

    def __init__(self, groups: IntArray) -> None:
        self._first = np.flatnonzero(groups[1:] == groups[:-1])
        """The units that are followed by their other half"""
        self._row = 0
        self._last: FloatArray | None = None
        """The end of the last block, when its other half is in the next one"""
        self._origin: FloatArray | None = None
        """Sums are taken from here, so that they do not cancel"""
        self._products: FloatArray | float = 0.0
        self._sums: FloatArray | float = 0.0

    @property
    def count(self) -> int:
        """The number of pairs."""
        return len(self._first)

    @property
    def end(self) -> int:
        """The first unit behind the last pair."""
        return int(self._first[-1]) + 2 if len(self._first) else 0

    def add(self, block: FloatArray) -> None:
        """Fold in the contributions of the next units."""
        start, self._row = self._row, self._row + len(block)
        if self._last is not None:
            block, start = np.concatenate([self._last, block]), start - 1
        own = self._first[np.searchsorted(self._first, start) :]
        own = own[: np.searchsorted(own, self._row)] - start
        self._last = block[-1:] if len(own) and own[-1] == len(block) - 1 else None
        own = own[own < len(block) - 1]
        if not len(own):
            return
        if self._origin is None:
            self._origin = block.mean(axis=0)
        one, other = block[own] - self._origin, block[own + 1] - self._origin
        self._products = self._products + (one * other).sum(axis=0)
        self._sums = self._sums + (one + other).sum(axis=0)

    def factors(self, moments: Moments) -> FloatArray:
        """The variance of each player's mean over what it would be without any pairs."""
        ones = np.ones_like(moments.means)
        if self._origin is None:
            return ones
        shift = moments.means - self._origin
        covariances = self._products - shift * self._sums + self.count * shift**2
        known = moments.squares > 0
        ratio = 2.0 * covariances / np.where(known, moments.squares, 1.0)
        return np.where(known, np.maximum(1.0 + ratio, MIN_FACTOR), ones)
