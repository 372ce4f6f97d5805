"""Rules on one number that grows: evaluations, marginals, seconds, the minimum fidelity."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics import checks
from fairshapley.errors import InputError
from fairshapley.stopping.rules import Budget, Rule, Snapshot


@dataclass(frozen=True)
class _Threshold(Rule):
    """A rule on one number that grows."""

    at_least: float = field(kw_only=True)

    def __post_init__(self) -> None:
        number = checks.real(f"{type(self).__name__}(at_least=…)", self.at_least, above=0)
        whole = isinstance(self.at_least, int | np.integer)
        checks.settle(self, at_least=int(self.at_least) if whole else number)

    def looks_freely(self, budget: Budget | None) -> bool:
        """Only at what was spent."""
        return False


@dataclass(frozen=True)
class Evaluations(_Threshold):
    """Stop once at least this many distinct utilities have been evaluated.

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
    """Stop once at least this many marginal contributions have been averaged."""

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
    """Stop after the round in which this many seconds have passed."""

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

    def looks_freely(self, budget: Budget | None) -> bool:
        """At the estimates, after every round."""
        return True

    def met(self, snapshot: Snapshot) -> str | None:
        """Compare the minimum fidelity; NaN is not enough."""
        lowest = snapshot.min_fidelity
        if not lowest >= self.at_least:
            return None
        return f"the minimum fidelity is {lowest:.4g}, {self.at_least:g} asked for"
