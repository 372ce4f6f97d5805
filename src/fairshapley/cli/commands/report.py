"""`fairshapley report`: the report again, from a saved result or a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairshapley.cli.options import Delta, Epsilon1, Pool
from fairshapley.cli.printing import emit
from fairshapley.cli.saved import Saved, load_result


def write_report(
    run: Saved,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The HTML file; by default named as RUN."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The heading of the report.")] = None,
    number: Annotated[
        int | None,
        typer.Option("--run", metavar="N", help="The run of a journal; by default the newest."),
    ] = None,
    epsilon1: Epsilon1 = None,
    delta: Delta = 0.1,
    pool: Pool = None,
) -> None:
    """Write the HTML report of a run that was saved, or that a journal holds.

    Example: fairshapley report values.json --out report.html
    """
    from fairshapley.cli.setup import REPORT_ENDINGS, check_files

    target = run.with_suffix(".html") if out is None else out
    check_files((run,), (target, REPORT_ENDINGS))
    result = load_result(run, number)
    result.report(
        target,
        title=run.name if title is None else title,
        epsilon1=epsilon1,
        delta=delta,
        pool=pool,
    )
    emit(str(target))
