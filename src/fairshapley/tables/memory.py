"""Tables from memory: frames of every kind, columns by name and arrays, as tables of Arrow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from fairshapley._basics.extras import extra
from fairshapley._basics.frames import index_of, is_frame, read_frame
from fairshapley._basics.text import one_line
from fairshapley.errors import InputError
from fairshapley.tables.reading import check_content, read_table

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_table(data: Any, what: str) -> pa.Table:
    """A table of any kind as one of Arrow, checked as one from a file.

    Parameters
    ----------
    data
        A table of Arrow, a frame of pandas or polars, a data set of Hugging Face, columns by name,
        an array of two axes (its columns are x0, x1, …), or the path of a file.
    what
        Which rows they are, for messages.

    Examples
    --------
    >>> arrow_table([[1.0, 2.0], [3.0, 4.0]], "training rows").to_pydict()
    {'x0': [1.0, 3.0], 'x1': [2.0, 4.0]}
    """
    if isinstance(data, str | os.PathLike):
        return read_table(data)
    with extra("tables", "tables need pyarrow"):
        import pyarrow as pa
    try:
        table = _converted(data, pa)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the {what} cannot be read as a table: {one_line(str(error), 160)}; give each column "
            "values of one type"
        ) from None
    check_content(table, what)
    return table


def row_labels(data: Any) -> tuple[str, ...] | None:
    """The labels of a pandas index, where someone has made one of them."""
    labels = index_of(data)
    return None if labels == tuple(map(str, range(len(labels or ())))) else labels


def _converted(data: Any, pa: Any) -> Any:
    found = read_frame(data)
    if isinstance(found, Mapping):
        return pa.table(dict(found))
    if hasattr(found, "iloc"):
        return pa.Table.from_pandas(found, preserve_index=False)
    if is_frame(found):
        return nw.from_native(found, eager_only=True).to_arrow()
    array = np.asarray(found)
    if array.ndim != 2:
        raise InputError(
            f"a table has rows and columns, and {type(data).__name__} has not: give a frame, a "
            "table of Arrow, columns by name, an array of two axes or a file"
        )
    return pa.table({f"x{place}": column for place, column in enumerate(array.T.tolist())})
