"""Columns of a table as numbers or texts, with what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

ColumnKind: TypeAlias = Literal["numbers", "dates", "times", "yes/no", "text", "empty"]

SECONDS_PER_DAY = 86_400.0
# Arrow's units of time, in seconds.
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def kind_of(name: str, column: pa.ChunkedArray) -> ColumnKind:
    """What a column holds, or an InputError for something that no model here can use.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kind_of("age", pa.chunked_array([[31, None]]))
    'numbers'
    """
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind) or column.null_count == len(column):
        return "empty"
    if types.is_boolean(kind):
        return "yes/no"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "dates"
    if types.is_time(kind) or types.is_duration(kind):
        return "times"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    raise InputError(
        f"column {name!r:.60} holds {kind!s:.40}, which is neither a number nor a text: leave "
        "it out with drop=, or convert it"
    )


def as_numbers(column: pa.ChunkedArray) -> FloatArray:
    """A column of any kind but text as floats: dates in days, times in seconds; NaN is missing.

    Examples
    --------
    >>> import datetime
    >>> import pyarrow as pa
    >>> as_numbers(pa.chunked_array([[datetime.date(1970, 1, 2), None]]))
    array([ 1., nan])
    """
    import pyarrow as pa

    plain, types, scale = _decoded(column), pa.types, 1.0
    if types.is_timestamp(plain.type):
        scale = UNITS[plain.type.unit] / SECONDS_PER_DAY
        plain = plain.cast(pa.int64())
    elif types.is_date(plain.type):
        plain = plain.cast(pa.date32()).cast(pa.int32())
    elif types.is_time(plain.type) or types.is_duration(plain.type):
        scale = UNITS[plain.type.unit]
        plain = plain.cast(pa.int32() if types.is_time32(plain.type) else pa.int64())
    elif types.is_boolean(plain.type):
        plain = plain.cast(pa.int8())
    numbers = plain.cast(pa.float64(), safe=False).to_numpy()
    return np.asarray(numbers, dtype=np.float64) * scale


def as_texts(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.object_]]:
    """A column as texts; None is missing, and so is a text of blanks.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_texts(pa.chunked_array([["a ", " ", None]])).tolist()
    ['a', None, None]
    """
    parts = [_texts(chunk) for chunk in column.chunks]
    return np.concatenate([np.empty(0, dtype=object), *parts])


def _texts(chunk: pa.Array) -> np.ndarray[Any, np.dtype[np.object_]]:
    """The texts of an array; those that a dictionary holds once are not copied."""
    import pyarrow as pa

    if pa.types.is_dictionary(chunk.type):
        words = np.concatenate([_texts(chunk.dictionary), np.array([None], dtype=object)])
        places: IntArray = chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        return words[places]
    if not pa.types.is_string(chunk.type):
        chunk = chunk.cast(pa.string())
    texts = [None if one is None else one.strip() or None for one in chunk.to_pylist()]
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, where a column keeps them once and refers to them."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column
