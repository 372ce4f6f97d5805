"""`fairshapley demo`: a question with data of its own, answered by two commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from fairshapley._basics.files import make_folder
from fairshapley.cli.groups import option

POOL = "10000"


def show_demo(
    folder: Path = option(
        Path("fairshapley-demo"), "Where the tables and the answers are written.", "FOLDER"
    ),
) -> None:
    """Answer a question: of fourteen clinics that sold rows for a model, who is worth what.

    Writes the tables, values, payouts and a report into a folder, and shows the commands.

    Example: fairshapley demo
    """
    from fairshapley.cli.exits import say
    from fairshapley.demo import COPIED, COPY, GUESSES, write_clinics

    make_folder(folder)
    train, test = write_clinics(folder)
    values, report = folder / "values.json", folder / "report.html"
    say(
        f"Fourteen clinics sold 20 rows each for a model that tells tumours apart. {COPY} sent the "
        f"rows of {COPIED} again, the labels of {GUESSES} are random. What is each worth?\n"
    )
    _run(
        "value", train, "--target", "diagnosis", "--test", test, "--group-by", "clinic",
        "--epsilon1", "0.1", "--xi", "share", "--out", values, "--report", report, "--pool", POOL,
    )  # fmt: skip
    say("")
    _run("payout", values, "--pool", POOL, "--out", folder / "payout.csv")
    say(
        f"\n{COPIED} and {COPY} are worth the same and share what these rows add; {GUESSES} is "
        f"worth less than nothing, and gets nothing. Open {report} in a browser.\n"
        "With a table of your own: fairshapley value TABLE.csv --target COLUMN"
    )


def _run(*parts: object) -> None:
    """Show a command, and run it."""
    from fairshapley.cli.exits import say
    from fairshapley.cli.registry import app

    arguments = list(map(str, parts))
    say(f"$ {shlex.join(['fairshapley', *arguments])}")
    if code := typer.main.get_command(app).main(arguments, standalone_mode=False):
        raise typer.Exit(code)
