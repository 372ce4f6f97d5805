"""What each player gets of a sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairshapley._basics.text import visible
from fairshapley.errors import InputError
from fairshapley.results.payouts import Money
from fairshapley.results.payouts.amounts import shown
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.wording import percent

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# The largest amounts; `Payout.to_csv` writes all of them.
MOST_ROWS = 200


@dataclass(frozen=True)
class Payments:
    """The section's headline, columns, rows and notes."""

    headline: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """A name, then a cell for each column"""
    notes: tuple[str, ...]


def payments(
    result: Result, table: PlayerTable, pool: Money, epsilon1: float, delta: float
) -> Payments:
    """A sum divided by the values of a result, as the page shows it."""
    try:
        divided = result.payout(pool, epsilon1=epsilon1, delta=delta)
    except InputError as error:  # nobody is above zero: the values are to be shown all the same
        return Payments(visible(str(error)), (), (), ())
    columns = ["Share", "Amount"]
    amounts = [divided.amounts]
    # Exact values give exact amounts.
    if divided.lower is not None and divided.upper is not None and not result.exact:
        columns += ["At least", "At most"]
        amounts += [divided.lower, divided.upper]
    if divided.test_lower is not None and divided.test_upper is not None:
        columns += ["With another test set, from", "to"]
        amounts += [divided.test_lower, divided.test_upper]
    rows = tuple(
        (
            table.names[player],
            percent(float(f"{divided.shares[player]:.4f}")),
            *(shown(one[player]) for one in amounts),
        )
        for player in divided.order()[:MOST_ROWS]
    )
    # The certificate that follows the notes is at the top of the page.
    said = set(str(result.certificate(epsilon1, delta)).splitlines())
    notes = tuple(visible(note) for note in divided.notes if note not in said)
    return Payments(divided.headline(), tuple(columns), rows, notes)
