"""Rules that look at the estimates at planned times, and share δ among their looks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from fairshapley._basics import checks
from fairshapley.fairness.certificate import cost_text
from fairshapley.fairness.levels import check_delta
from fairshapley.fairness.looks import spent_share
from fairshapley.fairness.tails import doubts
from fairshapley.stopping.rules import Budget, Rule, Snapshot, evaluation_limit

# A target that would take this many times the budget is out of reach; a rule that may give up does
# so from a quarter of the budget on.
OUT_OF_REACH = 4.0
ENOUGH_TO_JUDGE = 0.25


@dataclass(frozen=True)
class Look:
    """What a look has shown."""

    holds: bool
    said: str
    """What is reached, or why it is not"""
    predict: Callable[[], float]
    """Computes the evaluations that it is predicted to take: among many players that takes longer
    than the look, and most looks do not ask"""

    @cached_property
    def needed(self) -> float:
        """The evaluations that it is predicted to take."""
        return self.predict()


@dataclass(frozen=True)
class PlannedLooks(Rule):
    """A rule that tests its aim at planned numbers of evaluations, each time with a part of δ."""

    delta: float = field(kw_only=True)
    give_up: bool = field(default=False, kw_only=True)
    """Whether a run stops before its budget is spent, once the aim turns out to be out of reach"""

    # Without a budget an aim is given up after so many evaluations for each player: it may be one
    # that cannot be reached, such as the order of players that are equal.
    _most_per_player: ClassVar[int] = 10_000

    def __post_init__(self) -> None:
        give_up = checks.flag("give_up", self.give_up)
        checks.settle(self, delta=check_delta(self.delta), give_up=give_up)

    @abstractmethod
    def judge(self, snapshot: Snapshot, level: float) -> Look:
        """Whether the aim is reached, with a level for this very look."""

    @property
    def certified_by(self) -> str:
        """The bound that is used."""
        return str(getattr(self, "bound", "normal"))

    def met(self, snapshot: Snapshot) -> str | None:
        """Look when it is time to; a sentence when the aim is reached, or given up."""
        found = None
        if self.looks_now(snapshot):
            found = self.judge(snapshot, snapshot.level_share * self.delta)
            if found.holds:
                return found.said
        # A run with a budget spends it, unless it was asked to give up.
        if snapshot.budget is not None and not self.give_up:
            return None
        if snapshot.evidence.obstacle:
            return f"the run can no longer be certified: {snapshot.evidence.obstacle}"
        if found is None:
            return None
        limit = evaluation_limit(snapshot.budget)
        if self.give_up and ENOUGH_TO_JUDGE * limit <= snapshot.evaluations:
            return self._out_of_reach(snapshot, found)
        if snapshot.budget is None and (
            snapshot.evaluations >= self._most_per_player * snapshot.n_players
        ):
            return (
                f"given up after {snapshot.evaluations:,} evaluations: {found.said}; it would take "
                f"{cost_text(found.needed, snapshot.coalitions)}. Values that are equal, or zero, "
                f"are told apart only up to ξ = {snapshot.xi:g}: give a larger ξ, or a budget to "
                "go on"
            )
        return None

    def _out_of_reach(self, snapshot: Snapshot, found: Look) -> str | None:
        """A sentence for a target that would take several times the budget."""
        limit = evaluation_limit(snapshot.budget)
        if not found.needed > OUT_OF_REACH * limit:
            return None
        return (
            f"the target is out of reach: to be {self.aim_at(snapshot)} would take "
            f"{cost_text(found.needed, snapshot.coalitions)}, the budget is {limit:,}"
        )

    @abstractmethod
    def aim_at(self, snapshot: Snapshot) -> str:
        """What is to be reached, as the end of "to be …"."""

    def conclude(self, snapshot: Snapshot) -> str:
        """The answer when the budget is spent: the last look, with all the level that is left."""
        if doubted := doubts(snapshot.evidence, self.certified_by):
            return f"not certified: {'; '.join(doubted)}"
        found = self.judge(snapshot, snapshot.unspent_share * self.delta)
        if found.holds:
            return f"{found.said} at the last look"
        beyond = self._out_of_reach(snapshot, found)
        cost = f"it would take {cost_text(found.needed, snapshot.coalitions)}"
        return f"{found.said}; {beyond or cost}"

    def looks_now(self, snapshot: Snapshot) -> bool:
        """Whether it is time to look, and there are enough contributions to look at."""
        return snapshot.level_share > 0 and not doubts(snapshot.evidence, self.certified_by)

    def predicted(self, snapshot: Snapshot) -> float:
        """The evaluations that the aim is predicted to take."""
        if doubts(snapshot.evidence, self.certified_by):
            return snapshot.coalitions
        return self.judge(snapshot, (snapshot.level_share or 1 / 10) * self.delta).needed

    def looks_freely(self, budget: Budget | None) -> bool:
        """At planned times only."""
        return False

    def waits(self, evaluations: int, last_look: int, n_players: int) -> bool:
        """From one planned look to the next."""
        return spent_share(evaluations, n_players) == spent_share(last_look, n_players)
