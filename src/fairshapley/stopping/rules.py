"""Budgets, snapshots, and rules: their base, combinations, and thresholds of one number."""

from __future__ import annotations

import bisect
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from fairshapley._basics import checks
from fairshapley.errors import BudgetError
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.guarantees import fidelity
from fairshapley.fairness.levels import spent_share

# Times a power of ten: steps of 1.3 to 1.7.
RUNGS = (1, 1.5, 2, 3, 5, 7)


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
    cost
        What all evaluations may cost together, in the unit of the game's ``cost``: euros, tokens.
    rungs
        Whether the seconds buy a round number of evaluations, one of `RUNGS` times a power of ten:
        the run ends at the last one that time allows at the speed so far. A budget of that
        number repeats it.

    Examples
    --------
    >>> Budget(evaluations=1000, seconds=60)
    Budget(evaluations=1000, marginals=None, seconds=60.0, cost=None)
    """

    evaluations: int | None = None
    marginals: int | None = None
    seconds: float | None = None
    cost: float | None = None
    rungs: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for unit, limit in self.limits().items():
            name = f"a budget of {unit}"
            if unit in ("seconds", "cost"):
                plain: float = checks.real(name, limit, above=0, error=BudgetError)
            else:
                plain = checks.whole(name, limit, error=BudgetError)
            checks.set_fields(self, **{unit: plain})

    def limits(self) -> dict[str, float]:
        """Return the limits that are set, by unit."""
        set_ones = {unit: limit for unit, limit in vars(self).items() if limit is not None}
        return {unit: limit for unit, limit in set_ones.items() if unit != "rungs"}

    def __str__(self) -> str:
        return " and ".join(f"{limit:,} {unit}" for unit, limit in self.limits().items())


def rungs(evaluations: float) -> tuple[int, int]:
    """Return the last round number up to this number, at least 10, and the next one.

    Examples
    --------
    >>> rungs(1000), rungs(16_384)
    ((1000, 1500), (15000, 20000))
    """
    power = 10 ** max(1, math.floor(math.log10(max(evaluations, 1))))
    steps = [int(step * power) for step in (*RUNGS, 10)]
    place = max(1, bisect.bisect_right(steps, evaluations))
    return steps[place - 1], steps[place]


def parse_budget(budget: int | Budget | None) -> Budget | None:
    """Return a budget as given to `estimate`: an int counts utility evaluations.

    Examples
    --------
    >>> parse_budget(500)
    Budget(evaluations=500, marginals=None, seconds=None, cost=None)
    """
    if budget is None or isinstance(budget, Budget):
        return budget
    return Budget(evaluations=budget)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a rule may look at."""

    evaluations: int
    marginals: int | None
    seconds: float
    evidence: Evidence
    xi: float
    budget: Budget | None = None
    last_look: int = 0
    """Evaluations at the last planned look of a rule of fairness"""
    sequential: bool = False
    """Whether the run may stop at any round because of what it has estimated"""
    workers: int = 0
    """How many workers compute; 0 when it is the process of the run"""
    cost: float = 0.0
    """What the evaluations have cost, where the game says so"""

    @property
    def n_players(self) -> int:
        """The number of players."""
        return self.evidence.n_players

    @property
    def coalitions(self) -> float:
        """How many there are; once all are evaluated the values are exact."""
        return self.evidence.coalitions

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score; NaN while a player's variance cannot be estimated."""
        return float(fidelity(self.evidence.values, self.evidence.variances, self.xi).min())

    @property
    def level_share(self) -> float:
        """The share of δ that a look now may spend; 0 when none is planned since the last one."""
        if self.sequential:
            return 1.0
        return spent_share(self.evaluations, self.n_players) - self._spent

    @property
    def unspent_share(self) -> float:
        """The share of δ that is left when the run has stopped without a look."""
        return 1.0 if self.sequential else 1.0 - self._spent

    @property
    def _spent(self) -> float:
        return spent_share(self.last_look, self.n_players)


@dataclass(frozen=True)
class Rule(ABC):
    """Says, after a round, whether the run may stop."""

    looks_freely: ClassVar[bool] = True
    """Whether the rule may stop a run at any round because of what was estimated: then only a
    confidence sequence holds. False for a rule that looks at the estimates never, or only at
    planned times"""

    @abstractmethod
    def met(self, snapshot: Snapshot) -> str | None:
        """Return the sentence that goes into the result when the rule is met, else None."""

    def configuration(self) -> dict[str, Any]:
        """Return the rule as plain data, for a journal: its name, and its fields by theirs."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"rule": type(self).__name__, **own}

    def parts(self) -> tuple[Rule, ...]:
        """Return the rules that this one is made of."""
        return (self,)

    @property
    def certified_by(self) -> str | None:
        """The bound of the certificate that the rule asks for; None when it asks for none."""
        return None

    def waits(self, evaluations: int, last_look: int, n_players: int) -> bool:
        """Return whether the rule has no look planned now, so that it needs no estimate."""
        return False

    def check_players(self, n_players: int) -> None:
        """Raise InputError when the rule makes no sense for `n_players` players."""
        return

    def looks_now(self, snapshot: Snapshot) -> bool:
        """Return whether the rule takes a planned look at this round, which spends its level."""
        return False

    def predicted(self, snapshot: Snapshot) -> float | None:
        """Return the evaluations that a certificate will take; None when none is asked for."""
        return None

    def conclude(self, snapshot: Snapshot) -> str | None:
        """Return what there is to say when the budget is spent and the rule was not met."""
        return None

    def __or__(self, other: Rule) -> Rule:
        return AnyOf((self, other)) if isinstance(other, Rule) else NotImplemented

    def __and__(self, other: Rule) -> Rule:
        return AllOf((self, other)) if isinstance(other, Rule) else NotImplemented


@dataclass(frozen=True)
class _Combination(Rule):
    """Several rules together."""

    rules: tuple[Rule, ...]

    def parts(self) -> tuple[Rule, ...]:
        """Return the rules inside."""
        return tuple(part for rule in self.rules for part in rule.parts())

    def configuration(self) -> dict[str, Any]:
        """Return the rules inside as plain data."""
        rules = [rule.configuration() for rule in self.rules]
        return {"rule": type(self).__name__, "rules": rules}


@dataclass(frozen=True)
class AnyOf(_Combination):
    """Stop when any of the rules is met."""

    def met(self, snapshot: Snapshot) -> str | None:
        """Return the first sentence of a rule that is met."""
        return next((said for rule in self.rules if (said := rule.met(snapshot))), None)


@dataclass(frozen=True)
class AllOf(_Combination):
    """Stop when all of the rules are met."""

    def met(self, snapshot: Snapshot) -> str | None:
        """Return all sentences, when there is one of every rule."""
        sentences = [rule.met(snapshot) for rule in self.rules]
        if any(said is None for said in sentences):
            return None
        return ", and ".join(said for said in sentences if said)


@dataclass(frozen=True)
class Fidelity(Rule):
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

    at_least: float = field(kw_only=True)

    def __post_init__(self) -> None:
        number = checks.real("Fidelity(at_least=…)", self.at_least, above=0)
        checks.set_fields(self, at_least=number)

    def met(self, snapshot: Snapshot) -> str | None:
        """Compare the minimum fidelity; NaN is not enough."""
        lowest = snapshot.min_fidelity
        if not lowest >= self.at_least:
            return None
        return f"the minimum fidelity is {lowest:.4g}, {self.at_least:g} asked for"
