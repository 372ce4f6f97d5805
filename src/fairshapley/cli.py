"""The command line: parse, run, print; results on standard output, progress on standard error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fairshapley.demo import breast_cancer_game
from fairshapley.errors import FairShapleyError
from fairshapley.result import Result
from fairshapley.valuation import estimate

app = typer.Typer(
    no_args_is_help=True,
    help="Values of data points, datasets, agents and features, and how fair the numbers are.",
)

# Exit code of a run that could not be done, as for wrong options.
FAILED = 2


@app.callback()
def main() -> None:
    """Keep `demo` a command of its own while it is the only one."""


@app.command()
def demo(
    players: Annotated[int, typer.Option(min=1, max=400, help="Training points to value.")] = 30,
    budget: Annotated[int, typer.Option(min=2, help="Utility evaluations (model fits).")] = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Fixes all random draws.")] = 0,
    journal: Annotated[
        Path | None, typer.Option(help="Keep every utility here; run again to continue.")
    ] = None,
) -> None:
    """Value the training points of a breast cancer classifier.

    Example: fairshapley demo --players 12 --budget 500
    """
    game = breast_cancer_game(players)
    try:
        result = estimate(game, budget=budget, seed=seed, journal=journal)
    except FairShapleyError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
        raise typer.Exit(FAILED) from None
    console = Console()
    console.print(values_table(result))
    console.print(escape(str(result)), soft_wrap=True)


def values_table(result: Result) -> Table:
    """The players by decreasing value, with standard error, contributions and fidelity."""
    table = Table(title=f"{result.semivalue} values")
    table.add_column("player")
    for column in ("value", "standard error", "contributions", "fidelity"):
        table.add_column(column, justify="right")
    names, scores = result.names(), result.fidelity()
    for player in (-result.values).argsort(kind="stable"):
        table.add_row(
            escape(names[player]),
            f"{result.values[player]:+.5f}",
            f"{result.standard_errors[player]:.5f}",
            f"{result.counts[player]:,}",
            f"{scores[player]:.3g}",
        )
    return table
