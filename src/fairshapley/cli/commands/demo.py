"""`fairshapley demo`: a question with data of its own, answered by two commands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fairshapley.cli.options import DataOptions, OutputOptions, RunOptions, Seed
from fairshapley.errors import InputError

POOL = "10000"


def show_demo(
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the tables and the answers are written.")
    ] = Path("fairshapley-demo"),
    epsilon1: Annotated[
        float, typer.Option(metavar="E", help="Run until each value is known to this share.")
    ] = 0.1,
    seed: Seed = 0,
) -> None:
    """Answer a question: of fourteen clinics that sold rows for a model, who is worth what.

    Writes the tables, values, payouts and a report into a folder, and shows the commands.

    Example: fairshapley demo
    """
    from fairshapley.cli.commands.payout import divide_sum
    from fairshapley.cli.commands.value import value_table
    from fairshapley.cli.exits import say
    from fairshapley.fairness.levels import check_epsilon1
    from fairshapley.results.origin import recorded
    from fairshapley.uses.demo import COPIED, COPY, GUESSES, write_clinics

    check_epsilon1(epsilon1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error
    train, test = write_clinics(folder)
    values, report = folder / "values.json", folder / "report.html"
    amounts = folder / "payout.csv"
    say(
        f"Fourteen clinics sold 20 rows each for a model that tells tumours apart. {COPY} sent the "
        f"rows of {COPIED} again, the labels of {GUESSES} are random. What is each worth?\n"
    )
    run = RunOptions(epsilon1=epsilon1, xi="mean", seed=seed)
    command = _command(
        "value", train, "--target", "diagnosis", "--test", test, "--group-by", "clinic",
        "--epsilon1", epsilon1, "--xi", "mean", *(["--seed", seed] if seed else []),
        "--out", values, "--report", report, "--pool", POOL,
    )  # fmt: skip
    say(f"$ {command}")
    with recorded(command=command):
        value_table(
            DataOptions(train=train, target="diagnosis", test=test, group_by="clinic"),
            run,
            OutputOptions(out=values, report=report, pool=POOL),
        )
    say(f"\n$ {_command('payout', values, '--pool', POOL, '--out', amounts)}")
    divide_sum(values, POOL, out=amounts)
    say(
        f"\n{COPIED} and {COPY} are worth the same and share what these rows add; {GUESSES} is "
        f"worth less than nothing, and gets nothing. Open {report} in a browser.\n"
        "With a table of your own: fairshapley value TABLE.csv --target COLUMN"
    )


def _command(*parts: object) -> str:
    return shlex.join(["fairshapley", *map(str, parts)])
