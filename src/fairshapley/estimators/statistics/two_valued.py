"""Moments of contributions that are alike for all players inside, and for all outside.

A unit contributes c_i + a_t to the players inside and c_i + b_t to those outside, so that sums and
sums of squares are products of the masks with two numbers for each unit: a third of the time that
it takes to make the contributions and add them up.
"""

from __future__ import annotations

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.estimators.adjusted.units import MaskArray
from fairshapley.estimators.statistics.moments import Moments


def add_two_valued(
    moments: Moments, masks: MaskArray, inside: FloatArray, outside: FloatArray, common: FloatArray
) -> None:
    """Fold units into `moments`.

    Parameters
    ----------
    moments
        What is added to.
    masks
        Of each unit, as numbers.
    inside, outside
        a and b of each unit.
    common
        c of each player.

    Examples
    --------
    >>> moments = Moments(2)
    >>> masks = np.array([[1, 0], [1, 1]], dtype=np.float32)
    >>> add_two_valued(moments, masks, np.array([1.0, 3.0]), np.array([5.0, 0.0]), np.zeros(2))
    >>> moments.means, moments.squares, moments.highest
    (array([2., 4.]), array([2., 2.]), array([3., 5.]))
    """
    columns = np.stack([inside - outside, inside**2 - outside**2])
    sums, squares = columns @ masks.astype(np.float64)
    sums += outside.sum()
    squares += np.square(outside).sum()
    means = sums / len(masks)
    part = Moments(len(common))
    part.counts += len(masks)
    part.means = means + common
    part.squares = np.maximum(squares - sums * means, 0.0)
    # Only units beyond the least of the extremes so far can be a new one of some player.
    above = np.maximum(inside, outside) > (moments.highest - common).min()
    below = np.minimum(inside, outside) < (moments.lowest - common).max()
    rows = np.flatnonzero(above | below)
    if len(rows):
        values = np.where(masks[rows] > 0, inside[rows, None], outside[rows, None]) + common
        part.lowest, part.highest = values.min(axis=0), values.max(axis=0)
    moments.merge(part)
