"""Rows of features, as an array or a DataFrame, mixed column by column for a prediction."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.frames import pandas_frame
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError

# Kinds of columns an array may have: numbers, booleans, texts, dates, any objects.
_KINDS = "biufOUSMm"


class Table:
    """Rows in the form in which predict is handed them; what is handed out is a copy.

    Parameters
    ----------
    rows
        A 2-d array, or a pandas DataFrame.
    labels
        The names of the columns.
    place
        The dtype and the device of a torch module, where mixtures are made; empty for other models.
    """

    def __init__(
        self, rows: Any, labels: Sequence[Hashable], place: dict[str, Any] | None = None
    ) -> None:
        self.rows, self.labels, self._place = rows, tuple(labels), place or {}
        self.is_frame = hasattr(rows, "iloc")
        columns = "a DataFrame with the columns of X"
        self.kind = columns if self.is_frame else f"an array of {rows.dtype}"
        """What predict is handed, in words"""
        self._tensor: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        return vars(self) | {"_tensor": None}

    def __fingerprint_state__(self) -> Any:
        """Return the rows: predict is not handed the labels of an array."""
        return self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: IntArray) -> Table:
        """Return some rows, as a table of their own."""
        return Table(self.handed(rows), self.labels)

    def handed(self, rows: IntArray) -> Any:
        """Return some rows, as predict is handed them."""
        return self.rows.take(rows).reset_index(drop=True) if self.is_frame else self.rows[rows]

    def followed_by(self, other: Table, place: dict[str, Any] | None = None) -> Table:
        """Return the rows of both tables, one after the other; mixed on the device of a module."""
        mine, theirs = ("a data frame" if one.is_frame else "an array" for one in (self, other))
        if mine != theirs:
            raise InputError(
                f"X is {mine} and background {theirs}: give both as arrays or both as frames"
            )
        if not self.is_frame:
            if (self.rows.dtype.kind in "biuf") != (other.rows.dtype.kind in "biuf"):
                raise InputError(
                    f"X holds {self.rows.dtype} and background {other.rows.dtype}: give both the "
                    "same dtype"
                )
            return Table(np.concatenate([self.rows, other.rows]), self.labels, place)
        import pandas as pd

        dtypes = zip(self.labels, self.rows.dtypes, other.rows.dtypes, strict=True)
        for label, one, two in dtypes:
            if one != two and not (_is_plain(one) and _is_plain(two)):
                raise InputError(
                    f"column {label!r} is {one} in X and {two} in background: give both the same "
                    "dtype"
                )
        return Table(pd.concat([self.rows, other.rows], ignore_index=True), self.labels)

    def mixed(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        """Return each row's features where its mask is True, and each other row's elsewhere.

        The result has ``len(masks)·len(others)`` rows, grouped by mask.
        """
        if self.is_frame:
            source = np.where(masks[:, None], rows[:, None, None], others[:, None])
            return self.picked(source.reshape(-1, len(self.labels)))
        values, where, parts = self.rows, np.where, (masks, rows, others)  # type: Any, Any, Any
        if self._place:
            import torch

            if self._tensor is None:
                self._tensor = torch.as_tensor(self.rows, **self._place)
            values, where = self._tensor, torch.where
            parts = [torch.as_tensor(part, device=values.device) for part in parts]
        mask, mine, theirs = parts
        mixture = where(mask[:, None], values[mine][:, None], values[theirs][None])
        return mixture.reshape(-1, len(self.labels))

    def picked(self, source: IntArray) -> Any:
        """Rows whose contents come from these rows, (rows, columns), as predict is handed them."""
        if not self.is_frame:
            return np.take_along_axis(self.rows, source, axis=0)
        import pandas as pd

        columns = {at: self.rows.iloc[:, at].array.take(rows) for at, rows in enumerate(source.T)}
        mixture = pd.DataFrame(columns)
        mixture.columns = self.rows.columns
        return mixture

    def as_array(self, who: str) -> Table:
        """Return the columns as an array of numbers, for one who takes nothing else."""
        if not self.is_frame and self.rows.dtype.kind in "biuf":
            return self
        columns = [as_numbers(self.column(at)) for at in range(len(self.labels))]
        for label, column in zip(self.labels, columns, strict=True):
            if column is None:
                raise InputError(
                    f"column {label!r} holds no numbers, and {who} takes nothing else: encode it "
                    "first"
                )
        return Table(np.array(columns).T.copy(), self.labels)

    def average(self) -> Table:
        """One row: the mean of each column of numbers, the most frequent content of others."""
        means = [self._average(at) for at in range(len(self.labels))]
        if not self.is_frame:
            dtype = np.float64 if self.rows.dtype.kind in "biu" else self.rows.dtype
            return Table(np.array([means], dtype=dtype), self.labels)
        import pandas as pd

        columns = {}
        for label, mean, dtype in zip(self.labels, means, self.rows.dtypes, strict=True):
            whole = isinstance(mean, float) and dtype.kind in "iu"
            columns[label] = pd.Series([mean], dtype=np.float64 if whole else dtype)
        return Table(pd.DataFrame(columns), self.labels)

    def _average(self, at: int) -> Any:
        found = self._numbers(at)
        if found is not None and not np.isnan(found).all():
            return float(np.mean(found[~np.isnan(found)]))
        return Counter(self.column(at).tolist()).most_common(1)[0][0]

    def column(self, at: int) -> NDArray[Any]:
        """Return one column; of a frame, what is not of numpy's numbers as objects."""
        if not self.is_frame:
            return self.rows[:, at]
        series = self.rows.iloc[:, at]
        return series.to_numpy(dtype=None if _is_plain(series.dtype) else object)

    def is_number(self, at: int) -> bool:
        """Return whether a column holds numbers alone."""
        return self._numbers(at) is not None

    def _numbers(self, at: int) -> FloatArray | None:
        """Return a column of numbers; the categories of a frame are none."""
        coded = self.is_frame and self.rows.dtypes.iloc[at] == "category"
        return None if coded else as_numbers(self.column(at))


def _is_plain(dtype: Any) -> bool:
    """Return whether a column of a frame holds numbers of numpy."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def as_table(data: Any, what: str, feature_names: Sequence[str] | None) -> Table:
    """A copy of the rows that a user gives, or an InputError that says what is wrong with them."""
    data = pandas_frame(data)
    is_frame = hasattr(data, "iloc") and hasattr(data, "columns")
    rows: Any = data.reset_index(drop=True) if is_frame else _array(data, what)
    if rows.ndim != 2 or 0 in rows.shape:
        raise InputError(
            f"{what} must have rows and columns, at least one of each; its shape is {rows.shape}"
        )
    if not is_frame:
        labels: Sequence[Hashable] = range(rows.shape[1])
        if feature_names is not None:
            labels = checks.different_names("feature_names", feature_names, len(labels))
        return Table(rows, labels)
    if feature_names is not None:
        raise InputError("a DataFrame has its own column names: leave feature_names out")
    twice = rows.columns[rows.columns.duplicated()]
    if len(twice):
        raise InputError(f"{what} has the column {twice[0]!r} twice: give each its own name")
    return Table(rows.copy(), rows.columns)


def _array(data: Any, what: str) -> NDArray[Any]:
    if hasattr(data, "toarray"):
        data = data.toarray()  # sparse: a mixture of rows is dense anyway
    elif hasattr(data, "detach"):
        data = data.detach().cpu().numpy()
    try:
        values = np.array(data)
    except ValueError:
        raise InputError(f"{what} must be a 2-d array: its rows have different lengths") from None
    if values.dtype.kind not in _KINDS:
        raise InputError(f"{what} holds {values.dtype}, it must hold numbers, texts or dates")
    if values.dtype.kind in "US" and not isinstance(data, np.ndarray):
        # numpy has made texts of any numbers among them.
        raise InputError(f"{what} holds texts: give a DataFrame, or an array with dtype=object")
    return values


def as_numbers(column: NDArray[Any]) -> FloatArray | None:
    """A column as floats, NaN where it is missing; None where it holds anything but numbers."""
    if column.dtype.kind in "iuf":
        return column.astype(np.float64)
    if column.dtype.kind != "O":
        return None
    items = [None if _is_missing(item) else item for item in column.tolist()]
    plain = all(
        item is None or (isinstance(item, numbers.Real) and not isinstance(item, bool | np.bool_))
        for item in items
    )
    try:
        return np.array(items, dtype=np.float64) if plain else None
    except OverflowError:  # whole numbers of Python that no float holds
        return None


def _is_missing(item: object) -> bool:
    """Return whether an object is None or pandas.NA; NaN and NaT are what differs from itself."""
    return item is None or type(item).__name__ == "NAType"
