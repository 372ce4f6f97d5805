"""`fairshapley verify`: whether saved files are what was written, and fit together."""

from __future__ import annotations

from pathlib import Path

import typer

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import NOT_VERIFIED
from fairshapley.cli.groups import argument, option
from fairshapley.cli.options import AsJson
from fairshapley.cli.printing import LONGEST, emit, print_json


def verify_files(
    result: Path = argument(..., "A result saved as .json (value --out).", "RESULT"),
    journal: Path | None = option(
        None, "The journal of the run: values and errors are computed from it again.", "FILE"
    ),
    report: Path | None = option(None, "The HTML report made from the result.", "FILE"),
    recompute: bool = option(
        True, "Run the method again on the journal; else only digests are compared."
    ),
    as_json: AsJson = False,
) -> None:
    """Check that a saved result, its journal and its report were not changed, and fit together.

    Digests find accidents. Recomputing the values from the journal convinces; someone who forges
    the journal too is found out by the data and the model alone.

    Example: fairshapley verify values.json --journal run.db --report report.html
    """
    from fairshapley.verification import verify as verified

    found = verified(result, journal=journal, report=report, recompute=recompute)
    if as_json:
        print_json({"holds": found.holds, "checks": [vars(check) for check in found.checks]})
    else:
        for line in str(found).splitlines():
            emit(one_line(line, LONGEST))
    if not found.holds:
        raise typer.Exit(NOT_VERIFIED)
