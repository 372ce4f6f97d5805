"""Reading the formats of the publishers: tables as text, NumPy archives, lines of text.

None of it runs what a file holds: no pickle, neither directly nor inside an archive.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairshapley._basics.types import FloatArray
from fairshapley.datasets.files import (
    MOST_BYTES,
    DataError,
    check_found,
    check_names,
    check_size,
    open_text,
    reading,
)

CellType: TypeAlias = Literal["number", "number or empty", "text"]
Columns: TypeAlias = dict[str, NDArray[Any]]

# Rows that are held as text at a time: with 57 columns about 100 MB.
_CHUNK = 1 << 15
# Texts shorter than this are names that come back (a model, a street); identifiers are longer.
_SHARED = 30
_ARCHIVE = (
    "a NumPy archive of plain arrays; Python objects in archives are not read, because loading "
    "them would run their code"
)
# How the publishers write a missing number.
_MISSING = ("", "NA")


def read_table(
    path: Path,
    kinds: Mapping[str, CellType],
    *,
    header: Sequence[str] | None = None,
    aliases: Mapping[str, str] | None = None,
    skip: int = 0,
    delimiter: str = ",",
    quoted: bool = True,
    encoding: str = "utf-8",
) -> Columns:
    """The named columns of a table in a text file: numbers as float64, texts as objects.

    Parameters
    ----------
    path
        The file; .gz is unpacked.
    kinds
        What each wanted column holds; the others are not kept.
    header
        The names of all columns, for a file that does not begin with them.
    aliases
        Other names under which a column may be found.
    skip
        How many lines to leave out at the beginning.
    delimiter, quoted, encoding
        What parts the columns, whether quotation marks may enclose a field, and the encoding.
    """
    with reading(path, "a table"), open_text(path, encoding) as stream:
        reader = csv.reader(
            itertools.islice(stream, skip, None),
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        )
        names = list(header) if header is not None else _header(reader, aliases or {})
        check_names(path, "columns", list(kinds), names)
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in kinds}
        interned: dict[str, str] = {}
        for rows in _chunks(path, reader, len(names)):
            for name, kind in kinds.items():
                place = names.index(name)
                cells = [row[place] for row in rows]
                parts[name].append(
                    _texts(cells, interned)
                    if kind == "text"
                    else _numbers(path, name, cells, missing=kind == "number or empty")
                )
    if not next(iter(parts.values())):
        raise DataError(f"{path}: the table has no rows: copy it again")
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _header(reader: Iterator[list[str]], aliases: Mapping[str, str]) -> list[str]:
    names = [name.removeprefix("\ufeff").strip() for name in next(reader, [])]
    return [aliases.get(name, name) for name in names]


def _chunks(path: Path, reader: Iterator[list[str]], width: int) -> Iterator[list[list[str]]]:
    """The rows in lists of bounded length, every row of the width of the header."""
    while rows := list(itertools.islice(reader, _CHUNK)):
        filled = [row for row in rows if row]
        for row in filled:
            if len(row) != width:
                raise DataError(
                    f"{path}: the row that begins with {row[0]!r:.40} has {len(row)} columns "
                    f"instead of {width}: the file is cut off or damaged, copy it again"
                )
        if filled:
            yield filled


def _texts(cells: list[str], interned: dict[str, str]) -> NDArray[Any]:
    """Texts as objects without blanks around them; short ones, often repeated, are shared."""
    texts = np.empty(len(cells), dtype=object)
    stripped = (cell.strip(" ") for cell in cells)
    texts[:] = [
        interned.setdefault(cell, cell) if len(cell) < _SHARED else cell for cell in stripped
    ]
    return texts


def _numbers(path: Path, name: str, cells: list[str], *, missing: bool) -> FloatArray:
    if missing:
        cells = ["nan" if cell in _MISSING else cell for cell in cells]
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError as error:
        raise DataError(
            f"{path}: column {name} must hold numbers ({error}): copy the file again"
        ) from None
    if not missing and not np.isfinite(numbers).all():
        raise DataError(f"{path}: column {name} must hold finite numbers: copy the file again")
    return numbers


def read_numbers(path: Path, columns: int, dtype: DTypeLike, *, skip: int = 0) -> NDArray[Any]:
    """A table that holds numbers alone, with a known number of columns, `skip` lines in."""
    with reading(path, "a table of numbers"), open_text(path, "ascii") as stream:
        # islice: an empty file would make loadtxt warn instead of fail.
        lines = itertools.islice(stream, skip, None)
        first = next(lines, None)
        if first is None:
            raise DataError(f"{path}: the table has no rows: copy it again")
        table = np.loadtxt(
            itertools.chain([first], lines),
            delimiter=",",
            dtype=dtype,
            comments=None,
            quotechar='"',
            ndmin=2,
        )
    check_found(path, "columns", columns, table.shape[1])
    return table


def read_archive(path: Path, names: Sequence[str], *, most_bytes: int = MOST_BYTES) -> Columns:
    """The named arrays of a NumPy archive; one that holds Python objects is refused."""
    # Opened here: np.load leaves a damaged file open.
    with (
        reading(path, _ARCHIVE),
        path.open("rb") as stream,
        np.load(stream, allow_pickle=False) as archive,
    ):
        check_names(path, "arrays", names, archive.files)
        unpacked = sum(one.file_size for one in archive.zip.infolist())
        check_size(path, unpacked, most_bytes=most_bytes)
        return {name: archive[name] for name in names}


def read_lines(path: Path, encoding: str) -> list[str]:
    """The lines of a text file without blanks around them, without empty ones.

    Only line feeds end a line: some of the texts hold characters that Python also takes for ends.
    """
    with reading(path), open_text(path, encoding) as stream:
        lines = (line.strip(" \t\r\n") for line in stream.read().split("\n"))
        return [line for line in lines if line]


def object_table(columns: Columns, names: Sequence[str]) -> NDArray[Any]:
    """Columns of any kind side by side, as an array of objects."""
    table = np.empty((len(columns[names[0]]), len(names)), dtype=object)
    for position, name in enumerate(names):
        table[:, position] = columns[name]
    return table


def joined_tables(tables: Sequence[Columns]) -> Columns:
    """Tables with the same columns, one below the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
