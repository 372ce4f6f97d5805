"""What players would be paid by their true values: bounds by interval arithmetic, in integers.

True values lie in intervals [l, u]; a share is a value over the sum of all. It grows with the
player's own value and falls with those of the others, so that its bounds are at the ends.
"""

from __future__ import annotations

from collections.abc import Sequence

Bounds = tuple[list[int], list[int]]


def positive_bounds(
    lower: Sequence[int], upper: Sequence[int], sizes: Sequence[int], units: int
) -> Bounds:
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
    >>> positive_bounds([1, 2], [3, 4], [1, 1], 100)
    ([20, 40], [60, 80])
    """
    low, high = [max(0, value) for value in lower], [max(0, value) for value in upper]
    all_low, all_high = sum(low), sum(high)
    fewest, most = [], []
    for least, largest, size in zip(low, high, sizes, strict=True):
        others_most, others_least = all_high - size * largest, all_low - size * least
        fewest.append(least * units // (size * least + others_most) if least else 0)
        most.append(_ceil(largest * units, size * largest + others_least) if largest else 0)
    return fewest, most


def signed_bounds(
    lower: Sequence[int], upper: Sequence[int], sizes: Sequence[int], units: int
) -> Bounds | None:
    """The same where values below zero are charged; None where the sum may not be positive.

    v/(k·v + R), with R the sum of the others, is monotone in v and in R as long as the sum is
    positive, so that the extremes are at the corners.

    Examples
    --------
    >>> signed_bounds([3, -1], [3, 1], [1, 1], 100)
    ([75, -50], [150, 25])
    """
    all_low, all_high = sum(lower), sum(upper)
    if all_low <= 0:
        return None
    fewest, most = [], []
    for least, largest, size in zip(lower, upper, sizes, strict=True):
        rests = (all_low - size * least, all_high - size * largest)
        corners = [
            (value * units, size * value + rest) for value in (least, largest) for rest in rests
        ]
        fewest.append(min(share // total for share, total in corners))
        most.append(max(_ceil(share, total) for share, total in corners))
    return fewest, most


def known_sum_bounds(
    lower: Sequence[int], upper: Sequence[int], total: int, units: int
) -> Bounds | None:
    """The same where the sum of the values is known; None where it is not positive."""
    if total <= 0:
        return None
    return (
        [value * units // total for value in lower],
        [_ceil(value * units, total) for value in upper],
    )


def shifted(lower: Sequence[int], upper: Sequence[int]) -> Bounds:
    """Intervals of values from which the lowest was taken off where that is negative."""
    least, most = max(0, -min(upper)), max(0, -min(lower))
    return [max(0, value + least) for value in lower], [max(0, value + most) for value in upper]


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
