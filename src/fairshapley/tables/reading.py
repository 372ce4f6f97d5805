"""Tables from CSV and Parquet files, read strictly: what is odd about a file is an error."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairshapley._basics.extras import extra
from fairshapley._basics.files import DEFAULT_MAX_ROWS, MAX_BYTES, WatchedStream, as_path
from fairshapley._basics.text import one_line, quoted
from fairshapley.errors import InputError
from fairshapley.tables.decimals import DECIMALS, Decimal, read_decimals

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET_ENDINGS = (".parquet", ".pq")
GZIP_START, PARQUET_START = b"\x1f\x8b", b"PAR1"
STANDARD_INPUT = "-"
# A part of a Parquet file, whose size is then looked at.
MOST_ROWS_AT_ONCE = 10_000
# Of a CSV file; a million columns have longer ones.
LONGEST_LINE = 2**24
# The bytes of a cell: every cell becomes a number, or refers to a text.
CELL_BYTES = 8
# The index that pandas writes beside the columns.
PANDAS_INDEX = "__index_level_"
# Where a table keeps what was decided when it was read.
NOTES = b"fairshapley notes"


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
    r"""The table in a CSV or Parquet file (by the ending of its name: .parquet, .pq).

    A CSV file must have a line of names, each name once, and as many cells in every line; it may be
    packed by gzip. Empty cells, "NA", "NaN", "null" and the like are missing
    values. Rows and bytes are counted as they are unpacked, so that a small file which holds a huge
    table is refused before it fills the memory. A pipe is read like a file.

    Parameters
    ----------
    path
        The file; "-" is standard input.
    max_rows
        The most rows to read; a file with more is refused. None for any number.
    max_bytes
        The most bytes to read, unpacked; a cell counts at least 8.
    delimiter, encoding
        Of a CSV file; a tabulator may be written as ``\t``.
    decimal
        The sign before decimals in a CSV file: "," or "."; "auto" finds out, see `read_decimals`.
    texts
        Columns of a CSV file to keep as texts, such as "007", whatever they look like.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("age,label\n31,yes\n,no\n")
    ...     read_table(path).to_pydict()
    {'age': [31, None], 'label': ['yes', 'no']}
    """
    _pyarrow()
    if max_bytes < 1:
        raise InputError(f"max_bytes must be at least 1, not {max_bytes}")
    if decimal not in DECIMALS:
        raise InputError(f"decimal must be auto, ',' or '.', not {decimal!r:.40}")
    file = as_path(path)
    notes: list[str] = []
    with _opened(file, max_bytes) as stream:
        if _is_parquet(file, stream):
            table = _read_parquet(file, stream, max_rows, max_bytes)
        else:
            census = _Census(file, _separator(delimiter), encoding, max_rows, max_bytes)
            table = _read_csv(file, stream, census, decimal, texts)
            table, notes = read_decimals(table, decimal, file, texts)
    _check_rows(table.num_rows, max_rows, file)
    notes += check_content(table, str(file))
    # A Parquet file may come with anything beside its columns: it is not kept.
    return table.replace_schema_metadata({NOTES: json.dumps(notes).encode()} if notes else None)


def check_content(table: pa.Table, where: str) -> list[str]:
    """What is to be said of a table; an InputError when its names or numbers cannot be used.

    Examples
    --------
    >>> import pyarrow as pa
    >>> check_content(pa.table({"a": [1e30]}), "rows.csv")
    ["numbers beyond 64 bits, of which the first 15 digits count: 'a'"]
    """
    _check_names(table.column_names, where)
    if not table.num_rows:
        raise InputError(f"{where} has names of columns and no rows: give rows")
    floating = _pyarrow().types.is_floating
    huge = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if floating(column.type):
            _refuse_infinite(name, column, where)
            if _is_huge(column):
                huge.append(name)
    if not huge:
        return []
    return [f"numbers beyond 64 bits, of which the first 15 digits count: {quoted(huge)}"]


def notes_of(table: pa.Table) -> list[str]:
    """What was decided when a table was read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> notes_of(pa.table({"a": [1]}))
    []
    """
    return json.loads((table.schema.metadata or {}).get(NOTES, b"[]"))


def _pyarrow() -> Any:
    with extra("tables", "reading tables needs pyarrow"):
        import pyarrow
    return pyarrow


@contextmanager
def _opened(file: Path, max_bytes: int) -> Iterator[io.BufferedReader]:
    """The bytes of a file, a pipe or standard input; an InputError when it cannot be read."""
    try:
        if str(file) == STANDARD_INPUT:
            with open(sys.stdin.fileno(), "rb", closefd=False) as stream:
                yield stream
            return
        if file.is_dir():
            raise InputError(f"{file} is a folder: give a CSV or Parquet file")
        size = file.stat().st_size  # 0 for a pipe
        if size > max_bytes:
            raise _too_large(file, f"has {size / 2**20:,.0f} MiB", max_bytes)
        with file.open("rb") as stream:
            yield stream
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {file}: {reason}") from error


def _is_parquet(file: Path, stream: io.BufferedReader) -> bool:
    """By the ending of its name; a pipe may have none, and tells by its first bytes."""
    if file.suffix.lower() in PARQUET_ENDINGS:
        return True
    return not file.is_file() and stream.peek(4)[:4] == PARQUET_START


def _too_large(file: Path, what: str, max_bytes: int) -> InputError:
    return InputError(
        f"{file} {what}, more than the {max_bytes / 2**20:,.4g} MiB that are read: give a part of "
        "it, or fewer columns, or allow more with max_bytes="
    )


def _check_rows(rows: int, max_rows: int | None, file: Path) -> None:
    if max_rows is not None and rows > max_rows:
        raise InputError(
            f"{file} has more than {max_rows:,} rows: value a part of them, drawn at random, with "
            f"sample={min(max_rows, 500)}, or allow them with max_rows=, best with groups of them "
            "by group_by="
        )


class _Census:
    """Counts what a CSV file holds while it is unpacked, and refuses what is too much."""

    def __init__(
        self, file: Path, separator: str, encoding: str, max_rows: int | None, max_bytes: int
    ) -> None:
        self.file, self.separator, self.encoding = file, separator, encoding
        self._max_rows, self._max_bytes = max_rows, max_bytes
        try:
            # Of UTF-16 and UTF-32 every other byte is zero.
            self._zeros = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
        except LookupError:
            raise InputError(
                f"unknown encoding {encoding!r:.40}: use 'latin-1', for example"
            ) from None
        self._bytes = self._cells = self._lines = 0

    def __call__(self, block: bytes) -> None:
        if not self._zeros and (place := block.find(b"\x00")) >= 0:
            line = self._lines + block.count(b"\n", 0, place) + 1
            if line == 1:
                raise _wrong_encoding(self.file, self.encoding)
            raise InputError(
                f"line {line} of {self.file} holds a zero byte, which no text does: the file is "
                "damaged; get it again, or remove the byte"
            )
        # Files of old have a carriage return alone.
        lines = max(block.count(b"\n"), block.count(b"\r"))
        self._bytes += len(block)
        self._lines += lines
        self._cells += lines + block.count(self.separator.encode())
        _check_rows(self._lines - 1, self._max_rows, self.file)
        if max(self._bytes, CELL_BYTES * self._cells) > self._max_bytes:
            raise _too_large(self.file, "is larger when it is unpacked", self._max_bytes)


def _separator(delimiter: str) -> str:
    """One character; the two characters of a tabulator, as messages show it, are one too."""
    sign = "\t" if delimiter == r"\t" else delimiter
    if len(sign) != 1 or sign in '\r\n"' or not sign.isascii():
        raise InputError(f"delimiter must be one character such as ';', not {delimiter!r}")
    return sign


def _read_csv(
    file: Path, stream: io.BufferedReader, census: _Census, decimal: Decimal, texts: Sequence[str]
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    try:
        opened = io.BufferedReader(WatchedStream(_unpacked(file, stream), census), 2**16)
        head = opened.peek(1)
        if not head.strip():
            raise InputError(
                f"{file} is empty: give a line with the names of the columns, and rows"
            )
        _check_separator(file, head, census)
        if codecs.lookup(census.encoding).name == "utf-8":
            head.splitlines()[0].decode()  # pyarrow does not check the line of names
        table = csv.read_csv(
            opened,
            # One thread: messages then name the row.
            read_options=csv.ReadOptions(
                encoding=census.encoding, use_threads=False, block_size=LONGEST_LINE
            ),
            parse_options=csv.ParseOptions(delimiter=census.separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                strings_can_be_null=True,
                decimal_point="," if decimal == "," else ".",
                column_types=dict.fromkeys(texts, pa.string()),
            ),
        )
    except InputError:
        raise
    except UnicodeDecodeError:
        raise _wrong_encoding(file, census.encoding) from None
    except (pa.ArrowException, OSError, ValueError) as error:
        remedy = "; save it as CSV again"
        if "columns, got" in str(error):
            sign = census.separator
            remedy = f"; give each row a cell for each column, and quotes to cells with {sign!r}"
        said = one_line(str(error), 160)
        raise InputError(f"{file} is not a table: {said}{remedy}") from None
    if any(pa.types.is_binary(field.type) for field in table.schema):
        raise _wrong_encoding(file, census.encoding)
    return table


def _check_separator(file: Path, head: bytes, census: _Census) -> None:
    """An InputError when something else seems to divide the names of the columns."""
    names = next(iter(head.strip().splitlines()), b"").decode(census.encoding, "replace")
    other = next((sign for sign in ";\t|" if sign in names), None)
    if other is not None and census.separator not in names:
        raise InputError(
            f"{file} has one column, {names!r:.60}: give delimiter={other!r} if that is what "
            "divides the cells"
        )


def _unpacked(file: Path, stream: io.BufferedReader) -> Any:
    """The bytes of a packed file as they were before; those of others as they are."""
    import pyarrow as pa

    if file.suffix.lower() != ".gz" and stream.peek(2)[:2] != GZIP_START:
        return stream
    return pa.CompressedInputStream(stream, "gzip")


def _wrong_encoding(file: Path, encoding: str) -> InputError:
    return InputError(
        f"{file} is not written in {encoding}: save it as UTF-8, or give encoding=, such as "
        "latin-1 or utf-16"
    )


def _read_parquet(
    file: Path, stream: io.BufferedReader, max_rows: int | None, max_bytes: int
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        source: Any = stream
        if not stream.seekable():
            content = stream.read(max_bytes + 1)
            if len(content) > max_bytes:
                raise _too_large(file, "is larger", max_bytes)
            source = pa.BufferReader(content)
        with parquet.ParquetFile(source) as opened:
            _check_rows(opened.metadata.num_rows, max_rows, file)
            kinds = pa.types.is_string, pa.types.is_large_string
            texts = [one.name for one in opened.schema_arrow if any(is_(one.type) for is_ in kinds)]
            shared, rows = _plan(file, opened.metadata, texts, max_bytes)
        parts, used = [], 0
        with parquet.ParquetFile(source, read_dictionary=shared) as opened:
            for part in opened.iter_batches(rows):
                used += part.nbytes
                if used > max_bytes:
                    raise _too_large(file, "is larger when it is unpacked", max_bytes)
                parts.append(part)
            table = pa.Table.from_batches(parts, opened.schema_arrow).unify_dictionaries()
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{file} is not a Parquet file: {one_line(str(error), 160)}") from None
    index = [name for name in table.column_names if name.startswith(PANDAS_INDEX)]
    return table.drop_columns(index)


def _plan(file: Path, about: Any, texts: Sequence[str], max_bytes: int) -> tuple[list[str], int]:
    """The columns of texts to keep once each, and how many rows to read before looking again."""
    groups = (about.row_group(number) for number in range(about.num_row_groups))
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    unpacked = sum(
        max(chunk.total_uncompressed_size, CELL_BYTES * chunk.num_values) for chunk in chunks
    )
    if unpacked > max_bytes:
        raise _too_large(file, f"unpacks to {unpacked / 2**20:,.0f} MiB", max_bytes)
    # A file may hold a text once and refer to it, which pyarrow can keep so, or hold what differs
    # from the text before, which it cannot: then each row may be as long as all that is stored.
    differing = {one.path_in_schema for one in chunks if "DELTA" in "".join(one.encodings)}
    shared = [name for name in texts if name not in differing]
    longest: list[int] = [
        one.total_uncompressed_size
        for one in chunks
        if one.physical_type == "BYTE_ARRAY" and one.path_in_schema not in shared
    ]
    return shared, max(1, min(MOST_ROWS_AT_ONCE, max_bytes // max([1, *longest])))


def _check_names(names: list[str], file: str) -> None:
    if not names:
        raise InputError(f"{file} has no columns: give features and a target")
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(f"{file} has several columns called {name!r:.60}: rename all but one")
    if any(not name.strip() for name in names):
        place = [bool(name.strip()) for name in names].index(False) + 1
        raise InputError(
            f"column {place} of {file} has no name: give it one; pandas "
            "writes such a column unless it is told index=False"
        )


def _refuse_infinite(name: str, column: Any, file: str) -> None:
    from pyarrow import compute

    infinite = compute.is_inf(column).fill_null(False)
    if compute.any(infinite).as_py():
        row = compute.index(infinite, True).as_py() + 1
        raise InputError(
            f"column {name!r:.60} of {file} is infinite in row {row}: give a number, or leave the "
            "cell empty"
        )


def _is_huge(column: Any) -> bool:
    """Whether a column of floats holds whole numbers alone, one of them beyond 64 bits."""
    from pyarrow import compute

    largest = compute.max(compute.abs(column)).as_py()
    if largest is None or largest < 2.0**63:
        return False
    return bool(compute.all(compute.equal(column, compute.trunc(column))).as_py())
