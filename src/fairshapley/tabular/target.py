"""The target column, classes or numbers; and the weights of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.text import near_miss, quoted
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.tabular.columns import as_numbers, as_texts, kind_of
from fairshapley.tabular.models import Task

if TYPE_CHECKING:
    import pyarrow as pa

# Whole numbers of so few values are taken for classes.
MOST_WHOLE_CLASSES = 20
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
        """Classes when it holds texts, or few whole numbers; else numbers."""
        if self.is_text:
            return "classification"
        values = np.unique(self.values)
        whole = bool((values == np.round(values)).all())
        return "classification" if whole and len(values) <= MOST_WHOLE_CLASSES else "regression"

    def classes(self, *, text: bool) -> NDArray[Any]:
        """The classes as texts, or as whole numbers."""
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
                "classes: use model='ridge', or another model for numbers"
            )
        if np.abs(self.values).max() > LARGEST_CLASS:
            raise InputError(
                f"target {self.name!r:.60} holds whole numbers above 2⁵³, which cannot all be told "
                "apart: put a letter before them, or give task='regression'"
            )
        whole = self.values.astype(np.int64)
        return whole.astype(str) if text else whole

    def numbers(self) -> NDArray[Any]:
        """The numbers themselves."""
        if self.is_text:
            raise InputError(
                f"target {self.name!r:.60} holds texts such as {self.values[0]!r:.40}, and the "
                "model predicts numbers: use model='logistic', or another model for classes"
            )
        return self.values


def read_target(table: pa.Table, name: str, what: str) -> Target:
    """The target of the rows of a table, or an InputError where it is not there or incomplete.

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
    if kind == "empty":
        raise InputError(
            f"all values of target {name!r:.60} of the {what} rows are missing: give them, or "
            "another column as target="
        )
    values: NDArray[Any]
    if kind == "text":
        values = as_texts(column)
        missing = np.array([text is None for text in values])
    else:
        values = as_numbers(column)
        missing = np.isnan(values)
    if missing.any():
        raise InputError(
            f"target {name!r:.60} is missing in {int(missing.sum()):,} of the {len(values):,} "
            f"{what} rows, first in row {int(np.flatnonzero(missing)[0]) + 1}: remove these rows"
        )
    return Target(name, values)


def weights_of(table: pa.Table, name: str, what: str) -> NDArray[Any]:
    """A column of weights, or an InputError where one is missing or below 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> weights_of(pa.table({"w": [1, 2]}), "w", "training")
    array([1., 2.])
    """
    column = column_of(table, name, what, "weights=")
    if kind_of(name, column) not in ("numbers", "yes/no"):
        raise InputError(f"column {name!r:.60} (weights=) of the {what} rows holds no numbers")
    found = as_numbers(column)
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(wrong):
        raise InputError(
            f"column {name!r:.60} (weights=) is missing, infinite or below 0 in row {wrong[0] + 1} "
            f"of the {what} rows: give every row a weight of at least 0"
        )
    return found


def texts_of(
    table: pa.Table, name: str, what: str, role: str, numbers: IntArray | None = None
) -> list[str]:
    """A column as texts, or an InputError where one is missing; `numbers` are those of the rows."""
    texts: list[str | None] = as_texts(column_of(table, name, what, role)).tolist()
    if None in texts:
        place = texts.index(None)
        row = place + 1 if numbers is None else numbers[place]
        raise InputError(
            f"column {name!r:.60} ({role}) is missing in row {row}: give every row a value"
        )
    return [str(text) for text in texts]


def column_of(table: pa.Table, name: str, what: str, role: str) -> Any:
    """A column by name, or an InputError that lists what there is."""
    if name not in table.column_names:
        raise InputError(
            f"the {what} rows have no column {name!r:.60} ({role}): they have "
            f"{quoted(table.column_names)}{near_miss(name, table.column_names)}"
        )
    return table.column(name)
