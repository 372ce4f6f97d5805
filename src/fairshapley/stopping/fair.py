"""Stopping when the values are certified as fair."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

from fairshapley._basics import checks
from fairshapley.fairness.certificate import BOUNDS, certify, needed_evaluations, rounded_up
from fairshapley.fairness.levels import check_bound, check_epsilon1, check_xi
from fairshapley.stopping.planned import Look, PlannedLooks
from fairshapley.stopping.rules import Snapshot


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
        check_bound(self.bound, BOUNDS)
        xi = None if self.xi is None else check_xi(self.xi)
        checks.settle(self, epsilon1=check_epsilon1(self.epsilon1), xi=xi)

    def aim_at(self, snapshot: Snapshot) -> str:
        """The tolerances, with ε2."""
        epsilon2 = self.epsilon1 * (snapshot.xi if self.xi is None else self.xi)
        return f"({self.epsilon1:g}, {epsilon2:g}, {self.delta:g})-Shapley fair"

    def judge(self, snapshot: Snapshot, level: float) -> Look:
        """Whether the values are certified."""
        found = certify(
            snapshot.evidence,
            self.epsilon1,
            self.delta,
            xi=snapshot.xi if self.xi is None else self.xi,
            bound=self.bound,
            level=level,
            sequential=snapshot.sequential,
        )
        if found.holds:
            return Look(True, f"certified as {self.aim_at(snapshot)}", lambda: found.evaluations)
        holds = ""
        if found.tightest < math.inf:
            holds = f"; what holds is ε1 = {rounded_up(found.tightest):g}"
        predict = partial(needed_evaluations, found, snapshot.evidence)
        return Look(False, f"not certified: {found.reason}{holds}", predict)
