"""Whole units in proportion to weights: the method of largest remainders, equals treated equally.

All numbers are integers, so that nothing is lost: the units handed out and the rest add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import numpy as np

from fairshapley.errors import InputError


@dataclass(frozen=True)
class _Class:
    """The members of one weight, which stay equal."""

    members: tuple[int, ...]
    floor: int
    """Whole units that are due to each"""
    remainder: int
    """What is due beyond them, as a numerator over the sum of the weights"""

    @property
    def size(self) -> int:
        return len(self.members)


def apportion(weights: Sequence[int], units: int) -> tuple[list[int], int]:
    """Divide whole units in proportion to weights.

    Everyone gets its exact share rounded down or up. Equal weights get equal numbers, a higher
    weight never gets less, and which player has which number does not matter. What the rounding
    down leaves goes to the largest remainders. Only where no such choice hands out everything, as
    with 10 units for 3 equals, a rest stays.

    Parameters
    ----------
    weights
        One integer per player, negative ones allowed; their sum must be positive.
    units
        How many units there are.

    Returns
    -------
    amounts, rest
        The units of each player, and those left over.

    Examples
    --------
    >>> apportion([5, 3, 1], 100)
    ([56, 33, 11], 0)
    >>> apportion([1, 1, 1], 10)
    ([3, 3, 3], 1)
    >>> apportion([1, 1, 1, 2], 9)
    ([2, 2, 2, 3], 0)
    """
    total = sum(weights)
    if total <= 0:
        raise InputError("the weights must have a positive sum to be divided by")
    classes = _classes(weights, units, total)
    left = units - sum(one.floor * one.size for one in classes)
    # One with nothing due beyond its floor has no claim.
    claims = [one for one in classes if one.remainder]
    raised, spare = _largest_remainders(claims, left)
    if spare:
        chosen, still_spare = _fullest_choice(claims, left)
        if still_spare < spare:
            raised, spare = chosen, still_spare
    amounts = [0] * len(weights)
    for one in classes:
        units_each = one.floor + (one in raised)
        for member in one.members:
            amounts[member] = units_each
    return amounts, spare


def _classes(weights: Sequence[int], units: int, total: int) -> list[_Class]:
    """The players by weight, the heaviest first."""
    members: dict[int, list[int]] = {}
    for player, weight in enumerate(weights):
        members.setdefault(weight, []).append(player)
    return [
        _Class(tuple(members[weight]), *divmod(weight * units, total))
        for weight in sorted(members, reverse=True)
    ]


def _largest_remainders(claims: Sequence[_Class], left: int) -> tuple[set[_Class], int]:
    """Classes to raise by one, the largest remainders first, and the units that are left."""
    raised, passed_over = set(), set()
    for one in sorted(claims, key=lambda one: -one.remainder):  # stable: the heaviest first
        # Raised above a heavier class of the same floor, it would get more than that.
        if one.size <= left and one.floor not in passed_over:
            raised.add(one)
            left -= one.size
        else:
            passed_over.add(one.floor)
    return raised, left


def _fullest_choice(claims: Sequence[_Class], left: int) -> tuple[set[_Class], int]:
    """The classes to raise that leave the fewest units, by dynamic programming over their sizes.

    Of the classes with one floor the heaviest are raised first, so that a choice is a number of
    classes for each floor. `floor_of` and `number_of` say how a sum of sizes was first reached.
    """
    levels = [list(level) for _, level in groupby(claims, key=lambda one: one.floor)]
    reached = np.zeros(left + 1, dtype=bool)
    reached[0] = True
    floor_of, number_of = np.zeros((2, left + 1), dtype=np.int64)
    for floor, level in enumerate(levels):
        before = reached.copy()
        for number, size in enumerate(_sums(level), start=1):
            if size > left:
                break
            fresh = np.flatnonzero(before[: left + 1 - size] & ~reached[size:]) + size
            reached[fresh], floor_of[fresh], number_of[fresh] = True, floor, number
        if reached[left]:
            break
    best = at = int(np.flatnonzero(reached)[-1])
    raised: set[_Class] = set()
    while at:
        chosen = levels[floor_of[at]][: number_of[at]]
        raised.update(chosen)
        at -= sum(one.size for one in chosen)
    return raised, left - best


def _sums(level: Sequence[_Class]) -> Iterator[int]:
    return accumulate(one.size for one in level)
