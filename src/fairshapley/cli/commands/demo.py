"""`fairshapley demo`: an example with data of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairshapley.cli.options import Journal, OutputOptions, Seed
from fairshapley.errors import InputError

MOST_PLAYERS = 400


def show_demo(
    players: Annotated[int, typer.Option(help="Training points to value, at most 400.")] = 30,
    budget: Annotated[int, typer.Option(help="Utility evaluations (model fits).")] = 3000,
    seed: Seed = 0,
    journal: Journal = None,
    report: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the report is written.")
    ] = Path("fairshapley-demo.html"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of tables.")
    ] = False,
) -> None:
    """Value the training points of a breast cancer classifier, and write a report.

    Example: fairshapley demo --players 12 --budget 500
    """
    from fairshapley.cli.output import finish
    from fairshapley.cli.setup import check_budget, check_outputs
    from fairshapley.runs.calls import estimate
    from fairshapley.uses.demo import breast_cancer_game

    if not 1 <= players <= MOST_PLAYERS:
        raise InputError(f"--players must be from 1 to {MOST_PLAYERS}, not {players}")
    check_budget(budget)
    output = OutputOptions(report=report, as_json=as_json)
    check_outputs(output, (), journal)
    result = estimate(breast_cancer_game(players), budget=budget, seed=seed, journal=journal)
    finish(result, output, title="Training points of a breast cancer classifier")
