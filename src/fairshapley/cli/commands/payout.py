"""`fairshapley payout`: divide a sum of money by the values of a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import LONGEST
from fairshapley.cli.options import in_options
from fairshapley.cli.printing import output_console, print_json, print_lines
from fairshapley.cli.saved import Saved, load_result
from fairshapley.cli.tables import print_table
from fairshapley.errors import InputError

if TYPE_CHECKING:
    from fairshapley.results.payouts import Payout

NEGATIVE = ("zero", "charge", "shift")


def divide_sum(
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
        bool, typer.Option(help="The range of amounts that the true values could give each player.")
    ] = True,
    epsilon1: Annotated[
        float | None,
        typer.Option(
            metavar="E", help="ε1 of the certificate behind the band; by default that of the run."
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(metavar="D", help="The probability that any band misses."),
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
    from fairshapley.cli.output import Ending
    from fairshapley.fairness.levels import EPSILON1
    from fairshapley.results.tables import check_writable

    if negative not in NEGATIVE:
        raise InputError(f"--negative must be {', '.join(NEGATIVE)}, not {negative!r:.40}")
    if out is not None:
        check_writable(out, (".csv",), (run,))
    result = load_result(run)
    divided = result.payout(
        pool,
        negative=cast("Literal['zero', 'charge', 'shift']", negative),
        unit=unit,
        band=band,
        epsilon1=result.asked.get("epsilon1", EPSILON1) if epsilon1 is None else epsilon1,
        delta=delta,
    )
    ending = Ending()
    ending.write("amounts", out, lambda: divided.to_csv(out or ""))
    with ending.step():
        if as_json:
            print_json(divided.to_dict())
        else:
            _print(divided)
    ending.close(quiet=as_json)


def _print(divided: Payout) -> None:
    """All players, those who get most first, and what is to be said about it."""
    headings = ["player", "value", "amount"]
    amounts = [divided.amounts]
    # The band of exact values is nothing but rounding: at most a unit to each side.
    if (
        divided.lower is not None
        and divided.upper is not None
        and divided.widest > 2 * divided.unit
    ):
        headings += ["at least", "at most"]
        amounts += [divided.lower, divided.upper]
    if divided.test_lower is not None and divided.test_upper is not None:
        headings += ["other test set", "to"]
        amounts += [divided.test_lower, divided.test_upper]
    rows = [
        [
            one_line(divided.names[player], LONGEST),
            f"{divided.values[player]:+.5g}",
            *(f"{one[player]:,}" for one in amounts),
        ]
        for player in divided.order()
    ]
    console = output_console()
    print_table(console, divided.headline(), headings, rows)
    print_lines(console, map(in_options, divided.notes))
