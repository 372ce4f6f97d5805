"""The arguments of a feature game, checked."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.games.features.predictor import known_outputs

Rows: TypeAlias = int | slice | Iterable[int] | NDArray[Any] | None


def check_rows(rows: Rows, n_rows: int) -> IntArray:
    """The positions of the rows to explain, or an InputError."""
    if rows is None:
        return np.arange(n_rows)
    if isinstance(rows, slice):
        positions = np.arange(n_rows)[rows]
    elif isinstance(rows, str) or not isinstance(rows, Iterable):
        positions = np.array([_check_row(rows)])
    else:
        listed = np.atleast_1d(rows).tolist() if isinstance(rows, np.ndarray) else list(rows)
        if listed and all(isinstance(row, bool | np.bool_) for row in listed):
            if len(listed) != n_rows:
                raise InputError(f"a mask of rows must have the {n_rows} of X, not {len(listed)}")
            listed = np.flatnonzero(listed).tolist()
        positions = np.array([_check_row(row) for row in listed], dtype=np.int64)
    if not len(positions):
        raise InputError("rows names no row: give at least one")
    outside = positions[(positions < -n_rows) | (positions >= n_rows)]
    if len(outside):
        raise InputError(
            f"row {outside[0]} is out of range: X has the rows 0 to {n_rows - 1} (rows are "
            "positions, not index labels)"
        )
    return positions % n_rows


def _check_row(row: Any) -> int:
    try:
        if isinstance(row, bool):
            raise TypeError
        return operator.index(row)
    except TypeError:
        raise InputError(
            f"rows must be a position, several, a slice or a boolean mask; {row!r:.40} is none"
        ) from None


def check_output_names(
    names: Sequence[str] | None, function: Callable[[Any], Any], n_outputs: int
) -> tuple[str, ...]:
    """The names of the outputs: those given, the model's classes, or numbers."""
    if names is None:
        return known_outputs(function, n_outputs)
    listed = isinstance(names, Iterable) and not isinstance(names, str)
    given = tuple(str(name) for name in names) if listed else ()
    if len(given) != n_outputs or len(set(given)) < n_outputs:
        raise InputError(
            f"output_names must be {n_outputs} different names, one per output of predict, "
            f"not {names!r}"
        )
    return given


def check_max_rows(max_rows: int | None) -> int | None:
    """The most rows of a call as an int, or an InputError."""
    return None if max_rows is None else checks.whole("max_rows", max_rows)


def check_range(value_range: tuple[float, float] | None) -> tuple[float, float] | None:
    """The range of the predictions as two floats, or an InputError."""
    return None if value_range is None else checks.value_range(value_range)


def check_output(output: int | str | None, names: Sequence[str]) -> int:
    """The column of the predictions that is meant, or an InputError."""
    choices = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    if output is None:
        if len(names) > 1:
            raise InputError(
                f"predict has {len(names)} outputs ({choices}): say which one with output=, a "
                f"number from 0 to {len(names) - 1} or a name"
            )
        return 0
    if isinstance(output, str):
        if output not in names:
            raise InputError(f"there is no output {output!r}; there are {choices}")
        return list(names).index(output)
    whole = isinstance(output, int | np.integer) and not isinstance(output, bool)
    if not whole or not -len(names) <= output < len(names):
        raise InputError(
            f"output must be a number from 0 to {len(names) - 1} or one of {choices}, "
            f"not {output!r}"
        )
    return int(output) % len(names)
