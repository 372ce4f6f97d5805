"""Tables from files and from memory as tables of Arrow: what is odd about one is an error."""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import narwhals as nw
import numpy as np

from fairshapley._basics.checks import choice
from fairshapley._basics.extras import extra
from fairshapley._basics.files import DEFAULT_MAX_ROWS, MAX_BYTES, as_path
from fairshapley._basics.frames import index_of, is_frame, read_frame
from fairshapley._basics.text import one_line
from fairshapley.errors import InputError
from fairshapley.tables.columns import is_kind, trimmed

if TYPE_CHECKING:
    import pyarrow as pa

Decimal: TypeAlias = Literal["auto", ",", "."]

PARQUET_ENDINGS = (".parquet", ".pq")
GZIP_START = b"\x1f\x8b"
# Of a CSV file; a million columns have longer ones.
LONGEST_LINE = 2**24
# The index that pandas writes beside the columns.
PANDAS_INDEX = "__index_level_"
COMMA_NUMBER = r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?"
# A comma before three digits may be one between thousands.
THOUSANDS = r"[+-]?(\d+|\d{1,3}(,\d{3})+)"
PLAIN_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
ANY_NUMBER = r"[+-]?[.,]?\d[\d.,]*([eE][+-]?\d+)?"
# What may stand in a number that is not written plainly: signs of currencies, %, _, ', blanks.
ADORNMENTS = r"[\p{Sc}%_'’\s\p{Zs}]"


def read_table(
    path: str | os.PathLike[str],
    *,
    max_rows: int | None = DEFAULT_MAX_ROWS,
    max_bytes: int = MAX_BYTES,
    delimiter: str = ",",
    decimal: Decimal = "auto",
    encoding: str = "utf-8",
    texts: Sequence[str] = (),
) -> pa.Table:
    r"""Read the table in a CSV or Parquet file (by the ending of its name: .parquet, .pq).

    A CSV file must have a line of names, each name once, and as many cells in every line; it may be
    packed by gzip. Empty cells, "NA", "NaN", "null" and the like are missing values.

    Parameters
    ----------
    path
        The file.
    max_rows
        The most rows to read; a file with more is an error. None for any number.
    max_bytes
        The most bytes of a CSV file, unpacked.
    delimiter, encoding
        Of a CSV file; a tabulator may be written as ``\t``.
    decimal
        The sign before decimals in the whole CSV file: "," or "."; "auto" finds out, see
        `read_decimals`.
    texts
        Columns that are text whatever their cells look like, such as "007": they are categories.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("age,label\n31,yes\n,no\n")
    ...     read_table(path).to_pydict()
    {'age': [31, None], 'label': ['yes', 'no']}
    """
    pa = _pyarrow()
    choice("decimal", decimal, get_args(Decimal))
    file = as_path(path)
    try:
        if file.exists() and not file.is_file():
            raise InputError(f"{file} is not a file: give a CSV or Parquet file")
        if file.suffix.lower() in PARQUET_ENDINGS:
            table = _read_parquet(file, max_rows)
        else:
            table = _read_csv(
                file, _csv_content(file, encoding, max_bytes), delimiter, decimal, texts
            )
            check_content(table, str(file))  # each name once
            table = read_decimals(table, decimal, file)
    except pa.ArrowException as error:
        raise InputError(f"{file} is not a Parquet file: {one_line(str(error), 160)}") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {file}: {reason}") from error
    _check_rows(table.num_rows, max_rows, file)
    check_content(table, str(file))
    return table


def arrow_table(data: Any, what: str) -> pa.Table:
    """Return a table of any kind as one of Arrow, checked as one from a file.

    Parameters
    ----------
    data
        An Arrow table, a pandas or polars DataFrame, a Hugging Face dataset, columns by name, an
        array of two axes (its columns are x0, x1, …), or the path of a file.
    what
        Which rows they are, for messages.

    Examples
    --------
    >>> arrow_table([[1.0, 2.0], [3.0, 4.0]], "training rows").to_pydict()
    {'x0': [1.0, 3.0], 'x1': [2.0, 4.0]}
    """
    if isinstance(data, str | os.PathLike):
        return read_table(data)
    pa = _pyarrow()
    found = read_frame(data)
    try:
        if hasattr(found, "iloc"):
            table = pa.Table.from_pandas(found, preserve_index=False)
        elif is_frame(found):
            table = nw.from_native(found, eager_only=True).to_arrow()
        elif isinstance(found, Mapping):
            table = pa.table(dict(found))
        else:
            columns = np.asarray(found).T
            if columns.ndim != 2:
                raise ValueError(
                    f"{type(data).__name__} has no rows and columns: give a frame, a table of "
                    "Arrow, columns by name, an array of two axes or a file"
                )
            table = pa.table({f"x{place}": cells.tolist() for place, cells in enumerate(columns)})
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the {what} cannot be read as a table: {one_line(str(error), 160)}; give each column "
            "values of one type"
        ) from None
    check_content(table, what)
    return table


def row_labels(data: Any) -> tuple[str, ...] | None:
    """Return the labels of a pandas index, where someone has made one of them."""
    labels = index_of(data)
    return None if labels == tuple(map(str, range(len(labels or ())))) else labels


def read_decimals(table: pa.Table, decimal: Decimal, file: object) -> pa.Table:
    """Return the table with columns of texts such as "3,14" as numbers.

    A file has one decimal sign. It is the comma where all cells of a column are numbers with a
    comma at most, and some comma is not before three digits. Where all are, or other columns have
    points, `decimal` must tell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_decimals(pa.table({"a": ["3,14", "2"]}), "auto", "rows.csv").to_pydict()
    {'a': [3.14, 2.0]}
    """
    import pyarrow as pa
    from pyarrow import compute

    columns = dict(zip(table.column_names, table.columns, strict=True))
    texts = {name: trimmed(cells) for name, cells in columns.items() if is_kind(cells.type, "text")}
    numbers = {
        name: cells
        for name, cells in texts.items()
        if compute.any(compute.match_substring(cells, ",")).as_py() and _all(cells, COMMA_NUMBER)
    }
    if decimal == "." or not numbers:
        return table
    points = any(pa.types.is_floating(column.type) for column in columns.values())
    if decimal == "auto" and (points or all(_all(cells, THOUSANDS) for cells in numbers.values())):
        name, cells = next(iter(numbers.items()))
        raise InputError(
            f"column {name!r:.60} of {file} holds numbers such as "
            f"{cells.drop_null()[0].as_py()!r:.40}, whose comma may stand between thousands",
            remedy=("give {decimal:','} if it is before decimals", "write numbers without commas"),
        )
    for name, cells in numbers.items():
        columns[name] = compute.replace_substring(cells, ",", ".").cast("float64")
    return pa.table(columns)


def check_typos(table: pa.Table, but: Collection[str | None], what: str) -> None:
    """Raise InputError where most cells of a text column look like numbers: a typo is no category.

    A cell looks like a number if it is a number once currency signs, %, _, ' and blanks are taken
    away. Categories, and columns of plain numbers that are kept as text ("007"), are left alone.

    Parameters
    ----------
    table
        All rows.
    but
        Columns that are not looked at.
    what
        Which rows they are, for messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> check_typos(pa.table({"size": ["40", "4O", "41"]}), (), "training")
    Traceback (most recent call last):
    fairshapley.errors.InputError: row 2 of the training rows holds '4O' in column 'size', where...
    """
    from pyarrow import compute

    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in but or not is_kind(column.type, "text"):
            continue
        cells = trimmed(column)
        bare = compute.replace_substring_regex(cells, ADORNMENTS, "")
        alike = _matches(bare, ANY_NUMBER)
        plain = _matches(cells, PLAIN_NUMBER).fill_null(True)
        count = compute.sum(alike).as_py() or 0
        if compute.all(plain).as_py() or 2 * count <= len(cells) - cells.null_count:
            continue
        row = compute.index(plain, False).as_py()
        raise InputError(
            f"row {row + 1} of the {what} rows holds {cells[row].as_py()!r:.40} in column "
            f"{name!r:.60}, where most cells are numbers",
            remedy=(
                "write a plain number, or leave the cell empty",
                "name a column of text in {texts}",
                "make it categorical",
            ),
        )


def _matches(cells: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    from pyarrow import compute

    return compute.match_substring_regex(cells, f"^({form})$")


def _all(cells: pa.ChunkedArray, form: str) -> bool:
    from pyarrow import compute

    return bool(compute.all(_matches(cells, form)).as_py())


def check_content(table: pa.Table, where: str) -> None:
    """Raise InputError where the names or the numbers of a table cannot be used."""
    from pyarrow import compute, types

    names = table.column_names
    twice = [name for name, count in Counter(names).items() if count > 1]
    unnamed = [place for place, name in enumerate(names, 1) if not name.strip()]
    if not names:
        raise InputError(f"{where} has no columns: give features and a target")
    if twice:
        raise InputError(f"{where} has several columns called {twice[0]!r:.60}: rename all but one")
    if unnamed:
        raise InputError(
            f"column {unnamed[0]} of {where} has no name: give it one; pandas writes such a column "
            "unless it is told index=False"
        )
    if not table.num_rows:
        raise InputError(f"{where} has names of columns and no rows: give rows")
    for name, column in zip(names, table.columns, strict=True):
        if types.is_floating(column.type):
            row = compute.index(compute.is_inf(column), True).as_py()
            if row >= 0:
                raise InputError(
                    f"column {name!r:.60} of {where} is infinite in row {row + 1}: give a number, "
                    "or leave the cell empty"
                )


def _pyarrow() -> Any:
    with extra("tables", "reading tables needs pyarrow"):
        import pyarrow
    return pyarrow


def _check_rows(rows: int, max_rows: int | None, file: Path) -> None:
    if max_rows is not None and rows > max_rows:
        raise InputError(
            f"{file} has more than {max_rows:,} rows",
            remedy=(
                f"value a part of them, drawn at random, with {{sample:{min(max_rows, 500)}}}",
                "allow them with {max_rows}, best with groups of them by {group_by}",
            ),
        )


def _csv_content(file: Path, encoding: str, max_bytes: int) -> bytes:
    """Return the whole of a CSV file, unpacked, in UTF-8."""
    with file.open("rb") as stream:
        packed = stream.read(len(GZIP_START)) == GZIP_START
        stream.seek(0)
        content = (gzip.GzipFile(fileobj=stream) if packed else stream).read(max_bytes + 1)
    if len(content) > max_bytes:
        raise InputError(
            f"{file} has more than {max_bytes / 2**20:,.4g} MiB of text",
            remedy=("give a part of it", "save it as Parquet", "allow more with {max_bytes}"),
        )
    try:
        text = content.decode(encoding)
        if "\0" in text:  # of two bytes a letter, or damaged
            raise UnicodeError
    except LookupError:
        raise InputError(
            f"{encoding!r:.40} is no text encoding",
            remedy="give {encoding:utf-8}, latin-1 or utf-16, for example",
        ) from None
    except UnicodeError:
        raise InputError(
            f"{file} is not written in {encoding}",
            remedy=("save it as UTF-8", "give its {encoding}, such as latin-1 or utf-16"),
        ) from None
    if not text or text.isspace():
        raise InputError(f"{file} is empty: give a line with the names of the columns, and rows")
    return text.encode()


def _read_csv(
    file: Path, content: bytes, delimiter: str, decimal: Decimal, texts: Sequence[str]
) -> pa.Table:
    """Return the table in a CSV file; columns that are texts in any case are categories."""
    import pyarrow as pa
    from pyarrow import csv

    # The two characters of a tabulator, as messages show it, are one too.
    sign = "\t" if delimiter == r"\t" else delimiter
    if len(sign) != 1 or sign in '\r\n"' or not sign.isascii():
        raise InputError(
            "must be one character such as ';'", parameter="delimiter", received=delimiter
        )
    names = next(iter(content[:LONGEST_LINE].strip().splitlines())).decode(errors="replace")
    other = next((found for found in ";\t|" if found in names), None)
    if other is not None and sign not in names:
        raise InputError(
            f"{file} has one column, {names!r:.60}",
            remedy=f"give {{delimiter:{other!r}}} if that is what divides the cells",
        )
    try:
        return csv.read_csv(
            pa.BufferReader(content),
            # One thread: messages then name the row.
            csv.ReadOptions(use_threads=False, block_size=LONGEST_LINE),
            csv.ParseOptions(delimiter=sign, newlines_in_values=True),
            csv.ConvertOptions(
                strings_can_be_null=True,
                decimal_point="," if decimal == "," else ".",
                column_types=dict.fromkeys(texts, pa.dictionary(pa.int32(), pa.string())),
            ),
        )
    except pa.ArrowException as error:
        remedy = "save it as CSV again"
        if "columns, got" in str(error):
            remedy = f"give each row a cell for each column, and quotes to cells with {sign!r}"
        raise InputError(f"{file} is not a table: {one_line(str(error), 160)}; {remedy}") from None


def _read_parquet(file: Path, max_rows: int | None) -> pa.Table:
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        _check_rows(opened.metadata.num_rows, max_rows, file)
        table = opened.read()
    index = [name for name in table.column_names if name.startswith(PANDAS_INDEX)]
    return table.drop_columns(index)
