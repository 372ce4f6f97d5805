"""`fairshapley verify`: whether saved files are what was written, and fit together."""

from __future__ import annotations

from pathlib import Path

import typer

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import LONGEST, NOT_VERIFIED
from fairshapley.cli.groups import argument, option
from fairshapley.cli.options import AsJson, KeyFile
from fairshapley.cli.printing import emit, print_json


def check_files(
    result: Path = argument(..., "A result saved as .json (value --out).", "RESULT"),
    journal: Path | None = option(
        None,
        "The journal of the run: values, errors and certificate are computed from it "
        "again, without the data or the model.",
        "FILE",
    ),
    report: Path | None = option(None, "The HTML report made from the result.", "FILE"),
    key_file: KeyFile = None,
    recompute: bool = option(
        True,
        "Run the method again on the journal. Without it only digests and sums are "
        "compared: less than a second per million evaluations.",
    ),
    as_json: AsJson = False,
) -> None:
    """Check that a saved result, its journal and its report were not changed, and fit together.

    Without a key this finds accidents, not forgeries: someone who changes all files on purpose
    can make them fit.

    Example: fairshapley verify values.json --journal run.db --report report.html
    """
    from fairshapley._basics.digests import read_key
    from fairshapley.uses.verification import verify as verified

    key = None if key_file is None else read_key(key_file)
    found = verified(result, journal=journal, report=report, key=key, recompute=recompute)
    if as_json:
        print_json({"holds": found.holds, "checks": [vars(check) for check in found.checks]})
    else:
        for line in str(found).splitlines():
            emit(one_line(line, LONGEST))
    if not found.holds:
        raise typer.Exit(NOT_VERIFIED)
