"""Rules that look at the estimates at planned times, and share δ among their looks."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from fairshapley._basics import checks
from fairshapley.fairness.certificate import BOUNDS, Certificate, cost_text, rounded_up
from fairshapley.fairness.decisions import Aim
from fairshapley.fairness.findings import Findings
from fairshapley.fairness.levels import (
    DELTA,
    EPSILON1,
    check_delta,
    check_epsilon1,
    check_xi,
    spent_share,
)
from fairshapley.fairness.tails import doubts, evaluations_for
from fairshapley.stopping.rules import Rule, Snapshot

# A target that would take this many times the budget is out of reach; a rule that may give up does
# so from a quarter of the budget on.
OUT_OF_REACH = 4.0
ENOUGH_TO_JUDGE = 0.25


@dataclass(frozen=True)
class Look:
    """What a look has shown."""

    holds: bool
    say: Callable[[], str]
    """Words what is reached, or why it is not: that takes longer than the look, and most looks do
    not ask"""
    needed: Callable[[], float]
    """Computes the evaluations that it is predicted to take, which takes longer too"""


@dataclass(frozen=True)
class PlannedLooks(Rule):
    """A rule that tests its aim at planned numbers of evaluations, each time with a part of δ."""

    looks_freely = False

    delta: float = field(kw_only=True)
    give_up: bool = field(default=False, kw_only=True)

    # Without a budget an aim is given up after so many evaluations for each player: it may be one
    # that cannot be reached, such as the order of players that are equal.
    _most_per_player: ClassVar[int] = 10_000

    def __post_init__(self) -> None:
        give_up = checks.flag("give_up", self.give_up)
        checks.set_fields(self, delta=check_delta(self.delta), give_up=give_up)

    @abstractmethod
    def judge(self, snapshot: Snapshot, level: float) -> Look:
        """Return whether the aim is reached, with a level for this very look."""

    @abstractmethod
    def aim_at(self, snapshot: Snapshot) -> str:
        """Return what is to be reached, as the end of "to be …"."""

    @property
    def certified_by(self) -> str:
        """The bound that is used."""
        return "normal"

    def met(self, snapshot: Snapshot) -> str | None:
        """Look when it is time to; return a sentence when the aim is reached, or given up."""
        found = None
        if self.looks_now(snapshot):
            found = self.judge(snapshot, snapshot.level_share * self.delta)
            if found.holds:
                return found.say()
        # A run with a budget spends it, unless it was asked to give up.
        if snapshot.budget is not None and not self.give_up:
            return None
        if snapshot.evidence.obstacle:
            return f"the run can no longer be certified: {snapshot.evidence.obstacle}"
        if found is None:
            return None
        if snapshot.budget is not None:
            limit = snapshot.budget.evaluations or math.inf
            early = ENOUGH_TO_JUDGE * limit > snapshot.evaluations
            return None if early else self._out_of_reach(snapshot, found.needed())
        if snapshot.evaluations < self._most_per_player * snapshot.n_players:
            return None
        return (
            f"given up after {snapshot.evaluations:,} evaluations: {found.say()}; it would take "
            f"{cost_text(found.needed(), snapshot.coalitions)}. Values that are equal, or zero, "
            f"are told apart only up to ξ = {snapshot.xi:g}: give a larger ξ, or a budget to go on"
        )

    def _out_of_reach(self, snapshot: Snapshot, needed: float) -> str | None:
        """Return a sentence for a target that would take several times the budget."""
        limit = (snapshot.budget and snapshot.budget.evaluations) or math.inf
        if not needed > OUT_OF_REACH * limit:
            return None
        return (
            f"the target is out of reach: to be {self.aim_at(snapshot)} would take "
            f"{cost_text(needed, snapshot.coalitions)}, the budget is {limit:,}"
        )

    def conclude(self, snapshot: Snapshot) -> str:
        """Return the answer of the last look, with all the level that is left."""
        if doubted := doubts(snapshot.evidence, self.certified_by):
            return f"not certified: {'; '.join(doubted)}"
        found = self.judge(snapshot, snapshot.unspent_share * self.delta)
        if found.holds:
            return f"{found.say()} at the last look"
        needed = found.needed()
        cost = f"it would take {cost_text(needed, snapshot.coalitions)}"
        return f"{found.say()}; {self._out_of_reach(snapshot, needed) or cost}"

    def looks_now(self, snapshot: Snapshot) -> bool:
        """Return whether a look is due, and there are enough contributions to look at."""
        return snapshot.level_share > 0 and not doubts(snapshot.evidence, self.certified_by)

    def predicted(self, snapshot: Snapshot) -> float:
        """Return the evaluations that the aim is predicted to take."""
        if doubts(snapshot.evidence, self.certified_by):
            return snapshot.coalitions
        return self.judge(snapshot, (snapshot.level_share or 1 / 10) * self.delta).needed()

    def waits(self, evaluations: int, last_look: int, n_players: int) -> bool:
        """Return whether no look was planned since the last one."""
        return spent_share(evaluations, n_players) == spent_share(last_look, n_players)


@dataclass(frozen=True)
class Fair(PlannedLooks):
    """Stop once the values are certified as (ε1, ξ·ε1, δ)-Shapley fair.

    The run is looked at when it has 2 evaluations for each player, and then whenever they have
    grown by 30 %; each look spends its part of δ, so that the certificate holds although it was
    looked at before. The end of the budget is a last look, which spends what is left.

    Where the target is out of reach the run spends its budget, and says what it would take.

    Parameters
    ----------
    epsilon1, delta
        The tolerated share of a value, and the tolerated probability of failure.
    xi
        The tolerance near zero; by default the run's own.
    bound
        "normal", "chebyshev" or "bernstein".
    give_up
        Whether the run stops from a quarter of its budget on when the target would take four times
        the budget.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(20, seed=1)
    >>> fair = fs.Fair(epsilon1=0.9, delta=0.1, xi=0.1)
    >>> result = fs.estimate(game, "mc", until=fair, budget=100_000, seed=0)
    >>> result.certificate(0.9, 0.1, xi=0.1).holds
    True
    """

    epsilon1: float = field(kw_only=True)
    xi: float | None = field(default=None, kw_only=True)
    bound: str = field(default="normal", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.choice("bound", self.bound, BOUNDS)
        xi = None if self.xi is None else check_xi(self.xi)
        checks.set_fields(self, epsilon1=check_epsilon1(self.epsilon1), xi=xi)

    @property
    def certified_by(self) -> str:
        """The bound, as given."""
        return self.bound

    def aim_at(self, snapshot: Snapshot) -> str:
        """Return the tolerances, with ε2."""
        epsilon2 = self.epsilon1 * (snapshot.xi if self.xi is None else self.xi)
        return f"({self.epsilon1:g}, {epsilon2:g}, {self.delta:g})-Shapley fair"

    def judge(self, snapshot: Snapshot, level: float) -> Look:
        """Return whether the values are certified."""
        xi = snapshot.xi if self.xi is None else self.xi
        limits = self.bound, level, snapshot.sequential
        found = Certificate(snapshot.evidence, self.epsilon1, self.delta, xi, *limits)

        def say() -> str:
            if found.holds:
                return f"certified as {self.aim_at(snapshot)}"
            known = found.tightest < math.inf
            held = f"; what holds is ε1 = {rounded_up(found.tightest):g}" if known else ""
            return f"not certified: {found.reason}{held}"

        return Look(found.holds, say, lambda: found.needed)


@dataclass(frozen=True)
class Decided(Aim, PlannedLooks):
    """Stop once a decision is settled with a probability of at least 1 − δ.

    Looks are planned as for `Fair`, and share δ. Differences up to the run's ξ are ties: they may
    be decided either way, so that equal players do not keep a run from ending.

    Parameters
    ----------
    signs
        Decide whether each value is above or below zero.
    top, bottom
        Decide who the k most, or the k least, valuable players are.
    order
        Decide the order of all players.
    delta
        The tolerated probability that the decision is wrong, for all players together.
    give_up
        Whether the run stops from a quarter of its budget on when the decision would take four
        times the budget.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Airport([1.0, 2.0, 4.0, 8.0, *range(10, 20)])
    >>> rule = fs.Decided(top=1, delta=0.1)
    >>> fs.estimate(game, "mc", until=rule, budget=20_000, seed=0).stopped
    'decided at δ = 0.1: the highest player: player 13'
    """

    delta: float = field(default=DELTA, kw_only=True)

    def __post_init__(self) -> None:
        PlannedLooks.__post_init__(self)
        Aim.__post_init__(self)

    def aim_at(self, snapshot: Snapshot) -> str:
        """Return what is to be decided, and the level."""
        return f"sure of {self} at δ = {self.delta:g}"

    def judge(self, snapshot: Snapshot, level: float) -> Look:
        """Return whether the decision is settled."""
        evidence, xi, delta = snapshot.evidence, snapshot.xi, self.delta
        if snapshot.sequential:
            # Another rule may stop the run at any time: then only a confidence sequence holds.
            stated = Certificate(evidence, EPSILON1, delta, xi, sequential=True)
            settled = self.settled_by(Findings(stated).decisions)
        else:
            settled = self.failure(evidence, xi, delta) <= level

        def say() -> str:
            if not settled:
                return f"{self} not settled at δ = {delta:g}"
            said = f"decided at δ = {delta:g}: {self.answer(evidence)}"
            if not snapshot.sequential and self.failure(evidence, 0.0, delta) > level:
                said += f"; what differs by no more than ξ = {xi:g} may go either way"
            return said

        def predict() -> float:
            if settled:
                return evidence.evaluations
            return evaluations_for(evidence, lambda then: self.failure(then, xi, delta) <= level)

        return Look(settled, say, predict)
