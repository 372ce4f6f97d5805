"""Stopping when a decision is settled."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairshapley.fairness.aims import Aim
from fairshapley.fairness.decisions import decide
from fairshapley.fairness.levels import DELTA
from fairshapley.fairness.tails import evaluations_for
from fairshapley.stopping.planned import Look, PlannedLooks
from fairshapley.stopping.rules import Snapshot


@dataclass(frozen=True)
class Decided(Aim, PlannedLooks):
    """Stop once a decision is settled with a probability of at least 1 − δ.

    Looks are planned as those of `Fair`, and share δ. Differences up to the run's ξ are ties: they
    may be decided either way, so that equal players do not keep a run from ending.

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
        """That it is settled."""
        return f"sure of {self} at δ = {self.delta:g}"

    def judge(self, snapshot: Snapshot, level: float) -> Look:
        """Whether the decision is settled."""
        evidence = snapshot.evidence
        if snapshot.sequential:
            # Another rule may stop the run at any time: then only a confidence sequence holds.
            intervals = decide(evidence, self.delta, level=self.delta, sequential=True)
            settled = self.settled_by(intervals)
        else:
            settled = self.failure(evidence, snapshot.xi, self.delta) <= level
        if settled:
            said = f"decided at δ = {self.delta:g}: {self.answer(evidence)}"
            if not snapshot.sequential and self.failure(evidence, 0.0, self.delta) > level:
                said += f"; what differs by no more than ξ = {snapshot.xi:g} may go either way"
            return Look(True, said, lambda: evidence.evaluations)

        def needed() -> float:
            return evaluations_for(
                evidence, level, lambda then: self.failure(then, snapshot.xi, self.delta)
            )

        return Look(False, f"{self} not settled at δ = {self.delta:g}", needed)
