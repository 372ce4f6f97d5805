"""`fairshapley payout`: divide a sum of money by the values of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer
from rich.markup import escape
from rich.table import Table

from fairshapley.cli.exits import one_line, say
from fairshapley.cli.printing import output_console, print_json
from fairshapley.cli.saved import Saved, load_result
from fairshapley.errors import InputError
from fairshapley.payouts import Payout
from fairshapley.tabular.writing import check_writable

NEGATIVE = ("zero", "charge", "shift")


def payout(
    run: Saved,
    pool: Annotated[str, typer.Option(metavar="SUM", help="What is divided, such as 1000.")],
    negative: Annotated[
        str,
        typer.Option(
            help="Players with negative values: zero pays them nothing, charge takes from them, "
            "shift lifts all values until the lowest is zero.",
        ),
    ] = "zero",
    unit: Annotated[
        str, typer.Option(metavar="U", help="Amounts are multiples of it: 0.01 for cents.")
    ] = "0.01",
    band: Annotated[
        bool, typer.Option(help="What true values could give each player, as far as is known.")
    ] = True,
    epsilon1: Annotated[
        float, typer.Option(metavar="E", help="Of the certificate behind the band.")
    ] = 0.5,
    delta: Annotated[
        float, typer.Option(metavar="D", help="The probability that the band misses.")
    ] = 0.1,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the amounts: .csv.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Divide a sum by the values of a saved result, to the cent.

    Example: fairshapley payout values.json --pool 1000 --out amounts.csv
    """
    if negative not in NEGATIVE:
        raise InputError(f"--negative must be {', '.join(NEGATIVE)}, not {negative!r:.40}")
    if out is not None:
        check_writable(out, (".csv",), (run,))
    divided = load_result(run).payout(
        pool,
        negative=cast("Literal['zero', 'charge', 'shift']", negative),
        unit=unit,
        band=band,
        epsilon1=epsilon1,
        delta=delta,
    )
    if out is not None:
        divided.to_csv(out)
    if as_json:
        print_json(divided.to_dict())
        return
    console = output_console()
    console.print(_table(divided))
    for note in divided.notes:
        console.print(escape(note), soft_wrap=True, highlight=False)
    if out is not None:
        say(f"amounts written to {out}")


def _table(divided: Payout) -> Table:
    """All players, those who get most first."""
    banded = divided.lower is not None and divided.upper is not None
    table = Table(title=escape(divided.headline()))
    table.add_column("player", overflow="fold")
    for column in ("value", "amount", *(("at least", "at most") if banded else ())):
        table.add_column(column, justify="right", no_wrap=True)
    for player in divided.order():
        cells = [f"{divided.values[player]:+.5g}", f"{divided.amounts[player]:,}"]
        if divided.lower is not None and divided.upper is not None:
            cells += [f"{divided.lower[player]:,}", f"{divided.upper[player]:,}"]
        table.add_row(escape(one_line(divided.names[player])), *cells)
    return table
