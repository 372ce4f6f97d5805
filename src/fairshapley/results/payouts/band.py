"""What players would be paid by their true values: bounds by interval arithmetic.

True values lie in intervals [l, u]; a share is a value over the sum of all. It grows with the
player's own value and falls with those of the others, so that its bounds are at the ends.
All arrays hold fractions, so that no cent is lost to rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Fractions: TypeAlias = NDArray[Any]
Bounds: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


def fractions(values: Any) -> Fractions:
    """The numbers as exact fractions.

    Examples
    --------
    >>> fractions([0.5])
    array([Fraction(1, 2)], dtype=object)
    """
    return np.array([Fraction(value) for value in values], dtype=object)


def positive_bounds(lower: Fractions, upper: Fractions, sizes: Fractions, units: int) -> Bounds:
    """Return the fewest and most units of each player where values below zero count as zero.

    Parameters
    ----------
    lower, upper
        The interval of each value.
    sizes
        How many players are identical to each, itself included: they move with it.
    units
        The units to divide.

    Examples
    --------
    >>> one = fractions([1, 1])
    >>> positive_bounds(fractions([1, 2]), fractions([3, 4]), one, 100)
    (array([20, 40], dtype=object), array([60, 80], dtype=object))
    """
    low, high = np.maximum(lower, 0), np.maximum(upper, 0)
    others_most, others_least = (ends.sum() - sizes * ends for ends in (high, low))
    # A player whose value is 0 gets nothing, whatever the total is.
    fewest = low / np.where(low > 0, sizes * low + others_most, 1)
    most = high / np.where(high > 0, sizes * high + others_least, 1)
    return np.floor(fewest * units), np.ceil(most * units)


def signed_bounds(
    lower: Fractions, upper: Fractions, sizes: Fractions, units: int
) -> Bounds | None:
    """Return the same where values below zero are charged; None where the sum may not be positive.

    v/(k·v + R), with R the sum of the others, is monotone in v and in R as long as the sum is
    positive, so that the extremes are at the corners.

    Examples
    --------
    >>> one = fractions([1, 1])
    >>> signed_bounds(fractions([3, -1]), fractions([3, 1]), one, 100)
    (array([75, -50], dtype=object), array([150, 25], dtype=object))
    """
    if lower.sum() <= 0:
        return None
    rests = [ends.sum() - sizes * ends for ends in (lower, upper)]
    corners = [value * units / (sizes * value + rest) for value in (lower, upper) for rest in rests]
    return np.floor(np.min(corners, axis=0)), np.ceil(np.max(corners, axis=0))


def known_sum_bounds(
    lower: Fractions, upper: Fractions, total: Fraction, units: int
) -> Bounds | None:
    """Return the same where the sum of the values is known; None where it is not positive."""
    if total <= 0:
        return None
    return np.floor(lower * units / total), np.ceil(upper * units / total)
