"""The table of players: values, intervals, and who is called out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.text import visible
from fairshapley._basics.types import BoolArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.player_data import identical_groups
from fairshapley.results.warnings import remarks_of
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result


class PlayerTable:
    """One row per player: its interval, and what it is called out for.

    `signs` are 1 or −1 where a value is shown to be above or below zero, else 0; `groups` hold
    players that the game knows to be identical; `nulls` are players whose value is null for all
    practical purposes, or declared so; `found` is what was found in the data of each player. Ends
    of intervals are NaN where nothing bounds the value.
    """

    def __init__(
        self, result: Result, *, epsilon1: float, delta: float, labels: Sequence[Any] | None
    ) -> None:
        decisions, n_players = result.findings(delta=delta).decisions, result.n_players
        ends = np.array([decisions.lower, decisions.upper])
        self.result, self.labels = result, player_labels(result, labels)
        self.lower, self.upper = np.where(np.isfinite(ends).all(axis=0), ends, np.nan)
        self.signs, self.fidelity = decisions.signs(), result.fidelity()
        limit = result.xi * epsilon1
        self.nulls: BoolArray = (self.lower >= -limit) & (self.upper <= limit)
        # Who is shown to be below zero is not called near it as well; exact values are or are not.
        self.nulls &= self.signs == 0 if result.exact else self.signs >= 0
        self.nulls[n_players - result.evidence.n_nulls :] = True
        self.bounded = not np.isnan(self.lower).all()
        values = result.values
        # From the highest value to the lowest, those without a value last.
        self.order: IntArray = np.argsort(-values, kind="stable")
        below = np.flatnonzero(self.signs < 0)
        self.negative: list[int] = below[np.argsort(values[below], kind="stable")].tolist()
        groups = identical_groups(result.game.identical_players, n_players)
        self.groups = [group for group in groups if len(group) > 1]
        self.spread = max((float(np.ptp(values[group])) for group in self.groups), default=0.0)
        self.group_numbers = np.full(n_players, -1)
        for place, group in enumerate(self.groups):
            self.group_numbers[group] = place
        found: list[list[str]] = [[] for _ in range(n_players)]
        for remark in remarks_of(result):
            found[remark.player].append(remark.text)
        self.found = tuple(map("; ".join, found))
        names = result.evidence.player_names or [f"player {at}" for at in range(n_players)]
        self.names = tuple(map(visible, names))
        # How many rows each player has says something only where some have several.
        counts = result.game.row_counts
        self.row_counts = None if counts is None or max(counts) == 1 else counts

    def others_of_label(self, player: int) -> tuple[int, float]:
        """Return how many other players have the label of this one, and their mean value."""
        same = np.array([label == (self.labels or ())[player] for label in self.labels or ()])
        same[player] = False
        values = self.result.values[same]
        return len(values), float(values.mean()) if len(values) else np.nan

    def by_label(self) -> dict[str, IntArray]:
        """Return the players of each label."""
        labels = np.array(self.labels or (), dtype=object)
        return {label: np.flatnonzero(labels == label) for label in sorted(set(labels))}

    def interval_text(self, player: int) -> str:
        """Return a player's interval in words."""
        lower, upper = self.lower[player], self.upper[player]
        return "not known" if np.isnan(lower) else f"{number(lower)} to {number(upper)}"


def player_labels(result: Result, labels: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Return a label for each player as it is shown."""
    if labels is None:
        return None
    if isinstance(labels, str | Mapping) or len(labels) != result.n_players:
        raise InputError(f"labels must have one entry for each of the {result.n_players} players")
    return tuple(visible(str(label)) for label in labels)
