"""`fairshapley report`: the report again, from a saved result or a journal."""

from __future__ import annotations

from pathlib import Path

from fairshapley.cli.groups import option
from fairshapley.cli.options import Pool, Saved
from fairshapley.cli.printing import emit


def write_report(
    run: Saved,
    out: Path | None = option(None, "The HTML file; by default named as RUN.", "FILE"),
    title: str | None = option(None, "The heading of the report."),
    number: int | None = option(
        None, "The run of a journal; by default the newest.", "N", name="--run"
    ),
    pool: Pool = None,
) -> None:
    """Write the HTML report of a run that was saved, or that a journal holds.

    Example: fairshapley report values.json --out report.html
    """
    from fairshapley.cli.setup import REPORT_ENDINGS, check_files, load_result

    target = run.with_suffix(".html") if out is None else out
    check_files((run,), (target, REPORT_ENDINGS))
    result = load_result(run, number)
    result.report(target, title=run.name if title is None else title, pool=pool)
    emit(str(target))
