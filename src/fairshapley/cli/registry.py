"""The app: its commands, and what holds for all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from fairshapley.cli.commands.compare import compare
from fairshapley.cli.commands.demo import demo
from fairshapley.cli.commands.exact import exact
from fairshapley.cli.commands.paper import paper
from fairshapley.cli.commands.payout import payout
from fairshapley.cli.commands.report import report
from fairshapley.cli.commands.value import value
from fairshapley.cli.commands.verify import verify
from fairshapley.cli.exits import EXIT_CODES, Command, Commands

_CODES = "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Values of data points, datasets, agents and features, and how fair the numbers are.\n\n"
    "Results are on standard output, notes and progress on standard error. Exit codes: "
    f"{_CODES}.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from fairshapley import __version__

        typer.echo(f"fairshapley {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Print the version, and exit."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error; may stand anywhere."),
    ] = False,
) -> None:
    """Values of data points, and how fair the numbers are."""


app.command(cls=Command)(demo)
app.command(cls=Command)(value)
app.command(cls=Command)(exact)
app.command(cls=Command)(compare)
app.command(cls=Command)(report)
app.command(cls=Command)(payout)
app.command(cls=Command)(verify)
app.add_typer(paper, name="paper")
