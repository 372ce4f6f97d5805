"""Stopping when the values are certified as fair."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairshapley.fairness.certificate import (
    BOUNDS,
    FEW_CONTRIBUTIONS,
    Certificate,
    certify,
    cost_text,
    needed_evaluations,
    rounded_up,
)
from fairshapley.fairness.levels import check_bound, check_delta, check_epsilon1
from fairshapley.fairness.looks import LOOK_SHARE, spent_share
from fairshapley.fairness.scores import check_xi
from fairshapley.stopping.rules import Budget, Rule, Snapshot, evaluation_limit

# A target that would take this many times the budget is given up, from a quarter of it on.
OUT_OF_REACH = 4.0
ENOUGH_TO_JUDGE = 0.25


@dataclass(frozen=True)
class Fair(Rule):
    """Stop once the values are certified as (ε1, ξ·ε1, δ)-Shapley fair.

    With a budget of evaluations the run is looked at a few times, at fixed shares of the budget;
    each look spends its part of δ, so that the certificate holds although it was looked at before.
    Continuing such a run with a larger budget is a new test, planned anew. Without such a budget
    the intervals are those of a confidence sequence, wider but valid however often one looks.

    When the target turns out to be far out of reach of the budget the run stops and says what it
    would take.

    Parameters
    ----------
    epsilon1, delta
        The tolerated share of a value, and the tolerated probability of failure.
    xi
        The tolerance near zero; by default the run's own.
    bound
        "normal", "chebyshev" or "bernstein".

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
    delta: float = field(kw_only=True)
    xi: float | None = field(default=None, kw_only=True)
    bound: str = field(default="normal", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon1", check_epsilon1(self.epsilon1))
        object.__setattr__(self, "delta", check_delta(self.delta))
        check_bound(self.bound, BOUNDS)
        if self.xi is not None:
            object.__setattr__(self, "xi", check_xi(self.xi))

    @property
    def certified_by(self) -> str:
        """The bound."""
        return self.bound

    def met(self, snapshot: Snapshot) -> str | None:
        """Look when it is time to; a sentence when the run is fair, or never will be."""
        if snapshot.evidence.obstacle:
            return f"the run can no longer be certified: {snapshot.evidence.obstacle}"
        if not self.looks_now(snapshot):
            return None
        certificate = self.certificate(snapshot, snapshot.level_share)
        target = f"({self.epsilon1:g}, {certificate.epsilon2:g}, {self.delta:g})-Shapley fair"
        if certificate.holds:
            return f"certified as {target}"
        needed, limit = self.predicted(snapshot), evaluation_limit(snapshot.budget)
        judged = ENOUGH_TO_JUDGE * limit <= snapshot.evaluations
        if not (judged and needed > OUT_OF_REACH * limit):
            return None
        return (
            f"the target is out of reach: to be {target} would take {self._cost(snapshot)}, "
            f"the budget is {limit:,}"
        )

    def conclude(self, snapshot: Snapshot) -> str:
        """The answer when the budget is spent: the last look, with all the level that is left."""
        if snapshot.evidence.obstacle:
            return f"not certified: {snapshot.evidence.obstacle}"
        if np.isnan(snapshot.evidence.standard_errors).any():
            return "not certified: the variance of some players is not known yet"
        certificate = self.certificate(snapshot, snapshot.unspent_share)
        if certificate.holds:
            return "certified at the last look"
        holds = ""
        if certificate.tightest < math.inf:
            holds = f"; what holds is ε1 = {rounded_up(certificate.tightest):g}"
        return f"not certified: {certificate.reason}; it would take {self._cost(snapshot)}{holds}"

    def looks_now(self, snapshot: Snapshot) -> bool:
        """Whether it is time to look, and there are enough contributions to look at."""
        if snapshot.level_share == 0 or np.isnan(snapshot.evidence.standard_errors).any():
            return False
        fewest = int(snapshot.evidence.counts.min())
        return fewest >= (FEW_CONTRIBUTIONS if self.bound == "normal" else 2)

    def certificate(self, snapshot: Snapshot, share: float) -> Certificate:
        """The certificate at this look, with a share of δ as its level."""
        return certify(
            snapshot.evidence,
            self.epsilon1,
            self.delta,
            xi=snapshot.xi if self.xi is None else self.xi,
            bound=self.bound,
            level=share * self.delta,
            sequential=snapshot.sequential,
        )

    def predicted(self, snapshot: Snapshot) -> float:
        """The evaluations that the target is predicted to take.

        No more than there are coalitions: then the values are exact.
        """
        if np.isnan(snapshot.evidence.standard_errors).any():
            return snapshot.coalitions
        final = 1.0 if snapshot.sequential else 1.0 - LOOK_SHARE
        certificate = self.certificate(snapshot, final)
        return needed_evaluations(certificate, snapshot.evidence)

    def _cost(self, snapshot: Snapshot) -> str:
        return cost_text(self.predicted(snapshot), snapshot.coalitions)

    def looks_freely(self, budget: Budget | None) -> bool:
        """At planned times only, where a budget of evaluations makes a plan possible."""
        return evaluation_limit(budget) == math.inf

    def waits(self, evaluations: int, last_look: int, budget: Budget | None) -> bool:
        """From one planned look to the next."""
        limit = evaluation_limit(budget)
        if limit == math.inf:
            return False
        return spent_share(evaluations, limit) == spent_share(last_look, limit)

    def configuration(self) -> dict[str, Any]:
        """The tolerances."""
        return {
            "rule": "Fair",
            "epsilon1": self.epsilon1,
            "delta": self.delta,
            "xi": self.xi,
            "bound": self.bound,
        }
