"""Tables of every kind, in and out: pandas, polars, Arrow, Hugging Face data sets (by narwhals).

pandas has an index and may have a column name twice, which narwhals does not know: its frames keep
a way of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.extras import extra
from fairshapley._basics.text import near_miss
from fairshapley.errors import InputError

KINDS = ("pandas", "polars", "pyarrow", "datasets", "dict")


def read_frame(data: Any) -> Any:
    """Return data as scikit-learn takes them.

    A Hugging Face dataset becomes a pandas DataFrame, a query (a lazy frame) the rows it gives;
    everything else stays as it is.

    Examples
    --------
    >>> read_frame([[1.0]])
    [[1.0]]
    """
    if is_dataset(data):
        return data.with_format("pandas")[:]
    if _has_index(data) or isinstance(data, np.ndarray):
        return data
    found = nw.from_native(data, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    return nw.to_native(found, pass_through=True)


def pandas_frame(data: Any) -> Any:
    """Return data as they are, but every kind of table as a pandas DataFrame."""
    found = read_frame(data)
    if _has_index(found) or not is_frame(found):
        return found
    with extra("report", "a table of this kind needs pandas here", "or give an array"):
        return _known(found).to_pandas()


def is_dataset(data: Any) -> bool:
    """Whether data are a Hugging Face dataset; an InputError for several, or for a stream."""
    kind = type(data)
    if kind.__module__.partition(".")[0] != "datasets" or "Dataset" not in kind.__name__:
        return False
    if kind.__name__ != "Dataset":
        raise InputError(f"{kind.__name__} is not one table: give a Dataset, such as data['train']")
    return True


def is_frame(data: object) -> bool:
    """Return whether data are a pandas or polars DataFrame, or an Arrow table.

    Examples
    --------
    >>> is_frame([[1.0]])
    False
    """
    return _has_index(data) or nw.dependencies.is_into_dataframe(data)


def column_names(frame: Any) -> list[Any]:
    """Return the names of the columns; in pandas they need not be texts."""
    return list(frame.columns if _has_index(frame) else _known(frame).columns)


def take_rows(frame: Any, rows: NDArray[Any]) -> Any:
    """Return some of the rows, in the order given, as a frame of the same kind."""
    return frame.iloc[rows] if _has_index(frame) else _known(frame)[rows].to_native()


def without(frame: Any, column: str, what: str) -> tuple[Any, NDArray[Any]]:
    """A frame without one of its columns, and that column; an InputError where it is not there."""
    known = _known(frame)
    if column not in known.columns:
        names = [str(name) for name in known.columns]
        raise InputError(f"X of {what} has no column {column!r:.60}{near_miss(column, names)}")
    return known.drop(column).to_native(), known[column].to_numpy()


def copied(frame: Any) -> Any:
    """Return a frame that does not change with the one given."""
    return frame.copy() if _has_index(frame) else _known(frame).clone().to_native()


def stacked(frames: Sequence[Any]) -> Any:
    """Return the rows of several frames of one kind, one after the other."""
    if _has_index(frames[0]):
        import pandas as pd  # there is a frame, so there is pandas

        return pd.concat(frames, ignore_index=True)
    return nw.concat([_known(frame) for frame in frames]).to_native()


def index_of(frame: Any) -> tuple[str, ...] | None:
    """Return the labels of the rows; None where there are none, or some are equal."""
    if not _has_index(frame) or not frame.index.is_unique:
        return None
    return tuple(str(label) for label in frame.index)


def frame_kind(table: Any) -> str:
    """Return which of `KINDS` a table is, "dict" for everything else.

    Examples
    --------
    >>> frame_kind([[1.0]])
    'dict'
    """
    if is_dataset(table) or _has_index(table):
        return "pandas" if _has_index(table) else "datasets"
    return _known(table).implementation.value if is_frame(table) else "dict"


def make_frame(columns: Mapping[str, Any], kind: Any = "pandas") -> Any:
    """Return a table of the kind asked for; in pandas the first column is the index.

    Parameters
    ----------
    columns
        Names and contents.
    kind
        "pandas", "polars", "pyarrow", "datasets" (Hugging Face), "dict" (plain columns by name),
        or a table, for one of its kind.

    Examples
    --------
    >>> make_frame({"player": ["a", "b"], "value": [1.0, 2.0]}, "dict")["value"]
    [1.0, 2.0]
    """
    asked = kind if isinstance(kind, str) else frame_kind(kind)
    plain = {name: list(column) for name, column in columns.items()}
    if asked not in KINDS:
        raise InputError(
            f"kind must be one of {', '.join(map(repr, KINDS))}, or a table: {kind!r:.60}"
        )
    if asked == "dict":
        return plain
    name = {"pandas": "report", "pyarrow": "tables"}.get(asked, asked)
    with extra(name, f"to_frame({asked!r}) needs {asked}", "or to_frame('dict')"):
        maker: Any = import_module(asked)
    if asked == "datasets":
        return maker.Dataset.from_dict(plain)
    if asked != "pandas":
        return nw.from_dict(plain, backend=maker).to_native()
    first, *rest = columns
    index = maker.Index(columns[first], name=first)
    return maker.DataFrame({name: columns[name] for name in rest}, index=index)


def _has_index(data: object) -> bool:
    return hasattr(data, "iloc") and hasattr(data, "columns")


def _known(frame: Any) -> nw.DataFrame[Any]:
    return nw.from_native(frame, eager_only=True)
