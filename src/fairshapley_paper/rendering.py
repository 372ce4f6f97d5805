"""The files of a report: numbers as CSV, tables as Markdown, curves as PNG."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from fairshapley._basics.files import write_whole
from fairshapley_paper.figures import draw
from fairshapley_paper.publications import published_beside
from fairshapley_paper.report import Report

COLUMNS = (
    "scenario",
    "method",
    "accounting",
    "measure",
    "x",
    "value",
    "standard_error",
    "trials",
    "published",
    "published_error",
)


def write(report: Report) -> tuple[Path, ...]:
    """Write all files of a report into its folder; the paths of those written."""
    table = report.folder / "numbers.csv"
    stream = io.StringIO(newline="")
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows(_lines(report))
    write_whole(table, stream.getvalue().encode())
    pictures = draw(report)
    text = report.folder / "README.md"
    write_whole(text, report.summary().encode())
    return (text, table, *pictures)


def _lines(report: Report) -> list[list[str | int]]:
    known = published_beside(report.experiment)
    lines: list[list[str | int]] = []
    for one in report.numbers:
        found = (
            known.get((one.scenario, one.method, one.measure, one.x))
            if one.accounting == "paper"
            else None
        )
        lines.append(
            [
                one.scenario,
                one.method,
                one.accounting,
                one.measure,
                "" if one.x is None else f"{one.x:g}",
                _text(one.value),
                _text(one.error),
                one.trials,
                "" if found is None else _text(found.value),
                "" if found is None else _text(found.error),
            ]
        )
    return lines


def _text(number: float) -> str:
    """Six digits are more than any of the numbers has; nothing for what is not defined."""
    return "" if math.isnan(number) else f"{number:.6g}"
