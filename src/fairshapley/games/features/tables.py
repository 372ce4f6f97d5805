"""Rows of features, as an array or a data frame, mixed column by column for a prediction."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.frames import pandas_frame
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

# Kinds of columns an array may have: numbers, booleans, texts, dates, any objects.
_KINDS = "biufOUSMm"


class ArrayTable:
    """Rows of a 2-d array; what is handed out is a fresh array of the same dtype."""

    def __init__(self, values: NDArray[Any], labels: tuple[Hashable, ...]) -> None:
        self.values = values
        self.labels = labels

    def __fingerprint_state__(self) -> NDArray[Any]:
        """The values: predict is not handed the labels."""
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> str:
        """What predict is handed, in words."""
        return f"an array of {self.values.dtype}"

    def take(self, rows: IntArray) -> ArrayTable:
        """Some rows, as a table of their own."""
        return ArrayTable(self.values[rows], self.labels)

    def handed(self, rows: IntArray) -> NDArray[Any]:
        """Some rows, as predict is handed them: a copy."""
        return self.values[rows]

    def followed_by(self, other: Table) -> ArrayTable:
        """The rows of both tables, one after the other."""
        if isinstance(other, FrameTable):
            raise InputError(
                "X is an array and background a data frame: give both as arrays or both as frames"
            )
        mine, theirs = self.values.dtype, other.values.dtype
        if (mine.kind in "biuf") != (theirs.kind in "biuf"):
            raise InputError(f"X holds {mine} and background {theirs}: give both the same dtype")
        return ArrayTable(np.concatenate([self.values, other.values]), self.labels)

    def mixed(self, masks: BoolArray, rows: IntArray, others: IntArray) -> NDArray[Any]:
        """For each mask its row's features where the mask is True, those of each other elsewhere.

        The result has ``len(masks)·len(others)`` rows, those of one mask together.
        """
        mine, theirs = self.values[rows][:, None, :], self.values[others][None]
        mixture = np.where(masks[:, None, :], mine, theirs)
        return mixture.reshape(-1, self.values.shape[1])

    def as_array(self) -> ArrayTable:
        """Itself."""
        return self

    def average(self) -> ArrayTable:
        """One row: the mean of each column of numbers, the most frequent content of others."""
        columns = [_average(self.column(at)) for at in range(len(self.labels))]
        kind = np.float64 if self.values.dtype.kind in "biu" else self.values.dtype
        return ArrayTable(np.array([columns], dtype=kind), self.labels)

    def column(self, at: int) -> NDArray[Any]:
        """One column."""
        column: NDArray[Any] = self.values[:, at]
        return column

    def coordinates(self, at: int) -> tuple[FloatArray, bool]:
        """One column as floats, and whether they are its numbers; other contents are numbered."""
        column = self.column(at)
        numbers = as_numbers(column)
        return (_codes(column, self.labels[at]), False) if numbers is None else (numbers, True)


class TensorTable(ArrayTable):
    """Rows that are mixed on the device of a torch module.

    Parameters
    ----------
    values, labels
        As for an array.
    place
        The dtype and the device of the module.
    """

    def __init__(
        self, values: NDArray[Any], labels: tuple[Hashable, ...], place: dict[str, Any]
    ) -> None:
        super().__init__(values, labels)
        self._place = place
        self._tensor: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what can be made again."""
        return vars(self) | {"_tensor": None}

    def mixed(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        """As `ArrayTable.mixed`, a tensor."""
        import torch

        if self._tensor is None:
            self._tensor = torch.as_tensor(self.values, **self._place)
        device = self._place["device"]
        mask, mine, theirs = (
            torch.as_tensor(part, device=device) for part in (masks, rows, others)
        )
        mixture = torch.where(
            mask[:, None], self._tensor[mine][:, None], self._tensor[theirs][None]
        )
        return mixture.reshape(-1, self.values.shape[1])


class FrameTable:
    """Rows of a data frame; what is handed out keeps the columns and their dtypes."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.labels: tuple[Hashable, ...] = tuple(frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def kind(self) -> str:
        """What predict is handed, in words."""
        return "a data frame with the columns of X"

    def take(self, rows: IntArray) -> FrameTable:
        """Some rows, as a table of their own."""
        return FrameTable(self.handed(rows))

    def handed(self, rows: IntArray) -> pd.DataFrame:
        """Some rows, as predict is handed them: a copy."""
        return self.frame.take(rows).reset_index(drop=True)

    def followed_by(self, other: Table) -> FrameTable:
        """The rows of both tables, one after the other."""
        import pandas as pd

        if isinstance(other, ArrayTable):
            raise InputError(
                "X is a data frame and background an array: give both as frames or both as arrays"
            )
        for at, label in enumerate(self.labels):
            mine, theirs = self.frame.dtypes.iloc[at], other.frame.dtypes.iloc[at]
            plain = [isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in (mine, theirs)]
            if mine != theirs and not all(plain):
                raise InputError(
                    f"column {label!r} is {mine} in X and {theirs} in background: "
                    "give both the same dtype"
                )
        return FrameTable(pd.concat([self.frame, other.frame], ignore_index=True))

    def mixed(self, masks: BoolArray, rows: IntArray, others: IntArray) -> pd.DataFrame:
        """As `ArrayTable.mixed`."""
        import pandas as pd

        columns = {}
        for at in range(len(self.labels)):
            source = np.where(masks[:, at, None], rows[:, None], others[None])
            columns[at] = self.frame.iloc[:, at].array.take(source.ravel())
        mixture = pd.DataFrame(columns)
        mixture.columns = self.frame.columns
        return mixture

    def as_array(self) -> ArrayTable:
        """The columns as an array of numbers, for models that take nothing else."""
        columns = [as_numbers(self.column(at)) for at in range(len(self.labels))]
        for label, column in zip(self.labels, columns, strict=True):
            if column is None:
                raise InputError(
                    f"column {label!r} holds no numbers, and a torch module takes nothing else: "
                    "encode it, or give a function that does"
                )
        return ArrayTable(np.stack([c for c in columns if c is not None], axis=1), self.labels)

    def average(self) -> FrameTable:
        """As `ArrayTable.average`."""
        frame = self.frame.head(1).copy()
        for at, label in enumerate(self.labels):
            value = _average(self.column(at))
            plain = isinstance(value, float) and self.frame.dtypes.iloc[at].kind in "iu"
            kind = np.float64 if plain else self.frame.dtypes.iloc[at]
            frame[label] = frame[label].astype(kind)
            frame.iloc[0, at] = value
        return FrameTable(frame)

    def column(self, at: int) -> NDArray[Any]:
        """One column."""
        return self.frame.iloc[:, at].to_numpy(dtype=object)

    def coordinates(self, at: int) -> tuple[FloatArray, bool]:
        """As `ArrayTable.coordinates`; categories and booleans are no numbers."""
        import pandas as pd

        column = self.frame.iloc[:, at]
        types = pd.api.types
        if types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype):
            return column.to_numpy(dtype=np.float64, na_value=np.nan), True
        numbers = as_numbers(column.to_numpy()) if column.dtype == object else None
        if numbers is not None:
            return numbers, True
        try:
            codes, _ = pd.factorize(column)
        except TypeError:
            raise _unhashable(self.labels[at]) from None
        return codes.astype(np.float64), False


Table: TypeAlias = ArrayTable | FrameTable


def as_table(data: Any, what: str, feature_names: Sequence[str] | None) -> Table:
    """A copy of the rows that a user gives, or an InputError that says what is wrong with them."""
    data = pandas_frame(data)
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return _frame_table(data, what, feature_names)
    values = _array(data, what)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            f"{what} must have rows and columns, at least one of each; its shape is {values.shape}"
        )
    labels: tuple[Hashable, ...] = tuple(range(values.shape[1]))
    if feature_names is not None:
        labels = _check_labels(feature_names, values.shape[1])
    return ArrayTable(values, labels)


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
        raise InputError(f"{what} holds texts: give a data frame, or an array with dtype=object")
    return values


def _frame_table(frame: pd.DataFrame, what: str, feature_names: Sequence[str] | None) -> FrameTable:
    if feature_names is not None:
        raise InputError("a data frame has its own column names: leave feature_names out")
    if 0 in frame.shape:
        raise InputError(
            f"{what} must have rows and columns, at least one of each; its shape is {frame.shape}"
        )
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"{what} has the column {twice[0]!r} twice: give each its own name")
    return FrameTable(frame.copy().reset_index(drop=True))


def _check_labels(feature_names: Sequence[str], n_columns: int) -> tuple[str, ...]:
    listed = isinstance(feature_names, Iterable) and not isinstance(feature_names, str)
    names = tuple(str(name) for name in feature_names) if listed else ()
    if len(names) != n_columns or len(set(names)) < n_columns:
        raise InputError(f"feature_names must be {n_columns} different names, one per column")
    return names


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


def _average(column: NDArray[Any]) -> Any:
    numbers = as_numbers(column)
    if numbers is not None and not np.isnan(numbers).all():
        return float(np.nanmean(numbers))
    return Counter(column.tolist()).most_common(1)[0][0]


def _is_missing(item: object) -> bool:
    """Whether an object is None or pandas.NA; NaN and NaT are what differs from itself."""
    return item is None or type(item).__name__ == "NAType"


def _codes(column: NDArray[Any], label: Hashable) -> FloatArray:
    """The contents of a column, numbered; everything missing (None, NaN, NaT) is one content."""
    number: dict[object, int] = {}
    try:
        keys = [None if _is_missing(item) or item != item else item for item in column.tolist()]
        codes = [number.setdefault(key, len(number)) for key in keys]
    except (TypeError, ValueError):
        raise _unhashable(label) from None
    return np.array(codes, dtype=np.float64)


def _unhashable(label: Hashable) -> InputError:
    return InputError(
        f"column {label!r} holds objects that cannot be compared: conditional expectations need "
        "numbers, texts, dates or categories"
    )
