"""Values as a table in a file: CSV that spreadsheets open safely, Parquet, or JSON."""

from __future__ import annotations

import csv
import io
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.extras import extra
from fairshapley._basics.files import as_path, check_replaceable, same_place, write_whole
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import plain_cell
from fairshapley.errors import InputError
from fairshapley.fairness.levels import DELTA
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# Rows from the top and from the bottom of a long table in a notebook.
TOP_ROWS, BOTTOM_ROWS = 10, 5
VALUE_ENDINGS = (".csv", ".parquet", ".json")


def check_writable(
    path: str | os.PathLike[str],
    endings: Sequence[str] = (),
    inputs: Sequence[str | os.PathLike[str]] = (),
) -> Path:
    """Return the path, or raise InputError when nothing can be written there.

    Parameters
    ----------
    path
        The file to be written.
    endings
        What its name may end in; empty for anything.
    inputs
        Files that are read or written by others, and must not be overwritten.

    Examples
    --------
    >>> check_writable("/no/such/folder/values.csv")
    Traceback (most recent call last):
    ...
    fairshapley.errors.InputError: cannot write /no/such/folder/values.csv: ...
    """
    file = as_path(path)
    if endings and file.suffix.lower() not in endings:
        raise InputError(f"cannot write {file}: its name must end in {' or '.join(endings)}")
    for other in inputs:
        if same_place(file, Path(other)):
            raise InputError(
                f"{file} is the same file as {other}, which would be overwritten: give another name"
            )
    check_replaceable(file)
    try:
        # Files are written beside their place, and then put there in one step.
        with tempfile.NamedTemporaryFile(dir=file.parent):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write {file}: {reason}") from error
    return file


def values_columns(result: Result, delta: float = DELTA) -> dict[str, Sequence[Any]]:
    """Return one entry per player: name, value, its error, an interval, contributions and fidelity.

    The intervals cover all players together with probability 1 − δ; they are NaN where nothing can
    be certified.

    Examples
    --------
    >>> import fairshapley as fs
    >>> values_columns(fs.exact(fs.games.TableGame([0, 1, 2, 5])))["upper"]
    [2.0, 3.0]
    """
    widths = result.findings(delta=delta).certificate.half_widths
    widths = np.where(np.isfinite(widths), widths, np.nan)
    of_test = {} if result.test_errors is None else {"test_set_error": result.test_errors.tolist()}
    return {
        "player": list(result.names()),
        "value": result.values.tolist(),
        "standard_error": result.standard_errors.tolist(),
        "lower": (result.values - widths).tolist(),
        "upper": (result.values + widths).tolist(),
        "count": result.counts.tolist(),
        "fidelity": result.fidelity().tolist(),
        **of_test,
    }


def shown_table(
    result: Result, first: int, last: int, *, terms: bool = True
) -> tuple[list[str], list[Sequence[str]]]:
    """Return headings and rows by decreasing value: the first and the last of a long table.

    Parameters
    ----------
    result
        Whose players to show.
    first, last
        How many to show from the top and from the bottom.
    terms
        Whether to show contributions and fidelity too.

    Examples
    --------
    >>> import fairshapley as fs
    >>> shown_table(fs.exact(fs.games.TableGame([0, 1])), 5, 5)
    (['player', 'value'], [('0', '+1')])
    """
    counts, of_test = result.game.row_counts, result.test_errors
    columns: dict[str, list[str]] = {
        "player": list(result.names()),
        "value": [_shown(value, "+.5g") for value in result.values],
    }
    if counts is not None and max(counts) > 1 and (terms or result.exact):
        columns["rows"] = [f"{count:,}" for count in counts]
    if not result.exact:
        columns["standard error"] = [_shown(error) for error in result.standard_errors]
        if terms:
            columns["contributions"] = [f"{count:,}" for count in result.counts]
            columns["fidelity"] = [_shown(score) for score in result.fidelity()]
    if of_test is not None:
        columns["test-set error"] = [_shown(error) for error in of_test]
    if not result.exact:
        columns["effect"] = list(result.findings().grades)
    rows: list[Sequence[str]] = list(zip(*columns.values(), strict=True))
    # NaN, a value not known yet, comes last.
    order = (-result.values).argsort(kind="stable")
    return list(columns), shortened([rows[player] for player in order], first, last)


def _shown(value: float, form: str = ".3g") -> str:
    return format(value, form) if math.isfinite(value) else number(value)


def shortened(rows: list[Sequence[str]], first: int, last: int) -> list[Sequence[str]]:
    """Return the rows, or the first and the last with a row that says what is left out.

    Examples
    --------
    >>> shortened([["a", "1"], ["b", "2"], ["c", "3"], ["d", "4"]], 1, 1)
    [['a', '1'], ['2 more', ''], ['d', '4']]
    """
    left_out = len(rows) - first - last
    if left_out <= 1:
        return rows
    gap = [f"{left_out:,} more", *[""] * (len(rows[0]) - 1)]
    return [*rows[:first], gap, *rows[-last:]]


def write_values(result: Result, path: str | os.PathLike[str], delta: float = DELTA) -> None:
    """Write the values to a .csv, .parquet or .json file (which `Result.load` reads).

    In a CSV file a name that a spreadsheet would take for a formula gets a leading apostrophe.

    Examples
    --------
    >>> import fairshapley as fs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "values.csv"
    ...     write_values(fs.exact(fs.games.TableGame([0, 1])), file)
    ...     file.read_text().split()[0]
    'player,value,standard_error,lower,upper,count,fidelity'
    """
    file = check_writable(path, VALUE_ENDINGS)
    ending = file.suffix.lower()
    if ending == ".json":
        result.save(file)
    else:
        columns = values_columns(result, delta)
        write_whole(file, _parquet(columns) if ending == ".parquet" else csv_bytes(columns))


def csv_bytes(columns: Mapping[str, Sequence[Any]]) -> bytes:
    r"""Return columns as the content of a CSV file; no text in it is a formula to a spreadsheet.

    Examples
    --------
    >>> csv_bytes({"name": ["=1+1"], "value": [-1.5]})
    b"name,value\r\n'=1+1,-1.5\r\n"
    """
    text = io.StringIO(newline="")
    # With \r\n at the end of lines, cells that hold either sign are quoted.
    writer = csv.writer(text, lineterminator="\r\n")
    for row in (list(columns), *zip(*columns.values(), strict=True)):
        writer.writerow(map(_cell, row))
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return f"{cell:f}"  # without an exponent
    return plain_cell(cell) if isinstance(cell, str) else cell


def _parquet(columns: dict[str, Sequence[Any]]) -> bytes:
    with extra("tables", "writing Parquet needs pyarrow", "or write .csv"):
        from pyarrow import parquet
    names = [name.encode("utf-8", "backslashreplace").decode() for name in columns["player"]]
    sink = io.BytesIO()
    parquet.write_table(make_frame({**columns, "player": names}, "pyarrow"), sink)
    return sink.getvalue()
