"""What players would be paid by their true values: bounds by interval arithmetic, in integers.

True values lie in intervals [l, u]; a share is a value over the sum of all. It grows with the
player's own value and falls with those of the others, so that its bounds are at the ends.

All arrays hold Python's integers, which are never too large.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[Any]
Bounds: TypeAlias = tuple[Integers, Integers]


def integers(values: Any) -> Integers:
    """Whole numbers of any size as an array."""
    return np.array(values, dtype=object)


def positive_bounds(lower: Integers, upper: Integers, sizes: Integers, units: int) -> Bounds:
    """Fewest and most units of each player where values below zero count as zero.

    Parameters
    ----------
    lower, upper
        The interval of each value, all on one scale.
    sizes
        How many players are identical to each, itself included: they move with it.
    units
        The units to divide.

    Examples
    --------
    >>> positive_bounds(integers([1, 2]), integers([3, 4]), integers([1, 1]), 100)
    (array([20, 40], dtype=object), array([60, 80], dtype=object))
    """
    low, high = np.maximum(lower, 0), np.maximum(upper, 0)
    others_most, others_least = (all_ends.sum() - sizes * all_ends for all_ends in (high, low))
    # A total of 0 is that of a value of 0, which gets nothing.
    fewest = low * units // np.maximum(sizes * low + others_most, 1)
    return fewest, _ceil(high * units, np.maximum(sizes * high + others_least, 1))


def signed_bounds(lower: Integers, upper: Integers, sizes: Integers, units: int) -> Bounds | None:
    """The same where values below zero are charged; None where the sum may not be positive.

    v/(k·v + R), with R the sum of the others, is monotone in v and in R as long as the sum is
    positive, so that the extremes are at the corners.

    Examples
    --------
    >>> signed_bounds(integers([3, -1]), integers([3, 1]), integers([1, 1]), 100)
    (array([75, -50], dtype=object), array([150, 25], dtype=object))
    """
    if lower.sum() <= 0:
        return None
    rests = (lower.sum() - sizes * lower, upper.sum() - sizes * upper)
    corners = [(value * units, sizes * value + rest) for value in (lower, upper) for rest in rests]
    return (
        np.min([share // total for share, total in corners], axis=0),
        np.max([_ceil(share, total) for share, total in corners], axis=0),
    )


def known_sum_bounds(lower: Integers, upper: Integers, total: int, units: int) -> Bounds | None:
    """The same where the sum of the values is known; None where it is not positive."""
    return None if total <= 0 else (lower * units // total, _ceil(upper * units, total))


def _ceil(numerator: Any, denominator: Any) -> Any:
    return -(-numerator // denominator)
