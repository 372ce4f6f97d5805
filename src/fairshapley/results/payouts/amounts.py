"""Amounts of money as whole numbers of units, and how units are divided: nothing is lost."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from fairshapley.errors import InputError

Money: TypeAlias = int | float | str | Decimal

# Enough digits that no product of units and their size is ever rounded.
_EXACT = decimal.Context(prec=200)
# More than any currency has; a mistyped unit would otherwise give numbers of hundreds of digits.
MOST_UNITS = 10**30


def units_of(pool: Money, unit: Money) -> tuple[int, Decimal]:
    """Return how many units the pool has, and the unit.

    Examples
    --------
    >>> units_of(12.5, "0.01")
    (1250, Decimal('0.01'))
    """
    amount, step = _decimal(pool, "the pool"), _decimal(unit, "the unit")
    number = Fraction(amount) / Fraction(step)
    if number.denominator != 1:
        raise InputError(
            f"a pool of {amount:f} is not a whole number of units of {step:f}: round it, "
            "or give a smaller unit"
        )
    if number > MOST_UNITS:
        raise InputError("the pool has more than 10**30 units: give a larger unit")
    return int(number), step


def _decimal(value: Money, what: str) -> Decimal:
    """Return an amount of money as it was written, or raise InputError."""
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, float):  # 0.1 means a tenth, not the nearest binary fraction
            number = Decimal(repr(float(value)))
        else:
            number = Decimal(value if isinstance(value, str | Decimal) else operator.index(value))
    except (TypeError, ValueError, decimal.InvalidOperation):
        raise InputError(f"{what} must be an amount of money, not {value!r:.40}") from None
    if not number.is_finite() or number <= 0 or abs(number.adjusted()) > 50:
        raise InputError(f"{what} must be positive and of a sensible size, not {value!r:.40}")
    number = number.normalize(_EXACT)
    exponent = number.as_tuple().exponent
    # 1E+1 is written as 10.
    return number.quantize(Decimal(1), context=_EXACT) if int(exponent) > 0 else number


def sum_of(units: int, step: Decimal) -> Decimal:
    """Return a number of units as an amount."""
    return _EXACT.multiply(Decimal(units), step)


def shown(money: Decimal) -> str:
    """Return an amount for people: thousands apart."""
    return f"{money:,f}"


def apportion(weights: Sequence[Fraction], units: int) -> tuple[list[int], int]:
    """Divide whole units in proportion to weights, by largest remainders.

    Every share is rounded down. The units that are left go one by one to the largest remainders;
    players of equal weight are raised together or not at all, and a lighter player is never raised
    above a heavier one. What nobody can be given by these rules is the rest.

    Parameters
    ----------
    weights
        One per player, negative ones allowed; their sum must be positive.
    units
        How many units there are.

    Returns
    -------
    amounts, rest
        The units of each player, and those left over.

    Examples
    --------
    >>> apportion([Fraction(5), Fraction(3), Fraction(1)], 100)
    ([56, 33, 11], 0)
    >>> apportion([Fraction(1)] * 3, 10)
    ([3, 3, 3], 1)
    """
    total = sum(weights)
    if total <= 0:
        raise InputError("the weights must have a positive sum to be divided by")
    members: dict[Fraction, list[int]] = {}
    for player, weight in enumerate(weights):
        members.setdefault(weight, []).append(player)
    shares = {weight: weight * units / total for weight in members}
    each = {weight: math.floor(share) for weight, share in shares.items()}
    rest = units - sum(each[weight] for weight in weights)
    passed_over: set[int] = set()
    # Where remainders are equal, the heavier player comes first.
    for weight in sorted(members, key=lambda weight: (each[weight] - shares[weight], -weight)):
        floor, size = each[weight], len(members[weight])
        if size <= rest and floor < shares[weight] and floor not in passed_over:
            each[weight] += 1
            rest -= size
        else:
            passed_over.add(floor)
    return [each[weight] for weight in weights], rest
