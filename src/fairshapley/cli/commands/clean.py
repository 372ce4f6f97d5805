"""`fairshapley clean`: rows of a table that are probably mislabelled."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fairshapley.cli.options import (
    AsJson,
    CsvOut,
    FileOptions,
    Quiet,
    Report,
    Verbose,
    data_option,
    output_option,
    run_option,
)

# Suspects that are printed.
FEW = 10


def clean_table(
    data: FileOptions,
    group_by: str | None = data_option(
        None, "Count the suspects for each category of this column, such as a supplier.", "COL"
    ),
    share: float | None = run_option(None, "The share of wrong labels, if known.", "S"),
    precision: float | None = run_option(
        None, "Review as many rows as have this share of mistakes among them.", "P", min=0, max=1
    ),
    recall: float | None = run_option(
        None, "Review as many rows as hold this share of all mistakes.", "R", min=0, max=1
    ),
    checks: bool = run_option(
        True, "Plant wrong labels and count how many are found; score without the suspects."
    ),
    out: CsvOut = None,
    apply: Path | None = output_option(
        None,
        "Write the table with the suggested labels as .csv, and a log of the changes; rows whose "
        "target is a number are left out.",
        "FILE",
    ),
    report: Report = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find rows whose label is probably wrong, with a probability for each.

    Models that have not seen a row judge its label; beside that stand what its neighbours say and
    what the row is worth. Without --apply nothing is changed: look at the first suspects, then
    decide. Rows are counted from 1, the first under the header.

    Example: fairshapley clean train.csv --target label --out suspects.csv --report suspects.html
    """
    from fairshapley.clean import suspects
    from fairshapley.clean.suspect_rows import IN_BRIEF, as_lines
    from fairshapley.cli.output import File, give_answer
    from fairshapley.cli.printing import print_json, print_shown
    from fairshapley.cli.setup import REPORT_ENDINGS, check_files, read_files
    from fairshapley.tables.columns import column_of

    target = data.wanted_target()
    check_files(
        (data.train, data.test), (out, (".csv",)), (apply, (".csv",)), (report, REPORT_ENDINGS)
    )
    train, test = read_files(data, (data.id_column, group_by), data.max_rows)
    if group_by is not None:
        column_of(train, group_by, "training", "--group-by")
    found = suspects(
        train,
        target,
        test=test,
        share=share,
        names=data.id_column,
        drop=data.drop or (),
        checked=checks,
    )
    rows = found.review(precision=precision, recall=recall)
    grouped = None if group_by is None else found.by(group_by, rows)

    def show(_written: object) -> None:
        if as_json:
            first = found.to_frame("dict", most=FEW)
            facts = {"sentences": found.sentences(rows), "suspects": first, "review": len(rows)}
            print_json(facts | ({} if grouped is None else {"groups": grouped}))
            return
        # The other columns are in the file and in the report.
        brief = found.shown(2 * FEW if verbose else FEW, IN_BRIEF)
        answer, rest = found.sentences(rows)[:3], found.sentences(rows)[3:]
        print_shown(answer, *brief, rest if verbose else ["--verbose says more"], texts=True)
        if grouped is not None:
            print_shown([f"by {group_by}"], *as_lines(grouped), texts=True)

    page = partial(found.report, title=data.train.name, rows=rows, by=group_by)
    files: list[File] = [
        ("suspects", out, found.to_csv),
        ("cleaned table", apply, partial(found.apply, rows=rows)),
        ("report", report, page),
    ]
    give_answer(files, show, quiet=as_json or quiet)
