"""Players worth checking: values below zero, identical players, values near zero; and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import several
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.wording import isolated, number, percent

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# A card names this many players; the table of players can be filtered for all of them.
NAMED = 6
# When more than this share of all values is below zero, wrong labels are an unlikely reason.
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
        _below_zero(table, delta),
        _duplicates(table),
        _nulls(result, table, epsilon1, delta),
    ]


def _confidence(table: PlayerTable, delta: float) -> str:
    """How sure a statement about some of the players is."""
    if table.exact:
        return ""
    return f", with {percent(1 - delta)} confidence for all players together"


def _below_zero(table: PlayerTable, delta: float) -> Callout:
    """Nobody is accused: what was measured, what it may mean, and what else it may mean."""
    found = np.flatnonzero(table.signs < 0)
    found = found[np.argsort(table.values[found], kind="stable")]
    few = len(found) <= MANY * len(table.names)
    if not table.intervals.joint:
        text = (
            "It is not decided which values are above or below zero, because no statement about "
            "all values together can be made."
        )
    elif not len(found):
        text = f"No value is below zero{_confidence(table, delta)}."
    else:
        are = "is" if len(found) == 1 else "are"
        text = (
            f"{several(len(found), 'value')} {are} below zero{_confidence(table, delta)}: on "
            "average, adding such a player lowered the utility. "
        )
        if few:
            text += (
                "Where players are training rows, such a row may be mislabelled; it may also be "
                "correct and unusual. The value alone does not tell these apart: check the source "
                "of the row. The evidence for each is listed."
            )
        else:
            text += (
                "With so many, wrong labels are an unlikely reason: check the utility first, for "
                "instance what it is for small coalitions and for those of one class."
            )
    items = [(table.names[player], _evidence(table, int(player), few)) for player in found[:NAMED]]
    return Callout("negative", "Values below zero", text, tuple(items), len(found))


def _described(table: PlayerTable, player: int) -> str:
    value = f"value {number(table.values[player])}"
    return value if table.exact else f"{value}, interval {table.interval_text(player)}"


def _evidence(table: PlayerTable, player: int, doubtful: bool) -> str:
    """A value below zero with what is known of it, and of those with the same label."""
    if table.labels is None:
        return _described(table, player)
    label = table.labels[player]
    others = [at for at, other in enumerate(table.labels) if other == label and at != player]
    may = " (may be mislabelled)" if doubtful else ""
    words = f"label {isolated(label)}{may}; {_described(table, player)}"
    if others:
        mean = number(float(table.values[others].mean()))
        players = several(len(others), "other player")
        words += f"; mean value of {players} with this label {mean}"
    return words


def _duplicates(table: PlayerTable) -> Callout:
    members = sum(len(group) for group in table.groups)
    title = "Identical players"
    if not members:
        return Callout("duplicate", title, "No identical players are known.", (), 0)
    spread = max(float(np.ptp(table.values[list(group)])) for group in table.groups)
    same = "Within each group all values are equal."
    if spread > 0:
        why = "by rounding" if table.exact else "by chance"
        same = f"Within a group the values differ by at most {number(spread)}, {why}."
    text = (
        f"{several(members, 'player')} in {several(len(table.groups), 'group')} with the same "
        f"content. Fairness requires equal values for them. {same}"
    )
    items = []
    for group in table.groups[:NAMED]:
        names = ", ".join(isolated(table.names[player]) for player in group[:4])
        more = f" and {len(group) - 4:,} more" if len(group) > 4 else ""
        mean = number(float(table.values[list(group)].mean()))
        items.append((names + more, f"value {mean} each" if spread == 0 else f"mean value {mean}"))
    return Callout("duplicate", title, text, tuple(items), members)


def _nulls(result: Result, table: PlayerTable, epsilon1: float, delta: float) -> Callout:
    found = np.flatnonzero(table.nulls)
    limit = number(result.xi * epsilon1)
    declared = int(result.configuration.get("null_players", 0))
    if table.exact:
        text = f"{several(len(found), 'value')} {'is' if len(found) == 1 else 'are'} zero."
        if not len(found):
            text = "No value is zero."
    elif len(found):
        lie = "lies" if len(found) == 1 else "lie"
        text = (
            f"{several(len(found), 'value')} {lie} within ± {limit} of zero (ξ · ε1)"
            f"{_confidence(table, delta)}: at this tolerance they cannot be told from players "
            "without any effect."
        )
    else:
        text = f"No value has been shown to lie within ± {limit} of zero (ξ · ε1)."
    if declared:
        text += f" {declared:,} of them were declared to have no effect."
    items = [(table.names[player], _described(table, int(player))) for player in found[:NAMED]]
    return Callout("null", "Values near zero", text, tuple(items), len(found))


def label_rows(table: PlayerTable) -> list[tuple[str, str, str, str, str]]:
    """For each label: players, the sum and the mean of their values, and those below zero."""
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
