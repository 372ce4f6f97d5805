"""The table of players: values, intervals, and who is called out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.text import visible
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.player_data import identical_groups
from fairshapley.results.warnings import remarks_of
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result


@dataclass(frozen=True, eq=False)
class PlayerTable:
    """One row per player."""

    result: Result
    names: tuple[str, ...]
    labels: tuple[str, ...] | None
    row_counts: tuple[int, ...] | None
    """How many rows each player has, where that says something: not where each has one"""
    lower: FloatArray
    """Ends of simultaneous intervals; NaN, as `upper`, where nothing bounds the value"""
    upper: FloatArray
    signs: IntArray
    """1 or −1 where a value is shown to be above or below zero, else 0"""
    groups: tuple[tuple[int, ...], ...]
    """Players that the game knows to be identical, group by group"""
    nulls: BoolArray
    """Whose value is null for all practical purposes, or declared so"""

    @classmethod
    def of(
        cls, result: Result, *, epsilon1: float, delta: float, labels: Sequence[Any] | None
    ) -> PlayerTable:
        """The players of a result."""
        decisions = result.findings(delta=delta).decisions
        known = np.isfinite(decisions.lower) & np.isfinite(decisions.upper)
        lower, upper = (
            np.where(known, ends, np.nan) for ends in (decisions.lower, decisions.upper)
        )
        limit, signs = result.xi * epsilon1, decisions.signs()
        nulls = (lower >= -limit) & (upper <= limit)
        # Who is shown to be below zero is not called near it as well; exact values are or are not.
        nulls &= signs == 0 if result.exact else signs >= 0
        nulls[result.n_players - result.evidence.n_nulls :] = True
        groups = identical_groups(result.game.identical_players, result.n_players)
        names, counts = result.evidence.player_names, result.game.row_counts
        if names is None:
            names = tuple(f"player {player}" for player in range(result.n_players))
        return cls(
            result,
            names=tuple(map(visible, names)),
            labels=player_labels(result, labels),
            row_counts=None if counts is None or max(counts) == 1 else counts,
            lower=lower,
            upper=upper,
            signs=signs,
            groups=tuple(tuple(group) for group in groups if len(group) > 1),
            nulls=nulls,
        )

    @property
    def bounded(self) -> bool:
        """Whether there are intervals, which hold together with a probability of at least 1 − δ."""
        return not np.isnan(self.lower).all()

    @cached_property
    def fidelity(self) -> FloatArray:
        """The fidelity scores."""
        return self.result.fidelity()

    @property
    def negative(self) -> list[int]:
        """Those below zero, the lowest first."""
        below = np.flatnonzero(self.signs < 0)
        lowest: list[int] = below[np.argsort(self.result.values[below], kind="stable")].tolist()
        return lowest

    def others_of_label(self, player: int) -> tuple[int, float]:
        """How many other players have the label of this one, and their mean value."""
        same = np.array([label == (self.labels or ())[player] for label in self.labels or ()])
        same[player] = False
        values = self.result.values[same]
        return len(values), float(values.mean()) if len(values) else np.nan

    def by_label(self) -> dict[str, IntArray]:
        """The players of each label."""
        labels = np.array(self.labels or (), dtype=object)
        return {label: np.flatnonzero(labels == label) for label in sorted(set(labels))}

    @property
    def spread(self) -> float:
        """The largest difference between the values of identical players."""
        values = self.result.values
        return max((float(np.ptp(values[list(group)])) for group in self.groups), default=0.0)

    @property
    def order(self) -> IntArray:
        """The players from the highest value to the lowest, those without one last."""
        return np.argsort(-self.result.values, kind="stable")

    @cached_property
    def found(self) -> tuple[str, ...]:
        """What was found in the data of each player; empty for most."""
        said = remarks_of(self.result)
        players = range(len(self.names))
        return tuple("; ".join(one.text for one in said if one.player == at) for at in players)

    def group_numbers(self) -> IntArray:
        """The number of each player's group of identical players, −1 without one."""
        numbers = np.full(len(self.names), -1)
        for place, group in enumerate(self.groups):
            numbers[list(group)] = place
        return numbers

    def interval_text(self, player: int) -> str:
        """A player's interval in words."""
        lower, upper = self.lower[player], self.upper[player]
        return "not known" if np.isnan(lower) else f"{number(lower)} to {number(upper)}"


def player_labels(result: Result, labels: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Return a label for each player as it is shown."""
    if labels is None:
        return None
    if isinstance(labels, str | Mapping) or len(labels) != result.n_players:
        raise InputError(f"labels must have one entry for each of the {result.n_players} players")
    return tuple(visible(str(label)) for label in labels)
