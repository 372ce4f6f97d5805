"""Amounts of money as decimals and whole numbers of units, never as binary fractions."""

from __future__ import annotations

import decimal
import operator
from collections.abc import Iterable
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
    """How many units the pool has, and the unit.

    Examples
    --------
    >>> units_of(12.5, "0.01")
    (1250, Decimal('0.01'))
    """
    amount, step = _decimal(pool, "the pool"), _decimal(unit, "the unit")
    number = Fraction(amount) / Fraction(step)
    if number.denominator != 1:
        raise InputError(
            f"a pool of {text(amount)} is not a whole number of units of {text(step)}: round it, "
            "or give a smaller unit"
        )
    if number > MOST_UNITS:
        raise InputError("the pool has more than 10**30 units: give a larger unit")
    return int(number), step


def _decimal(value: Money, what: str) -> Decimal:
    """An amount of money as it was written, or an InputError."""
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


def money(units: int, step: Decimal) -> Decimal:
    """A number of units as an amount."""
    return _EXACT.multiply(Decimal(units), step)


def all_money(units: Iterable[int], step: Decimal) -> tuple[Decimal, ...]:
    """Each number of units as an amount."""
    return tuple(money(number, step) for number in units)


def text(money: Decimal) -> str:
    """An amount for machines: all its digits, no exponent."""
    return f"{money:f}"


def shown(money: Decimal) -> str:
    """An amount for people: thousands apart."""
    return f"{money:,f}"
