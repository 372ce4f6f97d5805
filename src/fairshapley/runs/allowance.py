"""The budget of a run, asked before each round."""

from __future__ import annotations

import math
import time

from fairshapley.draws import Draw
from fairshapley.errors import BudgetError, InputError
from fairshapley.estimators.exact import coalitions_needed
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.games import abilities
from fairshapley.runs.plan import Plan
from fairshapley.stopping import Budget, rungs

# Calls that are made again to see whether a utility is reproducible, and from how many calls on:
# of noise that changes every second answer, four miss one case in sixteen.
AUTOMATIC_REPEATS = 4
LEAST_COMPUTED = 20
# Seconds that buy a round number of evaluations end a run only where their speed was misjudged.
LATE = 1.5


class Allowance:
    """What a run may still spend.

    A round is asked for as if there were no budget, so that a run with more of it asks for the
    same. The last round may end within a draw: the budget is spent to the last unit that it pays.
    """

    def __init__(self, plan: Plan, evaluator: Evaluator, started: float) -> None:
        self.plan, self.evaluator, self.started = plan, evaluator, started
        self.budget = budget = plan.budget or Budget()
        self.climbs = budget.rungs and budget.seconds is not None
        """Whether seconds buy a round number of evaluations"""
        self.most = rungs(0)[0] if self.climbs else budget.evaluations
        """The evaluations allowed; while it climbs, so far"""
        seconds = math.inf if budget.seconds is None else budget.seconds
        self.deadline = started + (LATE if self.climbs else 1.0) * seconds
        unit = abilities.cost_unit(evaluator.game)
        self.money = f" {unit}" if unit else ""
        """The unit of prices, where the game names it"""
        self.repeats = 0 if budget.evaluations is None else self._repeats_of(budget.evaluations)
        """The calls that are kept free, to be made again at the end"""
        self.repeats_cost = 0.0
        """The cost of these calls"""
        if budget.cost is not None:
            evaluator.money = budget.cost
            each = evaluator.cost(evaluator.ends()) / len(evaluator.ends()) if plan.repeats else 0.0
            if budget.cost >= (LEAST_COMPUTED + plan.repeats) * each:
                self.repeats_cost = plan.repeats * each

    def _repeats_of(self, limit: int) -> int:
        """Return how many calls a budget of evaluations keeps free.

        Where the budget pays for all coalitions they are among those that it leaves over.
        """
        repeats = self.plan.repeats
        needed = coalitions_needed(self.plan.game.n_active, self.plan.semivalue)
        return repeats if LEAST_COMPUTED + repeats <= limit < needed else 0

    def repeats_left(self, least: int) -> int:
        """Return how many calls a run makes again at its end, if it has made `least` calls."""
        limit, spent = self.budget.evaluations, self.evaluator.tally
        if spent.computed < least:
            return 0
        left = math.inf if limit is None else max(0, limit - spent.evaluations)
        return int(min(self.plan.repeats, left))

    def require_ends(self) -> None:
        """Raise a BudgetError where v(∅) and v(N) alone are more than the budget."""
        budget, ends = self.budget, self.evaluator.ends()
        if budget.cost is not None and not self.plan.game.prices:
            raise InputError(
                "a budget of cost needs prices: give the game a method cost(coalitions), or a "
                "FunctionGame cost="
            )
        if budget.evaluations is not None and budget.evaluations < len(ends):
            raise BudgetError(
                f"v(∅) and v(N) alone take {len(ends)} evaluations: give a larger budget"
            )
        if budget.cost is not None and (cost := self.evaluator.cost(ends)) > budget.cost:
            raise BudgetError(
                f"v(∅) and v(N) alone cost {cost:,.6g}{self.money}, the budget is "
                f"{budget.cost:,.6g}: give a larger budget"
            )

    def _left(self, marginals: int) -> dict[str, float]:
        """Return what is left of each limit, without the calls that are kept free."""
        budget, spent, left = self.budget, self.evaluator.tally, dict[str, float]()
        if budget.marginals is not None:
            left["marginals"] = budget.marginals - marginals
        if budget.cost is not None:
            left["cost"] = budget.cost - spent.cost - self.repeats_cost
        if self.most is not None:
            left["evaluations"] = self.most - spent.evaluations - self.repeats
        return left

    def affordable(self, draw: Draw, marginals: int, *, first: bool) -> tuple[int, str]:
        """Return how many leading coalitions of a round the budget pays, and its tightest limit.

        Parameters
        ----------
        draw
            The round.
        marginals
            The marginals averaged so far.
        first
            Whether it is the first round. It may spend what is kept free, and must be paid by what
            it may cost, not by what it happens to hold: else the runs that are let through would
            be a biased selection.
        """
        left, most = self._left(marginals), dict[str, int]()
        if "marginals" in left:
            if draw.marginals is None:
                raise InputError(
                    f"{self.plan.estimator.name} does not average marginal contributions, so that "
                    "a budget of marginals has no meaning: give a budget of evaluations"
                )
            paid = min(int(left["marginals"]), draw.marginals)
            most["marginals"] = len(draw) * paid // max(draw.marginals, 1)
        if "cost" in left:
            money = left["cost"] + (self.repeats_cost if first else 0.0)
            most["cost"] = self.evaluator.affordable(draw, money, priced=True, whole=first)
        if "evaluations" in left:
            paid = int(left["evaluations"]) + (self.repeats if first else 0)
            most["evaluations"] = self.evaluator.affordable(draw, paid, whole=first)
            if most["evaluations"] < len(draw) and self._climb(first=first):
                return self.affordable(draw, marginals, first=first)
        unit = min(most, key=lambda unit: most[unit], default="")
        return most.get(unit, len(draw)), unit

    def _climb(self, *, first: bool) -> bool:
        """Allow the next round number of evaluations, if the seconds do at the speed so far."""
        if not self.climbs or self.most is None or self.budget.seconds is None:
            return False
        _, following = rungs(self.most)
        # So many coalitions take as long as one: the first rounds, which are small, seem slow.
        least = abilities.batch_size(self.evaluator.game)
        needed = (time.monotonic() - self.started) * (following + least)
        if not first and needed > self.budget.seconds * (self.evaluator.tally.evaluations + least):
            return False
        self.most = following
        return True

    def require_round(self, draw: Draw, unit: str) -> None:
        """Raise a BudgetError: not even the first round fits a limit."""
        takes = f"{len(draw)} evaluations beside v(∅) and v(N)"
        if unit == "marginals":
            takes = f"{draw.marginals} marginals"
        elif unit == "cost":
            takes = f"a cost of up to {self.evaluator.cost(draw):,.6g}"
        raise BudgetError(
            f"a budget of {self.plan.budget} is smaller than one round of "
            f"{self.plan.estimator.name} on {self.plan.game.n_players} players, which "
            f"takes {takes}: give a larger budget"
        )

    def used_up(self, unit: str, marginals: int) -> str:
        """Return the sentence for a run that a limit has ended, with what is left of it."""
        limit, left = self.budget.limits().get(unit), max(0.0, self._left(marginals)[unit])
        if limit is None and self.most is not None:
            whole = self.most + self._repeats_of(self.most + self.plan.repeats)
            return (
                f"{self.budget.seconds:g} seconds allowed {self.most:,} {unit}; a budget of "
                f"{whole} repeats the run bit for bit"
            )
        used, rest = f"{limit:,} {unit}", f"{left:,.0f} left, too few"
        if unit == "cost":
            used, rest = f"{limit:,.6g}{self.money}", f"{left:,.4g} left, too little"
        return f"budget of {used} used up{f' ({rest} for another round)' if left else ''}"

    def no_more_repeats(self) -> str:
        """Return the sentence for a run whose failed evaluations cannot be paid again."""
        return (
            f"budget of {self.budget.cost:,.6g}{self.money} used up: the rest does not pay "
            "for computing failed evaluations again"
        )
