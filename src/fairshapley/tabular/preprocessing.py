"""The default preprocessing of tables: every decision is made on the training rows, and said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.tabular.columns import Kind, as_numbers, as_texts, kind_of, listed

if TYPE_CHECKING:
    import pyarrow as pa

# Categories with a column of their own; the others are joined.
MOST_CATEGORIES = 20
# A category of one row says nothing that the row does not.
LEAST_ROWS = 2
# Notes that name a column each.
MOST_SENTENCES = 50


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, dates, times or truth values, standardised; missing ones marked."""

    name: str
    kind: Kind
    median: float
    mean: float
    scale: float
    missing: int
    """Missing values among the training rows; with any, a column that marks them follows"""

    @property
    def width(self) -> int:
        """How many features it becomes."""
        return 1 + bool(self.missing)

    def encode(self, column: pa.ChunkedArray) -> FloatArray:
        """The features of rows, shape (rows, 1 or 2)."""
        numbers = as_numbers(column)
        unknown = np.isnan(numbers)
        filled = np.where(unknown, self.median, numbers)
        # Halves, because the difference of two numbers near the largest float overflows.
        scaled = (0.5 * filled - 0.5 * self.mean) / self.scale * 2.0
        return np.column_stack([scaled, unknown]) if self.missing else scaled[:, None]

    def sentence(self) -> str | None:
        """What is special about the column."""
        kinds = {"dates": "dates, as days", "times": "times, as seconds", "yes/no": "0 or 1"}
        words = [kinds[self.kind]] if self.kind in kinds else []
        if self.missing:
            words.append(
                f"{_count(self.missing, 'missing value')} replaced by the median of the training "
                f"rows, {self.median:.6g}, and marked in a column of their own"
            )
        return f"column {self.name!r:.60}: {'; '.join(words)}" if words else None


@dataclass(frozen=True)
class TextColumn:
    """A column of categories, one-hot."""

    name: str
    categories: tuple[str, ...]
    joined: int
    """Further categories, which share a column"""
    missing: int

    @property
    def width(self) -> int:
        """How many features it becomes."""
        return len(self.categories) + bool(self.joined) + bool(self.missing)

    def encode(self, column: pa.ChunkedArray) -> FloatArray:
        """The features of rows: a column for each category, for the rest and for missing."""
        texts = as_texts(column)
        columns = [np.array([text == one for text in texts]) for one in self.categories]
        missing = np.array([text is None for text in texts])
        if self.joined:
            columns.append(~(np.logical_or.reduce([missing, *columns])))
        if self.missing:
            columns.append(missing)
        return np.column_stack(columns).astype(np.float64)

    def unknown(self, column: pa.ChunkedArray) -> int:
        """How many rows have a category that is nobody's among the training rows."""
        known = {*self.categories, None}
        return sum(text not in known for text in as_texts(column))

    def sentence(self) -> str:
        """How the column is encoded."""
        count = len(self.categories) + self.joined
        words = [f"text, {count} categories, one-hot"]
        if self.joined:
            words.append(f"{_count(self.joined, 'rare one', 'rare ones')} joined")
        if self.missing:
            words.append(f"{_count(self.missing, 'missing value')} as a category of their own")
        return f"column {self.name!r:.60}: {'; '.join(words)}"


@dataclass(frozen=True)
class Preprocessor:
    """Features of rows, by what was learnt from the training rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20.0, 40.0, None], "town": ["a", "b", "a"]})
    >>> fitted = Preprocessor.fit(table, ["age", "town"])
    >>> fitted.encode(table, "train").round(2)
    array([[-1.22,  0.  ,  1.  ,  0.  ],
           [ 1.22,  0.  ,  0.  ,  1.  ],
           [ 0.  ,  1.  ,  1.  ,  0.  ]])
    """

    columns: tuple[NumberColumn | TextColumn, ...]
    notes: tuple[str, ...]

    @classmethod
    def fit(cls, table: pa.Table, names: Sequence[str]) -> Preprocessor:
        """Decide how each of the columns becomes features."""
        columns: list[NumberColumn | TextColumn] = []
        dropped: list[str] = []
        given = _by_name(table)
        for name in names:
            column = given[name]
            kind = kind_of(name, column)
            known: NumberColumn | TextColumn | str
            if kind == "empty":
                known = f"column {name!r:.60}: dropped, all values are missing"
            elif kind == "text":
                known = _text_column(name, as_texts(column))
            else:
                known = _number_column(name, kind, as_numbers(column))
            if isinstance(known, str):
                dropped.append(known)
            else:
                columns.append(known)
        if not columns:
            raise InputError(
                "no column is left to learn from: "
                + (dropped[0] if dropped else "the table has the target alone")
            )
        return cls(tuple(columns), (*_sentences(columns), *_shortened(dropped)))

    @property
    def width(self) -> int:
        """The number of features."""
        return sum(column.width for column in self.columns)

    def encode(self, table: pa.Table, what: str) -> FloatArray:
        """The features of the rows of a table that has the same columns."""
        parts = []
        given = _by_name(table)
        for known in self.columns:
            if known.name not in given:
                raise InputError(
                    f"the {what} rows have no column {known.name!r:.60}, which the training rows "
                    f"have: give it, or leave it out with --drop {known.name!r:.60}"
                )
            column = given[known.name]
            kind = kind_of(known.name, column)
            if isinstance(known, NumberColumn) and kind not in (known.kind, "empty"):
                raise InputError(
                    f"column {known.name!r:.60} holds {known.kind} in the training rows and {kind} "
                    f"in the {what} rows: make them agree, or leave it out with --drop"
                )
            parts.append(known.encode(column))
        return np.concatenate(parts, axis=1)

    def remarks(self, test: pa.Table) -> tuple[str, ...]:
        """What is decided for test rows that are unlike the training rows."""
        said = []
        given = _by_name(test)
        for known in self.columns:
            column = given[known.name]
            missing = _missing(known, column)
            if missing and not known.missing:
                filled = "the median of the training rows"
                if isinstance(known, TextColumn):
                    filled = "no category"
                said.append(
                    f"column {known.name!r:.60}: {_count(missing, 'missing value')} of the test "
                    f"rows taken as {filled}"
                )
            if isinstance(known, TextColumn) and (unknown := known.unknown(column)):
                rest = "the rare ones" if known.joined else "no category"
                said.append(
                    f"column {known.name!r:.60}: {_count(unknown, 'test row')} with a category "
                    f"without a column of its own, taken as {rest}"
                )
        return tuple(_shortened(said))


def _by_name(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """The columns by name; asking the table for each takes time by the number of columns."""
    return dict(zip(table.column_names, table.columns, strict=True))


def _missing(known: NumberColumn | TextColumn, column: pa.ChunkedArray) -> int:
    if isinstance(known, TextColumn):
        return sum(text is None for text in as_texts(column))
    return int(np.isnan(as_numbers(column)).sum())


def _number_column(name: str, kind: Kind, numbers: FloatArray) -> NumberColumn | str:
    unknown = np.isnan(numbers)
    if unknown.all():
        return f"column {name!r:.60}: dropped, all values are missing"
    # Numbers near the largest float overflow when added or squared.
    size = float(np.abs(numbers[~unknown]).max()) or 1.0
    median = float(np.median(numbers[~unknown] / size)) * size
    filled = np.where(unknown, median, numbers)
    if filled.min() == filled.max() and not unknown.any():
        return f"column {name!r:.60}: dropped, all values are the same"
    shares = filled / size
    mean = float(shares.mean()) * size
    scale = float((shares - shares.mean()).std()) * size
    return NumberColumn(name, kind, median, mean, scale or 1.0, int(unknown.sum()))


def _text_column(name: str, texts: NDArray[Any]) -> TextColumn | str:
    counts = Counter(text for text in texts if text is not None)
    missing = sum(text is None for text in texts)
    frequent = [one for one, rows in counts.items() if rows >= LEAST_ROWS]
    kept = sorted(frequent, key=lambda one: (-counts[one], one))[:MOST_CATEGORIES]
    joined = len(counts) - len(kept)
    if not kept and not (missing and joined):
        return f"column {name!r:.60}: dropped, each of its texts is there once"
    if len(kept) + bool(joined) + bool(missing) < 2:
        return f"column {name!r:.60}: dropped, all values are the same"
    return TextColumn(name, tuple(sorted(kept)), joined, missing)


def _sentences(columns: Sequence[NumberColumn | TextColumn]) -> list[str]:
    """One for all columns of numbers, and one for each that is special."""
    numbers = [column.name for column in columns if isinstance(column, NumberColumn)]
    said = []
    if numbers:
        plural = "columns" if len(numbers) > 1 else "column"
        said.append(
            f"{len(numbers)} {plural} of numbers, standardised with the mean and standard "
            f"deviation of the training rows: {listed(numbers)}"
        )
    return said + _shortened([text for one in columns if (text := one.sentence()) is not None])


def _shortened(sentences: list[str]) -> list[str]:
    """As many sentences on columns as anybody reads."""
    rest = len(sentences) - MOST_SENTENCES
    return (
        [*sentences[:MOST_SENTENCES], f"likewise {rest:,} more columns"] if rest > 0 else sentences
    )


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
