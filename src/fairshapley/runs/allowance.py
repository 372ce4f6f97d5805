"""What a run may still do: whether the budget allows a round, and whether rounds bring anything."""

from __future__ import annotations

from collections.abc import Iterator

from fairshapley.draws import Draw
from fairshapley.errors import BudgetError, InputError
from fairshapley.evaluation.evaluator import Evaluator, Tally
from fairshapley.games import abilities
from fairshapley.runs.plan import Plan
from fairshapley.stopping import Budget

# On a small game a method asks more and more often for coalitions that are known already. It has
# stalled when this many requests in a row, plus 20 for each coalition that is known, brought
# nothing. (Not for each that there is: walks that are all cut off soon never meet most of them.)
STALL_REQUESTS = 10_000
STALL_REQUESTS_PER_COALITION = 20


class Stall:
    """Notices that rounds bring no new coalitions any more, so that no budget is ever spent."""

    def __init__(self) -> None:
        self._evaluations = self._requests = 0

    def noticed(self, tally: Tally) -> str | None:
        """The reason to stop, after a round that brought the tally to this."""
        if tally.evaluations > self._evaluations:
            self._evaluations, self._requests = tally.evaluations, tally.requests
        idle = tally.requests - self._requests
        if idle < STALL_REQUESTS + STALL_REQUESTS_PER_COALITION * tally.evaluations:
            return None
        return f"the last {idle:,} requests brought no coalition that was not known"


class Allowance:
    """The budget of a run, asked before each round."""

    def __init__(self, plan: Plan, evaluator: Evaluator) -> None:
        self.plan, self.evaluator = plan, evaluator
        if plan.budget is not None and plan.budget.cost is not None:
            evaluator.money = plan.budget.cost

    def require_ends(self) -> None:
        """Raise a BudgetError where v(∅) and v(N) alone are more than the budget."""
        budget, ends = self.plan.budget or Budget(), self.evaluator.ends()
        if budget.evaluations is not None and budget.evaluations < len(ends):
            raise BudgetError(
                f"v(∅) and v(N) alone take {len(ends)} evaluations: give a larger budget"
            )
        if budget.cost is not None and (cost := self.evaluator.cost(ends)) > budget.cost:
            raise BudgetError(
                f"v(∅) and v(N) alone cost {cost:,.6g}{self.money}, the budget is "
                f"{budget.cost:,.6g}: give a larger budget"
            )

    @property
    def no_more_repeats(self) -> str:
        """Why a run ends whose failed evaluations cannot be paid again."""
        budget = self.plan.budget or Budget()
        return (
            f"the budget of {budget.cost:,.6g}{self.money} is spent: what is left does not pay "
            "for computing failed evaluations again"
        )

    def blocked(self, draw: Draw, rounds: int, marginals: int) -> str | None:
        """Why the budget does not allow a round after so many rounds and marginals, or None."""
        for takes, said in self._exceeded(draw, marginals, first=rounds == 0):
            if rounds == 0:
                raise BudgetError(
                    f"a budget of {self.plan.budget} is smaller than one round of "
                    f"{self.plan.estimator.name} on {self.plan.game.n_players} players, which "
                    f"takes {takes}: give a larger budget"
                )
            return said
        return None

    def _exceeded(self, draw: Draw, marginals: int, *, first: bool) -> Iterator[tuple[str, str]]:
        """The limits that a round would exceed: what it takes, and a sentence."""
        budget, spent = self.plan.budget or Budget(), self.evaluator.tally
        if budget.marginals is not None:
            if draw.marginals is None:
                raise InputError(
                    f"{self.plan.estimator.name} does not average marginal contributions, so that "
                    "a budget of marginals has no meaning: give a budget of evaluations"
                )
            if marginals + draw.marginals > budget.marginals:
                said = f"the budget of {budget.marginals:,} marginals is spent"
                yield f"{draw.marginals} marginals", said
        if budget.cost is not None:
            afford = budget.cost - spent.cost
            cost = self.evaluator.cost(draw, whole=first)
            if cost > afford:
                yield (
                    f"a cost of up to {cost:,.6g}",
                    f"the budget of {budget.cost:,.6g}{self.money} is spent: the next round "
                    f"costs more than the {max(afford, 0.0):,.4g} left",
                )
        if budget.evaluations is not None:
            left = budget.evaluations - spent.evaluations
            price = self.evaluator.price(draw, left)
            # The first round is refused by what it may cost, not by what it happens to hold: else
            # the runs that are let through would be a biased selection.
            if price > left or (first and price > 0 and len(draw) > left):
                yield (
                    f"{len(draw)} evaluations beside v(∅) and v(N)",
                    f"the budget of {budget.evaluations:,} evaluations is spent: the next round "
                    f"asks for more than the {left} left",
                )

    @property
    def money(self) -> str:
        """The unit of prices, where the game names it."""
        unit = abilities.cost_unit(self.evaluator.game)
        return f" {unit}" if unit else ""
