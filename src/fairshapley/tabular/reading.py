"""Tables from CSV and Parquet files, read strictly: what is odd about a file is an error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairshapley.errors import InputError, MissingExtraError
from fairshapley.limits import DEFAULT_MAX_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

# A table takes two to three times the size of its file in memory while it is read.
MAX_BYTES = 512 * 2**20
PARQUET_ENDINGS = (".parquet", ".pq")
# The index that pandas writes beside the columns.
PANDAS_INDEX = "__index_level_"


def read_table(
    path: str | os.PathLike[str],
    *,
    max_rows: int | None = DEFAULT_MAX_ROWS,
    delimiter: str = ",",
    encoding: str = "utf-8",
) -> pa.Table:
    r"""The table in a CSV or Parquet file (by the ending of its name: .parquet, .pq).

    A CSV file must have a line of names, each name once, and as many cells in every line. Empty
    cells, "NA", "NaN", "null" and the like are missing values. The number of rows is known from a
    pass over the bytes, before anything is kept in memory.

    Parameters
    ----------
    path
        The file.
    max_rows
        The most rows to read; a file with more is refused. None for any number.
    delimiter, encoding
        Of a CSV file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("age,label\n31,yes\n,no\n")
    ...     read_table(path).to_pydict()
    {'age': [31, None], 'label': ['yes', 'no']}
    """
    arrow = _pyarrow()
    file = Path(path)
    _check_file(file)
    if file.suffix.lower() in PARQUET_ENDINGS:
        table = _read_parquet(file, max_rows)
    else:
        if max_rows is not None:
            _check_rows(count_lines(file) - 1, max_rows, file)
        table = _read_csv(file, delimiter, encoding)
    _check_names(table.column_names, file)
    _check_rows(table.num_rows, max_rows, file)
    if not table.num_rows:
        raise InputError(f"{file} has names of columns and no rows: give rows")
    for name, column in zip(table.column_names, table.columns, strict=True):
        if arrow.types.is_floating(column.type):
            _refuse_infinite(name, column, file)
    return table


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError(
            "reading tables needs pyarrow: pip install 'fairshapley[tables]'"
        ) from None
    return pyarrow


def _check_file(file: Path) -> None:
    """An InputError when there is no such file, or it is too large to be read at all."""
    try:
        size = file.stat().st_size
        if file.is_dir():
            raise InputError(f"{file} is a folder: give a CSV or Parquet file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {file}: {reason}") from error
    if not size:
        raise InputError(f"{file} is empty: give a line with the names of the columns, and rows")
    if size > MAX_BYTES:
        raise InputError(
            f"{file} has {size / 2**20:,.0f} MiB, more than the {MAX_BYTES // 2**20} MiB that are "
            "read: give a part of it, or fewer columns (a Parquet file is smaller)"
        )


def count_lines(file: Path) -> int:
    r"""The lines of a file, at least as many as it has records; little memory is used.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("a,b\n1,2\n3,4")
    ...     file.flush()
    ...     count_lines(Path(file.name))
    3
    """
    count, last = 0, b"\n"
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(2**20):
                # Files of old have a carriage return alone.
                count += max(chunk.count(b"\n"), chunk.count(b"\r"))
                last = chunk[-1:]
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    return count + (last not in b"\r\n")


def _check_rows(rows: int, max_rows: int | None, file: Path) -> None:
    if max_rows is not None and rows > max_rows:
        raise InputError(
            f"{file} has about {rows:,} rows, more than {max_rows:,}: take part of them at random "
            f"with --sample {max_rows}, or allow them with --max-rows (--group-by makes few "
            "players of many rows)"
        )


def _read_csv(file: Path, delimiter: str, encoding: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    if len(delimiter) != 1 or delimiter in '\r\n"':
        raise InputError(f"the delimiter must be one character such as ';', not {delimiter!r}")
    try:
        _check_head(file, encoding)
        table = csv.read_csv(
            str(file),
            # One thread: messages then name the row.
            read_options=csv.ReadOptions(encoding=encoding, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}: use 'latin-1', for example") from None
    except UnicodeDecodeError:
        raise _wrong_encoding(file, encoding) from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{file} is not a table: {_one_line(error)}") from None
    if any(pa.types.is_binary(field.type) for field in table.schema):
        raise _wrong_encoding(file, encoding)
    names = table.column_names
    if len(names) == 1 and (other := next((sign for sign in ";\t|" if sign in names[0]), None)):
        raise InputError(
            f"{file} has one column, {names[0]!r:.60}: give --delimiter {other!r} if that is what "
            "divides the cells"
        )
    return table


def _check_head(file: Path, encoding: str) -> None:
    """A UnicodeDecodeError when the line of names is not written in an encoding."""
    with file.open("rb") as stream:
        head = stream.read(2**16)
    line = head.splitlines()[0] if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else b""
    line.decode(encoding)
    if line.count(b"\x00"):  # of two bytes for each character
        raise UnicodeDecodeError(encoding, line, 0, 1, "a zero byte")


def _wrong_encoding(file: Path, encoding: str) -> InputError:
    return InputError(
        f"{file} is not written in {encoding}: save it as UTF-8, or give --encoding, such as "
        "latin-1 or utf-16"
    )


def _read_parquet(file: Path, max_rows: int | None) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(str(file)) as opened:
            _check_rows(opened.metadata.num_rows, max_rows, file)
            table = opened.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file} is not a Parquet file: {_one_line(error)}") from None
    index = [name for name in table.column_names if name.startswith(PANDAS_INDEX)]
    return table.drop_columns(index)


def _check_names(names: list[str], file: Path) -> None:
    if not names:
        raise InputError(f"{file} has no columns: give features and a target")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{file} has several columns called {twice[0]!r:.60}: rename all but one")
    if any(not name.strip() for name in names):
        place = [bool(name.strip()) for name in names].index(False) + 1
        raise InputError(f"column {place} of {file} has no name: give it one")


def _refuse_infinite(name: str, column: Any, file: Path) -> None:
    from pyarrow import compute

    infinite = compute.is_inf(column).fill_null(False)
    if compute.any(infinite).as_py():
        row = compute.index(infinite, True).as_py() + 1
        raise InputError(
            f"column {name!r:.60} of {file} is infinite in row {row}: give a number, or leave the "
            "cell empty"
        )


def _one_line(error: Exception) -> str:
    """A message of arrow, cut to what fits a line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else f"{text[:160]} …"
