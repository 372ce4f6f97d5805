"""`fairshapley clean`: rows of a table that are probably mislabelled."""

from __future__ import annotations

from functools import partial

from fairshapley.cli.options import AsJson, CsvOut, FileOptions, Quiet, Report, run_option

# Suspects that are printed.
FEW = 20


def clean_table(
    data: FileOptions,
    share: float | None = run_option(None, "The share of wrong labels, if known.", "S"),
    checks: bool = run_option(
        True, "Plant wrong labels and count how many are found; score without the suspects."
    ),
    out: CsvOut = None,
    report: Report = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find rows whose label is probably wrong, with a probability for each.

    Models that have not seen a row judge its label; beside that stand what its neighbours say and
    what the row is worth. Nothing is changed: look at the first suspects, then decide.

    Example: fairshapley clean train.csv --target label --out suspects.csv --report suspects.html
    """
    from fairshapley.clean import suspects
    from fairshapley.cli.output import give_answer
    from fairshapley.cli.printing import print_json, print_shown
    from fairshapley.cli.setup import REPORT_ENDINGS, check_files, read_files, show_notes

    target = data.wanted_target()
    check_files((data.train, data.test), (out, (".csv",)), (report, REPORT_ENDINGS))
    train, test = read_files(data, (data.id_column,), data.max_rows)
    found = suspects(
        train,
        target,
        test=test,
        share=share,
        names=data.id_column,
        drop=data.drop or (),
        checked=checks,
    )
    show_notes(found.notes, quiet=quiet)

    def show(_written: object) -> None:
        if as_json:
            first = found.to_frame("dict", most=FEW)
            print_json({"sentences": found.sentences(), "suspects": first})
            return
        headings, rows = found.shown(FEW)
        # The other columns are in the file and in the report.
        few = headings[:6], [row[:6] for row in rows]
        print_shown("the first suspects", *few, found.sentences(), texts=True)

    page = partial(found.report, title=data.train.name)
    give_answer([("suspects", out, found.to_csv), ("report", report, page)], show, quiet=as_json)
