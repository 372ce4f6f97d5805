"""Columns of a table as numbers or texts: features, the target, the weights of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.text import near_miss, quoted
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.tables.models import Task

if TYPE_CHECKING:
    import pyarrow as pa

ColumnKind: TypeAlias = Literal["numbers", "dates", "times", "yes/no", "text", "empty"]

# The types of Arrow, as `pyarrow.types.is_TYPE` calls them, of which each kind of column is.
TYPES: dict[ColumnKind, tuple[str, ...]] = {
    "yes/no": ("boolean",),
    "numbers": ("integer", "floating", "decimal"),
    "dates": ("timestamp", "date"),
    "times": ("time", "duration"),
    "text": ("string", "large_string", "string_view"),
}
SECONDS_PER_DAY = 86_400.0


def is_kind(found: pa.DataType, wanted: ColumnKind) -> bool:
    """Return whether a type of Arrow is of a kind; categories of texts are no text."""
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(found) for name in TYPES[wanted])


def kind_of(name: str, column: pa.ChunkedArray) -> ColumnKind:
    """Return what a column holds; raise InputError for something that no model here can use.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kind_of("age", pa.chunked_array([[31, None]]))
    'numbers'
    """
    import pyarrow as pa

    if column.null_count == len(column):
        return "empty"
    found = column.type
    if pa.types.is_dictionary(found):
        found = found.value_type
    for kind in TYPES:
        if is_kind(found, kind):
            return kind
    raise InputError(
        f"column {name!r:.60} holds {found!s:.40}, which is neither a number nor a text",
        remedy=("leave it out with {drop}", "convert it"),
    )


def as_numbers(column: pa.ChunkedArray) -> FloatArray:
    """Return a column that is no text as floats: dates in days, times in seconds, NaN if missing.

    Examples
    --------
    >>> import datetime
    >>> import pyarrow as pa
    >>> as_numbers(pa.chunked_array([[datetime.date(1970, 1, 2), None]]))
    array([ 1., nan])
    """
    import pyarrow as pa

    unit = 1.0
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_kind(column.type, "dates"):
        column, unit = column.cast(pa.timestamp("us"), safe=False), 1e6 * SECONDS_PER_DAY
    elif is_kind(column.type, "times"):
        wanted = pa.time64("us") if pa.types.is_time(column.type) else pa.duration("us")
        column, unit = column.cast(wanted, safe=False), 1e6
    if unit != 1.0:
        column = column.cast(pa.int64())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64) / unit


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without blanks around them; a text of blanks is missing."""
    import pyarrow as pa
    from pyarrow import compute

    texts = compute.utf8_trim_whitespace(column.cast(pa.string()))
    return compute.if_else(compute.equal(texts, ""), None, texts)


def as_texts(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Return a column as texts; None is missing, and so is a text of blanks.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_texts(pa.chunked_array([["a ", " ", None]])).tolist()
    ['a', None, None]
    """
    return np.array([*trimmed(column).to_pylist(), None], dtype=object)[:-1]


# Whole numbers of so few values are taken for classes.
MAX_WHOLE_CLASSES = 20
# Up to here a float holds every whole number.
LARGEST_CLASS = 2.0**53


@dataclass(frozen=True)
class Target:
    """The target of some rows, as the file has it."""

    name: str
    values: NDArray[Any]
    """Texts, or floats"""

    @property
    def is_text(self) -> bool:
        """Whether it holds texts."""
        return self.values.dtype == object

    def guessed_task(self) -> Task:
        """Return "classification" when it holds texts, or few whole numbers; else "regression"."""
        if self.is_text:
            return "classification"
        values = np.unique(self.values)
        whole = bool((values == np.round(values)).all())
        return "classification" if whole and len(values) <= MAX_WHOLE_CLASSES else "regression"

    def classes(self, *, text: bool) -> NDArray[Any]:
        """Return the classes as texts, or as whole numbers."""
        if self.is_text:
            if not text:
                raise InputError(
                    f"target {self.name!r:.60} holds numbers in the training rows and texts in the "
                    "test rows: encode both in the same way"
                )
            return self.values.astype(str)
        fractions = self.values[self.values != np.round(self.values)]
        if len(fractions):
            raise InputError(
                f"target {self.name!r:.60} holds numbers such as {fractions[0]:g}, which are no "
                "classes",
                remedy="give {model:'ridge'} or another model for numbers",
            )
        if np.abs(self.values).max() > LARGEST_CLASS:
            raise InputError(
                f"target {self.name!r:.60} holds whole numbers above 2⁵³, which cannot all be told "
                "apart",
                remedy=("put a letter before them", "give {task:'regression'}"),
            )
        whole = self.values.astype(np.int64)
        return whole.astype(str) if text else whole

    def numbers(self) -> NDArray[Any]:
        """Return the numbers; raise InputError where they are texts."""
        if self.is_text:
            raise InputError(
                f"target {self.name!r:.60} holds texts such as {self.values[0]!r:.40}, and the "
                "model predicts numbers",
                remedy="give {model:'logistic'} or another model for classes",
            )
        return self.values


def read_target(table: pa.Table, name: str, what: str) -> Target:
    """Return the target of the rows of a table; raise InputError where it is incomplete.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_target(pa.table({"y": ["no", "yes"]}), "y", "training").guessed_task()
    'classification'
    """
    column = column_of(table, name, what, "target")
    kind = kind_of(name, column)
    if kind in ("dates", "times"):
        raise InputError(f"target {name!r:.60} holds {kind}: give classes or numbers")
    if kind == "text":
        texts = as_texts(column)
        check_complete([text is None for text in texts], name, what)
        return Target(name, texts)
    numbers = as_numbers(column)
    check_complete(np.isnan(numbers), name, what)
    return Target(name, numbers)


def check_complete(missing: Any, name: str, what: str, numbers: IntArray | None = None) -> None:
    """Raise InputError where cells of a column are missing (`numbers`: of its rows)."""
    rows = np.flatnonzero(missing)
    if len(rows):
        first = rows[0] + 1 if numbers is None else numbers[rows[0]]
        raise InputError(
            f"column {name!r:.60} is missing in {len(rows):,} of the {len(missing):,} {what} rows, "
            f"first in row {first}: give each a value, or remove these rows"
        )


def weights_of(table: pa.Table, name: str, what: str) -> NDArray[Any]:
    """Return a column of weights; raise InputError where one is missing or below 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> weights_of(pa.table({"w": [1, 2]}), "w", "training")
    array([1., 2.])
    """
    column = column_of(table, name, what, "weights=")
    if kind_of(name, column) not in ("numbers", "yes/no"):
        raise InputError(
            f"must be a column of numbers, and {name!r:.60} of the {what} rows holds none",
            parameter="weights",
        )
    found = as_numbers(column)
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(wrong):
        raise InputError(
            f"are missing, infinite or below 0 in row {wrong[0] + 1} of the {what} rows, column "
            f"{name!r:.60}",
            parameter="weights",
            remedy="give every row a weight of at least 0",
        )
    return found


def texts_of(
    table: pa.Table, name: str, what: str, role: str, numbers: IntArray | None = None
) -> list[str]:
    """Return a column as texts; raise InputError where one is missing (`numbers`: of the rows)."""
    texts = as_texts(column_of(table, name, what, role))
    check_complete([text is None for text in texts], name, what, numbers)
    return list(map(str, texts))


def column_of(table: pa.Table, name: str, what: str, role: str) -> Any:
    """Return a column by name; if it is missing, the InputError lists them all."""
    if name not in table.column_names:
        raise InputError(
            f"the {what} rows have no column {name!r:.60} ({role}): they have "
            f"{quoted(table.column_names)}{near_miss(str(name), table.column_names)}"
        )
    return table.column(name)
