"""Checks of arguments: each returns the argument in plain form, or raises an error that names it.

Numbers of numpy are numbers here, True and False are not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import FairShapleyError, InputError

# Sums of numbers of size 1, taken in another order or on another machine, differ by less.
ROUNDING = 1e-9


def is_real(value: object) -> bool:
    """Return whether a value is a real number of Python or numpy.

    Examples
    --------
    >>> is_real(np.float32(2)), is_real(True), is_real("2")
    (True, False, False)
    """
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def whole(
    name: str,
    value: Any,
    *,
    least: int = 1,
    most: int | None = None,
    remedy: str | Sequence[str] = (),
    error: type[FairShapleyError] = InputError,
) -> int:
    """Return a whole number in range as an int; 1e6 is one too.

    Parameters
    ----------
    name, value
        The argument.
    least, most
        Its range.
    remedy
        What to do.
    error
        What to raise.

    Examples
    --------
    >>> whole("k", np.int64(3)), whole("budget", 1e6)
    (3, 1000000)
    >>> whole("k", 2.5)
    Traceback (most recent call last):
    fairshapley.errors.InputError: k must be a whole number of at least 1, not 2.5
    """
    exact = isinstance(value, float | np.floating) and value.is_integer()
    try:
        number = int(value) if exact else operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool | np.bool_) or number < least or (most is not None and number > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        message = f"must be a whole number {limits}"
        raise error(message, parameter=name, received=value, remedy=remedy)
    return number


def real(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    remedy: str | Sequence[str] = (),
    error: type[FairShapleyError] = InputError,
) -> float:
    """Return a finite number in range as a float.

    Parameters
    ----------
    name, value
        The argument.
    least, above, below
        Its range: at least, and strictly above and below.
    remedy
        What to do.
    error
        What to raise.

    Examples
    --------
    >>> real("omega", np.float32(0.5), above=0)
    0.5
    >>> real("share", 2, above=0, below=1)
    Traceback (most recent call last):
    fairshapley.errors.InputError: share must be a number above 0 and below 1, not 2
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    number = float(value) if is_real(value) else math.nan
    if math.isfinite(number) and number >= least and above < number < below:
        return number
    limits = [f"of at least {least:g}"] if least > -math.inf else []
    limits += [f"above {above:g}"] if above > -math.inf else []
    limits += [f"below {below:g}"] if below < math.inf else []
    kind = "number" if below < math.inf else "finite number"
    wanted = " ".join([kind, " and ".join(limits)]).rstrip()
    raise error(f"must be a {wanted}", parameter=name, received=value, remedy=remedy)


def flag(name: str, value: Any) -> bool:
    """Return True or False as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise InputError("must be True or False", parameter=name, received=value)
    return bool(value)


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value if it is one of several words.

    Examples
    --------
    >>> choice("units", "pears", ("pairs", "singles"))
    Traceback (most recent call last):
    fairshapley.errors.InputError: units must be one of 'pairs', 'singles', not 'pears'
    """
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(map(repr, choices))
        raise InputError(f"must be one of {allowed}", parameter=name, received=value)
    return value


def different_names(name: str, value: Any, count: int) -> tuple[str, ...]:
    """Return `count` different names, as texts.

    Examples
    --------
    >>> different_names("names", ["a", 1], 2)
    ('a', '1')
    """
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    names = tuple(str(item) for item in value) if listed else ()
    if len(names) != count or len(set(names)) < count:
        raise InputError(f"must be {count} different names", parameter=name, received=value)
    return names


def utility_range(value: Any) -> tuple[float, float]:
    """Return the lowest and the highest utility as two floats.

    Examples
    --------
    >>> utility_range((0, 1))
    (0.0, 1.0)
    """
    try:
        lowest, highest = (float(end) for end in value)
    except (TypeError, ValueError):
        lowest, highest = math.nan, math.nan
    if not 0 <= highest - lowest < math.inf:
        message = "must be (lowest, highest), both finite"
        raise InputError(message, parameter="value_range", received=value)
    return lowest, highest


def with_slack(stated: tuple[float, float]) -> tuple[float, float]:
    """Return a stated range of utilities, which they may leave by the rounding of a sum."""
    slack = ROUNDING * max(map(abs, stated))
    return stated[0] - slack, stated[1] + slack


def vector(values: ArrayLike, name: str) -> FloatArray:
    """Return one finite float per player."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, one per player: {values!r:.60}") from None
    if found.ndim != 1 or found.size == 0:
        raise InputError(f"{name} must be a vector with one number per player, not {found.shape}")
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        raise InputError(
            f"{name} must be finite, player {wrong[0]} has {found[wrong[0]]}: "
            "leave such players out, or run longer"
        )
    return found


def players(given: ArrayLike, n_players: int) -> IntArray:
    """Return distinct players as increasing indices, from indices or a boolean mask.

    Examples
    --------
    >>> players([True, False, True], 3), players([2, 0, 2], 3)
    (array([0, 2]), array([0, 2]))
    """
    found = np.asarray(given)
    if found.dtype == np.bool_ and found.shape == (n_players,):
        return np.flatnonzero(found)
    if found.size == 0:
        return np.empty(0, dtype=np.int64)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise InputError(
            f"give players as indices or as a boolean mask of length {n_players}, not {given!r}"
        )
    return np.unique(_known(found, n_players)).astype(np.int64)


def pairs(given: ArrayLike, n_players: int) -> IntArray:
    """Return pairs of different players as an array (k, 2)."""
    try:
        found = np.asarray(given)
    except ValueError:
        found = np.empty(1, dtype=object)
    if found.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if found.ndim != 2 or found.shape[1] != 2 or not np.issubdtype(found.dtype, np.integer):
        raise InputError(f"give pairs as [(i, j), …] of player indices, not {given!r}")
    same = np.flatnonzero(found[:, 0] == found[:, 1])
    if same.size:
        raise InputError(f"a pair needs two players, not {found[same[0]].tolist()}")
    return _known(found, n_players).astype(np.int64)


def _known(found: IntArray, n_players: int) -> IntArray:
    outside = found[(found < 0) | (found >= n_players)]
    if outside.size:
        raise InputError(f"there is no player {outside[0]}: players are 0 to {n_players - 1}")
    return found


def set_fields(configuration: object, **values: Any) -> None:
    """Set fields of a frozen dataclass to their plain form, from its `__post_init__`."""
    for name, value in values.items():
        object.__setattr__(configuration, name, value)
