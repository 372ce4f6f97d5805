"""The app: its commands, and what holds for all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from fairshapley import __version__
from fairshapley.cli.commands.clean import clean_table
from fairshapley.cli.commands.compare import compare_methods
from fairshapley.cli.commands.demo import show_demo
from fairshapley.cli.commands.explain import explain_table
from fairshapley.cli.commands.federated import value_federated
from fairshapley.cli.commands.paper import paper_app
from fairshapley.cli.commands.payout import divide_sum
from fairshapley.cli.commands.plan import plan_run
from fairshapley.cli.commands.report import write_report
from fairshapley.cli.commands.value import value_table
from fairshapley.cli.commands.verify import verify_files
from fairshapley.cli.exits import EXIT_CODES, Command, Commands
from fairshapley.cli.groups import grouped
from fairshapley.cli.printing import emit

_CODES = "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())

app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    help="Values of data points, datasets, agents and features, and how fair the numbers are.\n\n"
    "Results are on standard output, notes and progress on standard error. Exit codes: "
    f"{_CODES}.",
)


THE_WAY = """\
What is each row, supplier or feature worth to a model, and how sure is that?

  fairshapley demo                                an example with data of its own, in seconds
  fairshapley value TABLE.csv --target COLUMN     what each row is worth to predict COLUMN
      --group-by SUPPLIER --out values.json       the worth of each supplier, in a file
  fairshapley clean TABLE.csv --target COLUMN     which rows are probably mislabelled
  fairshapley payout values.json --pool 10000     divide a sum by these values

fairshapley --help lists all commands, fairshapley value --help all options."""


@app.callback(invoke_without_command=True)
def main(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version, and exit.")
    ] = False,
    debug: Annotated[  # noqa: ARG001 - taken out of the line before
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Values of data points, and how fair the numbers are."""
    if version:
        emit(f"fairshapley {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        emit(THE_WAY)


for _name, _command in (
    ("demo", show_demo),
    ("value", value_table),
    ("clean", clean_table),
    ("plan", plan_run),
    ("federated", value_federated),
    ("explain", explain_table),
    ("compare", compare_methods),
    ("report", write_report),
    ("payout", divide_sum),
    ("verify", verify_files),
):
    app.command(_name, cls=Command)(grouped(_command))
app.add_typer(paper_app, name="paper")
