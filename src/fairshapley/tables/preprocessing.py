"""The default preprocessing of tables: every decision is made on the training rows, and said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.text import quoted, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.tables.columns import ColumnKind, as_numbers, as_texts, kind_of

if TYPE_CHECKING:
    import pyarrow as pa

# Categories with a column of their own; the others are joined.
MOST_CATEGORIES = 20
# A category of one row says nothing that the row does not.
LEAST_ROWS = 2
# Notes that name a column each.
MOST_SENTENCES = 50
_SPECIAL_NUMBERS = {"dates": "dates, as days", "times": "times, as seconds", "yes/no": "0 or 1"}


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """Features of rows, by what scikit-learn's transformers learnt from the training rows.

    First come the columns of numbers, dates, times and truth values, standardised; then a mark for
    each of them that has missing values; then the categories of the columns of text, one-hot.

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

    numbers: dict[str, ColumnKind]
    """The columns of numbers, with what they hold"""
    texts: tuple[str, ...]
    """The columns of text"""
    sizes: FloatArray
    """The largest size in each of them; numbers are divided by it before anything is squared"""
    scaler: Any
    """What makes features of the numbers; None where there are none"""
    encoder: Any
    """What makes features of the texts; None where there are none"""
    notes: tuple[str, ...]

    @classmethod
    def fit(cls, table: pa.Table, names: Sequence[str]) -> Preprocessor:
        """Decide how each of the columns becomes features."""
        numbers: dict[str, ColumnKind] = {}
        cells: dict[str, NDArray[Any]] = {}
        dropped: list[str] = []
        given = _by_name(table)
        for name in names:
            kind = kind_of(name, given[name])
            values = as_texts(given[name]) if kind == "text" else as_numbers(given[name])
            if reason := _useless(values):
                dropped.append(f"column {name!r:.60}: dropped, {reason}")
                continue
            cells[name] = values
            if kind != "text":
                numbers[name] = kind
        if not cells and table.num_rows == 1:
            raise InputError("one training row has nothing to differ from: give more rows")
        if not cells:
            raise InputError(
                f"no column is left to learn from: {dropped[0]}. Add columns of numbers or of "
                "categories; texts must be made into such first, by counts of words for example"
                if dropped
                else "no column is left to learn from: the table has the target alone"
            )
        texts = tuple(name for name in cells if name not in numbers)
        sizes = np.array([np.nanmax(np.abs(cells[name])) or 1.0 for name in numbers])
        scaler = _scaler().fit(_matrix(cells, numbers) / sizes) if numbers else None
        encoder = _encoder().fit(_matrix(cells, texts)) if texts else None
        fitted = cls(numbers, texts, sizes, scaler, encoder, tuple(_shortened(dropped)))
        return replace(fitted, notes=(*fitted._sentences(cells), *fitted.notes))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [20.0, 4.0, 9.0, None], "town": ["a", "b", "a", "b"]})
        >>> Preprocessor.fit(table, ["age", "town"]).feature_names
        ('age', 'age is missing', "town = 'a'", "town = 'b'")
        """
        numbers = list(self.numbers)
        found = [*numbers, *(f"{numbers[place]} is missing" for place in self._marked())]
        for name, frequent, rare in self._categories():
            # The encoder's order: what is missing comes last.
            texts = sorted(text for text in frequent if text is not None)
            found += [f"{name} = {text!r}" for text in texts]
            found += [f"{name} is missing"] if None in frequent else []
            found += [f"{name} is rare"] if rare else []
        return tuple(found)

    def encode(self, table: pa.Table, what: str) -> FloatArray:
        """Return the features of the rows of a table that has the same columns."""
        cells = self._cells(table, what)
        parts: list[FloatArray] = []
        if self.numbers:
            parts.append(self.scaler.transform(_matrix(cells, self.numbers) / self.sizes))
        if self.texts:
            parts.append(self.encoder.transform(_matrix(cells, self.texts)))
        return np.concatenate(parts, axis=1)

    def remarks(self, test: pa.Table) -> tuple[str, ...]:
        """Return what is decided for test rows that are unlike the training rows."""
        said = []
        cells = self._cells(test, "test")
        marked = set(self._marked().tolist())
        for place, name in enumerate(self.numbers):
            missing = int(np.isnan(cells[name]).sum())
            if missing and place not in marked:
                said.append(
                    f"column {name!r:.60}: {several(missing, 'missing value')} of the test rows "
                    "taken as the median of the training rows"
                )
        for name, frequent, rare in self._categories():
            unknown = sum(text not in frequent for text in cells[name])
            if unknown:
                rest = "the rare ones" if rare else "no category"
                said.append(
                    f"column {name!r:.60}: {several(unknown, 'test row')} with a category without "
                    f"a column of its own, taken as {rest}"
                )
        return tuple(_shortened(said))

    def _cells(self, table: pa.Table, what: str) -> dict[str, NDArray[Any]]:
        """Return columns as numbers and texts; raise InputError where they do not fit."""
        given = _by_name(table)
        cells: dict[str, NDArray[Any]] = {}
        for name in (*self.numbers, *self.texts):
            if name not in given:
                raise InputError(
                    f"the {what} rows have no column {name!r:.60}, which the training rows have",
                    remedy=("give it", "leave it out with {drop}"),
                )
            kind = kind_of(name, given[name])
            wanted = self.numbers.get(name)
            if wanted is not None and kind not in (wanted, "empty"):
                raise InputError(
                    f"column {name!r:.60} holds {wanted} in the training rows and {kind} in the "
                    f"{what} rows",
                    remedy=("make them agree", "leave it out with {drop}"),
                )
            cells[name] = as_texts(given[name]) if wanted is None else as_numbers(given[name])
        return cells

    def _marked(self) -> IntArray:
        """Return the places of the columns of numbers whose missing values are marked."""
        if self.scaler is None:
            return np.empty(0, dtype=np.int64)
        return self.scaler["missing"].features_

    def _categories(self) -> Iterator[tuple[str, set[str | None], set[str | None]]]:
        """Yield each column of text, the categories with a feature, and those that share one."""
        if self.encoder is None:
            return
        columns = zip(self.encoder.categories_, self.encoder.infrequent_categories_, strict=True)
        for name, (known, found) in zip(self.texts, columns, strict=True):
            rare = set() if found is None else set(found)
            yield name, set(known) - rare, rare

    def _sentences(self, cells: dict[str, NDArray[Any]]) -> list[str]:
        """Return one for all columns of numbers, and one for each column that is special."""
        said = []
        if self.numbers:
            said.append(
                f"{several(len(self.numbers), 'column')} of numbers, standardised with the mean "
                f"and standard deviation of the training rows: {quoted(list(self.numbers))}"
            )
        return said + _shortened([*self._about_numbers(cells), *self._about_texts(cells)])

    def _about_numbers(self, cells: dict[str, NDArray[Any]]) -> Iterator[str]:
        marked = set(self._marked().tolist())
        for place, (name, kind) in enumerate(self.numbers.items()):
            words = [_SPECIAL_NUMBERS[kind]] if kind in _SPECIAL_NUMBERS else []
            if place in marked:
                median = np.nanmedian(cells[name])
                missing = several(int(np.isnan(cells[name]).sum()), "missing value")
                words.append(
                    f"{missing} replaced by the median of the training rows, {median:.6g}, and "
                    "marked in a column of their own"
                )
            if words:
                yield f"column {name!r:.60}: {'; '.join(words)}"

    def _about_texts(self, cells: dict[str, NDArray[Any]]) -> Iterator[str]:
        for name, frequent, rare in self._categories():
            missing = sum(text is None for text in cells[name])
            words = [f"text, {len((frequent | rare) - {None})} categories, one-hot"]
            if joined := len(rare - {None}):
                words.append(f"{several(joined, 'rare one')} joined")
            if missing:
                place = "a category of their own" if None in frequent else "a rare category"
                words.append(f"{several(missing, 'missing value')} as {place}")
            yield f"column {name!r:.60}: {'; '.join(words)}"


def _by_name(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the columns by name; asking the table for each takes time by the number of columns."""
    return dict(zip(table.column_names, table.columns, strict=True))


def _matrix(cells: dict[str, NDArray[Any]], names: Iterable[str]) -> NDArray[Any]:
    return np.column_stack([cells[name] for name in names])


def _useless(values: NDArray[Any]) -> str | None:
    """Return why a column says nothing about the rows, or None."""
    if values.dtype == object:
        counts = Counter(values.tolist())
        if set(counts) == {None}:
            return "all values are missing"
        if len(counts) > 1 and max(counts.values()) < LEAST_ROWS:
            return "each of its texts is there once"
        return "all values are the same" if len(counts) == 1 else None
    missing = np.isnan(values)
    if missing.all():
        return "all values are missing"
    same = not missing.any() and values.min() == values.max()
    return "all values are the same" if same else None


def _scaler() -> Any:
    """Make what standardises numbers, with the median for missing ones, and a mark for these."""
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import StandardScaler

    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return FeatureUnion([("scaled", scaled), ("missing", MissingIndicator(error_on_new=False))])


def _encoder() -> Any:
    """Make what encodes texts one-hot; missing is a category, and rare ones share a column."""
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(
        min_frequency=LEAST_ROWS,
        max_categories=MOST_CATEGORIES + 1,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )


def _shortened(sentences: list[str]) -> list[str]:
    """Return as many sentences on columns as anybody reads."""
    rest = len(sentences) - MOST_SENTENCES
    more = [f"likewise {rest:,} more columns"] if rest > 0 else []
    return [*sentences[:MOST_SENTENCES], *more]
