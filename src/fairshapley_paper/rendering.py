"""The files of a report: numbers as CSV, tables as Markdown, curves as PNG."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import astuple
from pathlib import Path

from fairshapley._basics.files import write_whole
from fairshapley_paper.figures import draw
from fairshapley_paper.report import Report, published_beside

COLUMNS = (
    *("scenario", "method", "accounting", "measure", "x", "value", "standard_error", "trials"),
    *("published", "published_error"),
)
"""The fields of a `Number`, and the paper's number"""


def write(report: Report) -> tuple[Path, ...]:
    """Write all files of a report into its folder; the paths of those written."""
    table = report.folder / "numbers.csv"
    known = published_beside(report)
    stream = io.StringIO(newline="")
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(COLUMNS)
    for number in report.numbers:
        found = known.get((number.scenario, number.method, number.measure, number.x))
        beside = (
            (found.value, found.error) if found and number.accounting == "paper" else (None, None)
        )
        lines.writerow([_text(cell) for cell in (*astuple(number), *beside)])
    write_whole(table, stream.getvalue().encode())
    pictures = draw(report)
    text = report.folder / "README.md"
    write_whole(text, report.summary().encode())
    return (text, table, *pictures)


def _text(cell: str | float | None) -> str:
    """Return a cell with six digits, more than any number has; empty where it is not defined."""
    if isinstance(cell, str):
        return cell
    return "" if cell is None or math.isnan(cell) else f"{cell:.6g}"
