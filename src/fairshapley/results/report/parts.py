"""The values by part, such as the rounds of a federated run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairshapley._basics.text import visible
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# Columns that can be read beside each other: the players with the highest values.
MOST_PLAYERS = 12


@dataclass(frozen=True)
class ByPart:
    """The section's sentence, the names of its columns, and its rows."""

    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The name of a part, what it gained, and the values of the players shown"""


def by_part(result: Result, table: PlayerTable) -> ByPart | None:
    """The values in each part; None for a game without parts."""
    if not result.parts:
        return None
    shown = table.order[:MOST_PLAYERS].tolist()
    gains = [part.endpoints[1] - part.endpoints[0] for part in result.parts]
    rows = [
        (visible(part.name), number(gain), *(number(part.values[player]) for player in shown))
        for part, gain in zip(result.parts, gains, strict=True)
    ]
    ends = result.endpoints
    total = sum(gains) if ends is None else ends[1] - ends[0]
    rows.append(("all together", number(total), *(number(table.values[at]) for at in shown)))
    sentence = (
        f"The utility is a total over {len(result.parts)} parts"
        f"{f': {visible(result.unit)}' if result.unit else ''}. Each row shows what a part gained "
        "from nobody to everybody, and how that is divided."
    )
    if len(shown) < result.n_players:
        sentence += f" The {len(shown)} players with the highest values are shown."
    return ByPart(sentence, tuple(table.names[player] for player in shown), tuple(rows))
