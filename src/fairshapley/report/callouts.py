"""Who is called out: duplicates, harmful players, null players; and the values by label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairshapley.report.players import PlayerTable
from fairshapley.report.wording import number, percent, several

if TYPE_CHECKING:
    from fairshapley.result import Result

# A card names so many; the table of players can be filtered for all of them.
NAMED = 6
# When more than this share of all players is harmful, labels are hardly the reason.
MANY = 0.25


@dataclass(frozen=True)
class Callout:
    """A card with some players."""

    key: str
    """The filter of the table that shows all of them"""
    title: str
    text: str
    items: tuple[tuple[str, str], ...]
    """A name, and what is said of it"""
    total: int


def callouts(result: Result, table: PlayerTable, epsilon1: float, delta: float) -> list[Callout]:
    """The three cards, those without a player too: that there is none is an answer."""
    return [
        _harmful(table, delta),
        _duplicates(table),
        _nulls(result, table, epsilon1, delta),
    ]


def _harmful(table: PlayerTable, delta: float) -> Callout:
    found = np.flatnonzero(table.signs < 0)
    found = found[np.argsort(table.values[found], kind="stable")]
    if not table.intervals.joint:
        text = "Signs are not settled, because no joint statement about the values can be made."
    elif not len(found):
        text = f"No value is below zero with a joint certainty of {percent(1 - delta)}."
    else:
        text = (
            f"{several(len(found), 'value')} below zero with a joint certainty of "
            f"{percent(1 - delta)}: these players lower the utility. "
        )
        if len(found) <= MANY * len(table.names):
            text += "Among training points a wrong label is the usual reason: look at them first."
        else:
            text += (
                "So many are hardly wrong labels: look at the utility first, for instance at what "
                "it is for small coalitions and for those of one class."
            )
    items = [(table.names[player], _described(table, int(player))) for player in found[:NAMED]]
    return Callout("negative", "Likely mislabelled or harmful", text, tuple(items), len(found))


def _described(table: PlayerTable, player: int) -> str:
    label = f"label {table.labels[player]}, " if table.labels is not None else ""
    return f"{label}{number(table.values[player])} ({table.interval_text(player)})"


def _duplicates(table: PlayerTable) -> Callout:
    members = sum(len(group) for group in table.groups)
    if not members:
        return Callout("duplicate", "Duplicates", "The game knows of no identical players.", (), 0)
    spread = [float(np.ptp(table.values[list(group)])) for group in table.groups]
    same = (
        "each group has one value"
        if max(spread) == 0
        else (f"within a group values differ by at most {number(max(spread))}, by chance alone")
    )
    text = (
        f"{several(members, 'player')} in {several(len(table.groups), 'group')} with the same "
        f"content. Fairness asks for equal values; {same}."
    )
    items = []
    for group in table.groups[:NAMED]:
        names = ", ".join(table.names[player] for player in group[:4])
        more = f" and {len(group) - 4:,} more" if len(group) > 4 else ""
        items.append(
            (names + more, f"about {number(float(table.values[list(group)].mean()))} each")
        )
    return Callout("duplicate", "Duplicates", text, tuple(items), members)


def _nulls(result: Result, table: PlayerTable, epsilon1: float, delta: float) -> Callout:
    found = np.flatnonzero(table.nulls)
    limit = number(result.xi * epsilon1)
    declared = int(result.configuration.get("null_players", 0))
    if len(found):
        text = (
            f"{several(len(found), 'player')} whose value lies within ± {limit} (ξ · ε1) with a "
            f"joint certainty of {percent(1 - delta)}: they neither help nor harm."
        )
        if declared:
            text += f" {declared:,} of them were declared null."
    else:
        text = f"No value is shown to lie within ± {limit} (ξ · ε1)."
    items = [(table.names[player], _described(table, int(player))) for player in found[:NAMED]]
    return Callout("null", "Null players", text, tuple(items), len(found))


def label_rows(table: PlayerTable) -> list[tuple[str, str, str, str, str]]:
    """For each label: players, the sum and the mean of their values, and those settled negative."""
    if table.labels is None:
        return []
    labels = np.array(table.labels, dtype=object)
    rows = []
    for label in sorted(set(table.labels)):
        chosen = labels == label
        values = table.values[chosen]
        rows.append(
            (
                label,
                f"{int(chosen.sum()):,}",
                number(float(values.sum())),
                number(float(values.mean())),
                f"{int((table.signs[chosen] < 0).sum()):,}",
            )
        )
    return rows
