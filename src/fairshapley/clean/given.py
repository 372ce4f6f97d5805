"""The rows to be judged: standardised points with numbered labels, from a table or from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.text import quoted, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.clean.cross_fitting import FOLDS
from fairshapley.errors import InputError
from fairshapley.games.game import check_names
from fairshapley.games.player_data import column, feature_matrix, read_targets
from fairshapley.tables.columns import as_texts, column_of, kind_of, read_target
from fairshapley.tables.preprocessing import Preprocessor
from fairshapley.tables.reading import arrow_table, check_typos, row_labels

LEAST_ROWS = 20
# A target of numbers is cut into so many ranges; half as many for few rows.
RANGES, RANGES_OF_FEW, FEW_ROWS = 10, 5, 200
# The name of the labels that were given as an array.
LABEL = "label"

Categories: TypeAlias = tuple[str, list[str], IntArray]
"""A column of categories: its name, its categories, and their codes in the rows"""


@dataclass(frozen=True, eq=False)
class Given:
    """Rows as standardised points with numbered labels."""

    table: Any
    """The rows as they came, as a table of Arrow"""
    target: str
    labels: NDArray[Any]
    """The labels, or numbers, as given"""
    codes: IntArray
    """The class of each row; of a number, the range that it lies in"""
    classes: NDArray[Any]
    """The label of each code; of a range, the middle of its numbers"""
    ordered: bool
    """Whether the target holds numbers"""
    points: FloatArray
    owners: NDArray[Any]
    """The column that each feature comes from"""
    test: tuple[FloatArray, NDArray[Any]] | None
    """Rows to score on: points and `targets`"""
    names: tuple[str, ...]
    notes: tuple[str, ...]
    """The columns that were dropped"""
    column: Categories | None = None
    """The column of categories that the points leave out"""
    hidden: float = 0.0
    """The largest share of labels that may be wrong in one category"""

    @property
    def targets(self) -> NDArray[Any]:
        """What a model is fitted to: codes of classes, or numbers."""
        return self.labels if self.ordered else self.codes

    def without(self, name: str) -> Given:
        """Return the same rows without the features of a column."""
        kept = self.owners != name
        test = None if self.test is None else (self.test[0][:, kept], self.test[1])
        return replace(self, points=self.points[:, kept], owners=self.owners[kept], test=test)


def read_given(
    rows: Any, target: Any, test: Any, names: Sequence[str] | str | None, drop: Sequence[str]
) -> Given:
    """Read rows and their labels; raise InputError where nothing can be told of them.

    Examples
    --------
    >>> table = {"x": list(range(20)), "town": 10 * ["a", "b"], "y": 10 * ["no", "yes"]}
    >>> given = read_given(table, "y", None, None, ())
    >>> given.codes[:3], given.owners.tolist()
    (array([0, 1, 0]), ['x', 'town', 'town'])
    """
    from sklearn.preprocessing import StandardScaler

    in_table = isinstance(target, str)
    if not in_table and test is not None and len(test) != 2:
        raise InputError("is a pair (X, y) where no table is given", parameter="test")
    table = arrow_table(rows, "training rows") if in_table else _table(rows, target, "")
    name = target if in_table else LABEL
    aside = {*drop, *([names] if isinstance(names, str) else [])}
    for wanted in (name, *aside):
        column_of(table, wanted, "training", "a parameter names it")
    check_typos(table, aside, "training")
    labels, ordered = _labels(table, name, "training")
    if len(labels) < LEAST_ROWS:
        raise InputError(
            f"at least {LEAST_ROWS} rows are needed (got {len(labels):,})", remedy="give more rows"
        )
    columns = [kept for kept in table.column_names if kept not in {name, *aside}]
    encoder = Preprocessor.fit(table, columns)
    scaler = StandardScaler().fit(features := encoder.encode(table, "training"))
    codes, classes = _ranges(labels) if ordered else _classes(labels)
    known = None
    if test is not None:
        others = arrow_table(test, "test rows") if in_table else _table(test[0], test[1], "_test")
        truths, numbers = _labels(others, name, "test")
        seen = np.isin(truths, classes) | ordered
        if numbers != ordered or not seen.any():
            raise InputError("the test rows have other classes: give rows of the same classes")
        known = scaler.transform(encoder.encode(others, "test"))[seen], truths[seen]
        if not ordered:
            known = known[0], np.searchsorted(classes, known[1])
    named: Any = row_labels(rows) if names is None else names
    if isinstance(names, str):
        named = [cell or "" for cell in as_texts(table.column(names))]
    notes = encoder.notes if in_table else ()
    small = classes[np.bincount(codes) < FOLDS]
    if len(small):
        listed = quoted([str(label) for label in small])
        notes = (*notes, f"classes of fewer than {FOLDS} rows cannot be judged: {listed}")
    return Given(
        table,
        name,
        labels,
        codes,
        classes,
        ordered,
        scaler.transform(features),
        np.array(encoder.owners),
        known,
        check_names(named, len(labels))
        or tuple(f"row {number}" for number in range(1, len(labels) + 1)),
        notes,
    )


def _table(features: Any, labels: Any, part: str) -> Any:
    """Return arrays as a table."""
    import pyarrow as pa

    matrix = feature_matrix(features, f"X{part}")
    targets = column(read_targets(labels, f"y{part}"), len(matrix), f"y{part}", f"X{part}")
    columns = {f"x{place}": numbers for place, numbers in enumerate(matrix.T)}
    return pa.table({**columns, LABEL: pa.array(targets.tolist())})


def _labels(table: Any, name: str, what: str) -> tuple[NDArray[Any], bool]:
    """Return the labels as the table has them, and whether they are numbers."""
    target = read_target(table, name, what)
    if target.guessed_task() == "regression":
        return target.values, True
    labels = target.classes(text=target.is_text)
    return (labels.astype(bool) if kind_of(name, table[name]) == "yes/no" else labels), False


def _classes(labels: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    classes, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes)
    if len(sizes) == 1:
        raise InputError("all rows have the same label: give rows of two classes or more")
    if (sizes >= FOLDS).sum() < 2:
        raise InputError(
            f"{several(len(sizes), 'class', 'classes')} for {len(labels):,} rows, and fewer than "
            f"two of them have {FOLDS} rows or more: join classes, or give more rows"
        )
    return codes, classes


def _ranges(numbers: FloatArray) -> tuple[IntArray, NDArray[Any]]:
    """Return the range of each number, and the middle of each range."""
    count = RANGES_OF_FEW if len(numbers) < FEW_ROWS else RANGES
    edges = np.unique(np.quantile(numbers, np.arange(1, count) / count))
    codes = np.unique(np.searchsorted(edges, numbers, side="right"), return_inverse=True)[1]
    middles = [np.median(numbers[codes == code]) for code in range(int(codes.max()) + 1)]
    return codes, np.array(middles)
