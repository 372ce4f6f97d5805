"""When to stop: a budget that is never exceeded, and rules that end a run early.

Rules are pure predicates over a snapshot of the run, combined with ``|`` (any) and ``&`` (all).
They are looked at after each round. A `Budget` is hard: a round that would exceed it is not begun.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairshapley.errors import BudgetError, InputError
from fairshapley.estimators.base import Estimate
from fairshapley.fairness.fidelity import fidelity


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a rule may look at."""

    evaluations: int
    marginals: int | None
    seconds: float
    estimate: Estimate
    xi: float

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score; NaN while a player's variance cannot be estimated."""
        return float(fidelity(self.estimate.values, self.estimate.variances, self.xi).min())


@dataclass(frozen=True)
class Budget:
    """The most that a run may spend; several limits hold at once.

    Parameters
    ----------
    evaluations
        Distinct utility evaluations, v(∅) and v(N) included.
    marginals
        Marginal contributions, the paper's unit; only for methods that average them.
    seconds
        Wall-clock time. Utilities in progress are finished first.

    Examples
    --------
    >>> Budget(evaluations=1000, seconds=60)
    Budget(evaluations=1000, marginals=None, seconds=60)
    """

    evaluations: int | None = None
    marginals: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for unit, limit in self.limits().items():
            whole = unit == "seconds" or isinstance(limit, int | np.integer)
            if isinstance(limit, bool) or not isinstance(limit, int | float | np.number):
                raise BudgetError(f"a budget of {unit} must be a number, not {limit!r}")
            if not whole or not 0 < limit < math.inf:
                raise BudgetError(
                    f"a budget of {unit} must be a positive "
                    f"{'number' if unit == 'seconds' else 'whole number'}, not {limit!r}"
                )

    def limits(self) -> dict[str, float]:
        """The limits that are set, by unit."""
        named = {
            "evaluations": self.evaluations,
            "marginals": self.marginals,
            "seconds": self.seconds,
        }
        return {unit: limit for unit, limit in named.items() if limit is not None}

    def __str__(self) -> str:
        return " and ".join(f"{limit:,} {unit}" for unit, limit in self.limits().items())


def parse_budget(budget: int | Budget | None) -> Budget | None:
    """A budget as given to `estimate`: an int counts utility evaluations.

    Examples
    --------
    >>> parse_budget(500)
    Budget(evaluations=500, marginals=None, seconds=None)
    """
    if budget is None or isinstance(budget, Budget):
        return budget
    return Budget(evaluations=budget)


@dataclass(frozen=True)
class Rule(ABC):
    """Says, after a round, whether the run may stop."""

    @abstractmethod
    def met(self, snapshot: Snapshot) -> str | None:
        """The sentence that goes into the result when the rule is met, else None."""

    @abstractmethod
    def configuration(self) -> dict[str, Any]:
        """The rule as plain data, for a journal."""

    def __or__(self, other: Rule) -> Rule:
        return AnyOf((self, other))

    def __and__(self, other: Rule) -> Rule:
        return AllOf((self, other))


@dataclass(frozen=True)
class _Threshold(Rule):
    """A rule on one number that grows."""

    at_least: float = field(kw_only=True)

    def __post_init__(self) -> None:
        number = isinstance(self.at_least, int | float | np.number)
        if not number or isinstance(self.at_least, bool) or not 0 < self.at_least < math.inf:
            raise InputError(
                f"{type(self).__name__}(at_least=…) must be a positive number, "
                f"not {self.at_least!r}"
            )

    def configuration(self) -> dict[str, Any]:
        return {"rule": type(self).__name__, "at_least": self.at_least}


@dataclass(frozen=True)
class Evaluations(_Threshold):
    """Stop once at least so many distinct utilities were evaluated.

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.Evaluations(at_least=1000) | fs.Seconds(at_least=60)
    AnyOf(rules=(Evaluations(at_least=1000), Seconds(at_least=60)))
    """

    def met(self, snapshot: Snapshot) -> str | None:
        """Compare the evaluations."""
        if snapshot.evaluations < self.at_least:
            return None
        return f"{snapshot.evaluations:,} evaluations were made, {self.at_least:,} asked for"


@dataclass(frozen=True)
class Marginals(_Threshold):
    """Stop once at least so many marginal contributions were averaged."""

    def met(self, snapshot: Snapshot) -> str | None:
        """Compare the marginal contributions."""
        if snapshot.marginals is None:
            raise InputError(
                "this method does not average marginal contributions: "
                "stop it with Evaluations(at_least=…) instead of Marginals"
            )
        if snapshot.marginals < self.at_least:
            return None
        return f"{snapshot.marginals:,} marginals were averaged, {self.at_least:,} asked for"


@dataclass(frozen=True)
class Seconds(_Threshold):
    """Stop after the round in which so many seconds have passed."""

    def met(self, snapshot: Snapshot) -> str | None:
        """Compare the time."""
        if snapshot.seconds < self.at_least:
            return None
        return f"{self.at_least:g} seconds have passed"


@dataclass(frozen=True)
class Fidelity(_Threshold):
    """Stop once the estimated minimum fidelity is high enough.

    The score is computed from the estimates themselves, and a rule that looks at it after every
    round stops a little early when luck is good.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(12, seed=1)
    >>> result = fs.estimate(game, "mc", until=fs.Fidelity(at_least=5), seed=0)
    >>> result.min_fidelity >= 5
    True
    """

    def met(self, snapshot: Snapshot) -> str | None:
        """Compare the minimum fidelity; NaN is not enough."""
        lowest = snapshot.min_fidelity
        if not lowest >= self.at_least:
            return None
        return f"the minimum fidelity is {lowest:.4g}, {self.at_least:g} asked for"


@dataclass(frozen=True)
class AnyOf(Rule):
    """Stop when any of the rules is met."""

    rules: tuple[Rule, ...]

    def met(self, snapshot: Snapshot) -> str | None:
        """The first sentence of a rule that is met."""
        return next((said for rule in self.rules if (said := rule.met(snapshot))), None)

    def configuration(self) -> dict[str, Any]:
        """The rules inside."""
        return {"rule": "AnyOf", "rules": [rule.configuration() for rule in self.rules]}


@dataclass(frozen=True)
class AllOf(Rule):
    """Stop when all of the rules are met."""

    rules: tuple[Rule, ...]

    def met(self, snapshot: Snapshot) -> str | None:
        """All sentences, when there is one of every rule."""
        sentences = [rule.met(snapshot) for rule in self.rules]
        if any(said is None for said in sentences):
            return None
        return ", and ".join(said for said in sentences if said)

    def configuration(self) -> dict[str, Any]:
        """The rules inside."""
        return {"rule": "AllOf", "rules": [rule.configuration() for rule in self.rules]}


RULES: dict[str, type[_Threshold]] = {
    rule.__name__: rule for rule in (Evaluations, Marginals, Seconds, Fidelity)
}
COMBINATIONS: dict[str, type[AnyOf] | type[AllOf]] = {"AnyOf": AnyOf, "AllOf": AllOf}


def rule_from_configuration(configuration: Mapping[str, Any]) -> Rule:
    """The rule that `Rule.configuration` described.

    Examples
    --------
    >>> rule_from_configuration({"rule": "Seconds", "at_least": 5})
    Seconds(at_least=5)
    """
    name = configuration.get("rule")
    if name in COMBINATIONS:
        parts = tuple(rule_from_configuration(part) for part in configuration["rules"])
        return COMBINATIONS[name](parts)
    if name in RULES:
        return RULES[name](at_least=configuration["at_least"])
    raise InputError(f"unknown stopping rule {name!r}: use {', '.join(RULES | COMBINATIONS)}")
