"""What a run may still do: whether the budget allows a round, and whether rounds bring anything."""

from __future__ import annotations

import math

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
    """The budget of a run, asked before each round.

    A round is asked for as if there were no budget, so that a run with more of it asks for the
    same. The last round may end within a draw: the budget is spent to the last unit that it pays.
    """

    def __init__(self, plan: Plan, evaluator: Evaluator) -> None:
        self.plan, self.evaluator = plan, evaluator
        self.budget = plan.budget or Budget()
        if self.budget.cost is not None:
            evaluator.money = self.budget.cost

    def require_ends(self) -> None:
        """Raise a BudgetError where v(∅) and v(N) alone are more than the budget."""
        budget, ends = self.budget, self.evaluator.ends()
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
        return (
            f"budget of {self.budget.cost:,.6g}{self.money} used up: the rest does not pay "
            "for computing failed evaluations again"
        )

    def affordable(self, draw: Draw, marginals: int, *, first: bool) -> tuple[int, str]:
        """Return how many leading coalitions of a round the budget pays, and its tightest limit.

        Parameters
        ----------
        draw
            The round.
        marginals
            The marginals averaged so far.
        first
            Whether it is the first round, which is refused by what it may cost, not by what it
            happens to hold: else the runs that are let through would be a biased selection.
        """
        budget, spent, most = self.budget, self.evaluator.tally, {}
        if budget.marginals is not None:
            if draw.marginals is None:
                raise InputError(
                    f"{self.plan.estimator.name} does not average marginal contributions, so that "
                    "a budget of marginals has no meaning: give a budget of evaluations"
                )
            left = min(budget.marginals - marginals, draw.marginals)
            most["marginals"] = len(draw) * left // max(draw.marginals, 1)
        if budget.cost is not None:
            left_over = budget.cost - spent.cost
            most["cost"] = self.evaluator.affordable(draw, math.inf, left_over, whole=first)
        if budget.evaluations is not None:
            left = budget.evaluations - spent.evaluations
            most["evaluations"] = self.evaluator.affordable(draw, left, whole=first)
        unit = min(most, key=lambda unit: most[unit], default="")
        return most.get(unit, len(draw)), unit

    def require_round(self, draw: Draw, unit: str) -> None:
        """Raise a BudgetError: not even the first round fits a limit."""
        takes = f"{len(draw)} evaluations beside v(∅) and v(N)"
        if unit == "marginals":
            takes = f"{draw.marginals} marginals"
        elif unit == "cost":
            takes = f"a cost of up to {self.evaluator.cost(draw, whole=True):,.6g}"
        raise BudgetError(
            f"a budget of {self.plan.budget} is smaller than one round of "
            f"{self.plan.estimator.name} on {self.plan.game.n_players} players, which "
            f"takes {takes}: give a larger budget"
        )

    def used_up(self, unit: str, marginals: int) -> str:
        """Return the sentence for a run that a limit has ended, with what is left of it."""
        spent = self.evaluator.tally
        if unit == "cost":
            limit = self.budget.cost or 0.0
            said, left = f"{limit:,.6g}{self.money}", max(0.0, limit - spent.cost)
            rest = f" ({left:,.4g} left, too little for another round)"
        else:
            most, used = self.budget.evaluations or 0, spent.evaluations
            if unit == "marginals":
                most, used = self.budget.marginals or 0, marginals
            said, left = f"{most:,} {unit}", most - used
            rest = f" ({left:,} left, too few for another round)"
        return f"budget of {said} used up{rest if left else ''}"

    @property
    def money(self) -> str:
        """The unit of prices, where the game names it."""
        unit = abilities.cost_unit(self.evaluator.game)
        return f" {unit}" if unit else ""
