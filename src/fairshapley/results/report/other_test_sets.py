"""Would another test set say the same: a sentence, and both errors of each player."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairshapley.results.another_test_set import another_set, both_errors
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.wording import number, percent

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# The highest values; a saved result has all of them.
MOST_ROWS = 40


@dataclass(frozen=True)
class OtherTestSets:
    """The section's sentence, its column of confidence, and its rows."""

    sentence: str
    confidence: str
    rows: tuple[tuple[str, ...], ...]
    """Name, value, standard error of estimation and of the test set, interval"""


def section_of(result: Result, table: PlayerTable, delta: float) -> OtherTestSets | None:
    """What another test set of the same size would say; None where it is not known."""
    errors = result.test_errors
    if errors is None or result.replicates is None:
        return None
    reach = another_set(result.replicates, delta)
    rows = tuple(
        (
            table.names[player],
            number(result.values[player], 4),
            number(result.standard_errors[player]),
            number(errors[player]),
            f"{number(result.values[player] - reach[player])} to "
            f"{number(result.values[player] + reach[player])}",
        )
        for player in table.order[:MOST_ROWS].tolist()
    )
    return OtherTestSets(both_errors(result, delta), percent(1 - delta), rows)
