"""The table of players: values, intervals, and who is called out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fairshapley._basics.text import visible
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.identical import identical_groups
from fairshapley.results.report.wording import number, percent

if TYPE_CHECKING:
    from fairshapley.results.result import Result

Labels: TypeAlias = Sequence[Any] | Mapping[Any, Any]
# Without a joint statement: about 95 % for one player, when errors are normal.
POINTWISE_ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class Intervals:
    """An interval for each player, and what it means."""

    lower: FloatArray
    upper: FloatArray
    joint: bool
    """Whether all of them hold together with a probability of at least 1 − δ"""
    meaning: str

    @classmethod
    def of(cls, result: Result, delta: float) -> Intervals:
        """Simultaneous intervals, or where none may be stated those of each player alone."""
        if result.exact:
            return cls(result.values, result.values, True, "The values are exact.")
        try:
            decisions = result.decisions(delta)
        except InputError:
            reach = POINTWISE_ERRORS * result.standard_errors
            meaning = (
                "Each interval reaches two standard errors to each side and is for one player "
                "alone, because no statement about all players together can be made."
                if not np.isnan(reach).all()
                else "No intervals can be given, because the standard errors are not known."
            )
            return cls(result.values - reach, result.values + reach, False, meaning)
        meaning = (
            f"With {percent(1 - delta)} confidence, every interval contains the true value of its "
            "player, for all players together."
        )
        return cls(decisions.lower, decisions.upper, True, meaning)

    def signs(self) -> IntArray:
        """1 or −1 where a value is shown to be above or below zero, else 0."""
        if not self.joint:
            return np.zeros(len(self.lower), dtype=np.int64)
        return (self.lower > 0).astype(np.int64) - (self.upper < 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PlayerTable:
    """One row per player."""

    names: tuple[str, ...]
    labels: tuple[str, ...] | None
    row_counts: tuple[int, ...] | None
    """How many rows each player has, where that says something: not where each has one"""
    values: FloatArray
    intervals: Intervals
    errors: FloatArray
    fidelity: FloatArray
    counts: IntArray
    signs: IntArray
    groups: tuple[tuple[int, ...], ...]
    """Players that the game knows to be identical, group by group"""
    nulls: BoolArray
    """Whose value is null for all practical purposes, or declared so"""
    exact: bool
    """Whether the values are proven: then there are no errors to show"""

    @classmethod
    def of(
        cls, result: Result, *, epsilon1: float, delta: float, labels: Labels | None
    ) -> PlayerTable:
        """The players of a result."""
        intervals = Intervals.of(result, delta)
        limit = result.xi * epsilon1
        nulls = (intervals.lower >= -limit) & (intervals.upper <= limit)
        declared = int(result.configuration.get("null_players", 0))
        nulls = nulls & intervals.joint
        # Who is shown to be below zero is not called near it as well; exact values are or are not.
        signs = intervals.signs()
        nulls &= signs == 0 if result.exact else signs >= 0
        nulls[result.n_players - declared :] = True
        groups = identical_groups(result.identical_players, result.n_players)
        return cls(
            names=shown_names(result),
            labels=player_labels(result, labels),
            row_counts=shown_rows(result),
            values=result.values,
            intervals=intervals,
            errors=result.standard_errors,
            fidelity=result.fidelity(),
            counts=result.counts,
            signs=signs,
            groups=tuple(tuple(group) for group in groups if len(group) > 1),
            nulls=nulls,
            exact=result.exact,
        )

    @property
    def order(self) -> IntArray:
        """The players from the highest value to the lowest, those without one last."""
        return np.argsort(-self.values, kind="stable")

    def group_numbers(self) -> IntArray:
        """The number of each player's group of identical players, −1 without one."""
        numbers = np.full(len(self.names), -1)
        for place, group in enumerate(self.groups):
            numbers[list(group)] = place
        return numbers

    def interval_text(self, player: int) -> str:
        """A player's interval in words."""
        lower, upper = self.intervals.lower[player], self.intervals.upper[player]
        return "not known" if np.isnan(lower) else f"{number(lower)} to {number(upper)}"


def shown_rows(result: Result) -> tuple[int, ...] | None:
    """The rows of each player, where players are groups of rows."""
    counts = result.row_counts
    return None if counts is None or max(counts) == 1 else counts


def shown_names(result: Result) -> tuple[str, ...]:
    """The players' names as the page shows them."""
    if result.player_names is None:
        return tuple(f"player {player}" for player in range(result.n_players))
    return tuple(visible(name) for name in result.player_names)


def player_labels(result: Result, labels: Labels | None) -> tuple[str, ...] | None:
    """A label for each player, from a sequence or from a mapping of names or numbers."""
    if labels is None:
        return None
    if isinstance(labels, Mapping):
        names = result.names()
        found = [labels.get(name, labels.get(place, "")) for place, name in enumerate(names)]
        known = set(names) | set(range(result.n_players))
        if strange := [key for key in labels if key not in known]:
            raise InputError(
                f"labels has an entry for {strange[0]!r:.40}, which is no player: use the names "
                "or the numbers of players"
            )
    elif isinstance(labels, str) or len(labels) != result.n_players:
        raise InputError(f"labels must have one entry for each of the {result.n_players} players")
    else:
        found = list(labels)
    return tuple(visible(str(label)) for label in found)
