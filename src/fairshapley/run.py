"""The one loop: ask, evaluate, tell, until the budget, a rule or certainty says stop."""

from __future__ import annotations

import functools
import itertools
import math
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import numpy as np

from fairshapley.draws import Draw
from fairshapley.errors import BudgetError, FairShapleyError, InputError, JournalError
from fairshapley.estimators import Estimate, Estimator, Problem, from_configuration
from fairshapley.estimators.exact import exact_values
from fairshapley.evaluation.evaluator import (
    Evaluator,
    ExhaustedError,
    JournalSlot,
    OutOfTimeError,
)
from fairshapley.evaluation.journal import Journal, RunRecord, RunStatus
from fairshapley.progress import ProgressOption, ProgressReporter
from fairshapley.randomness import root_seed, round_generator, side_generator
from fairshapley.result import Result
from fairshapley.semivalues import Semivalue, parse_semivalue
from fairshapley.stopping import Budget, Rule, Snapshot, rule_from_configuration

# A method on a small game asks ever more often for coalitions that are known already. When so many
# requests in a row (20 for each coalition there is, and some) brought nothing new, it has stalled.
STALL_REQUESTS = 10_000
STALL_REQUESTS_PER_COALITION = 20
STALL_PLAYERS = 18
"""Above this many players the requests stay those of 2**18 coalitions: about ten seconds"""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is to do; with the seed and the game it determines the result."""

    n_players: int
    estimator: Estimator[Any]
    semivalue: Semivalue
    xi: float
    budget: Budget | None
    until: Rule | None

    def configuration(self) -> dict[str, Any]:
        """What the estimate depends on, as plain data."""
        return {
            "method": self.estimator.configuration(),
            "semivalue": self.semivalue.name,
            "xi": self.xi,
        }

    def limits(self) -> dict[str, Any]:
        """How far the run goes, as plain data."""
        return {
            "budget": asdict(self.budget) if self.budget is not None else None,
            "until": self.until.configuration() if self.until is not None else None,
        }

    @classmethod
    def from_record(cls, record: RunRecord, budget: Budget | None, until: Rule | None) -> Plan:
        """The plan of a journalled run, with other limits where given."""
        if budget is None and until is None:
            if (stored := record.limits.get("budget")) is not None:
                budget = Budget(**stored)
            if (rule := record.limits.get("until")) is not None:
                until = rule_from_configuration(rule)
        return cls(
            n_players=record.n_players,
            estimator=from_configuration(record.configuration["method"]),
            semivalue=parse_semivalue(record.configuration["semivalue"]),
            xi=record.configuration["xi"],
            budget=budget,
            until=until,
        )


@dataclass(frozen=True, eq=False)
class RunLog:
    """The run's row in the journal; without a journal it only carries the seed."""

    journal: Journal | None
    row: int
    seed: int

    @classmethod
    def begin(cls, slot: JournalSlot | None, plan: Plan, seed: int | None) -> RunLog:
        """Take up the row of the same run, or start one."""
        if slot is None:
            return cls(None, 0, root_seed(seed))
        journal = slot.journal
        chosen = None if seed is None else root_seed(seed)
        known = journal.find_run(slot.game, plan.configuration(), chosen)
        if known is not None:
            return cls(journal, known.id, known.seed)
        chosen = root_seed(seed)
        row = journal.start_run(slot.game, plan.configuration(), plan.limits(), chosen, versions())
        return cls(journal, row, chosen)

    def update(self, status: RunStatus, plan: Plan, result: Result | None) -> None:
        """Write how the run stands."""
        if self.journal is not None:
            self.journal.update_run(
                self.row,
                status=status,
                limits=plan.limits(),
                evaluations=0 if result is None else result.evaluations,
                result=None if result is None else result.to_dict(),
            )


class Stall:
    """Notices that rounds bring no new coalitions any more, so that no budget is ever spent."""

    def __init__(self, n_players: int) -> None:
        coalitions = 1 << min(n_players, STALL_PLAYERS)
        self._patience = STALL_REQUESTS + STALL_REQUESTS_PER_COALITION * coalitions
        self._requests = 0
        self._evaluations = 0

    def look(self, evaluations: int, requests: int) -> str | None:
        """The reason to stop, after a round of so many requests."""
        self._requests = self._requests + requests if evaluations == self._evaluations else 0
        self._evaluations = evaluations
        if self._requests < self._patience:
            return None
        return f"the last {self._requests:,} requests brought no coalition that was not known"


class Run:
    """One run: the state of the estimator, the evaluator and the clock."""

    def __init__(
        self,
        plan: Plan,
        seed: int,
        evaluator: Evaluator,
        started: float,
        identity: str | None,
        names: tuple[str, ...] | None,
        notes: tuple[str, ...],
    ) -> None:
        self.plan = plan
        self.seed = seed
        self.evaluator = evaluator
        self.started = started
        self.identity = identity
        self.names = names
        self.notes = notes
        self.state: Any = None
        self.marginals: int | None = None
        self.proven: Estimate | None = None
        self.stall = Stall(plan.n_players)

    def execute(self, log: RunLog, progress: ProgressOption, verify: int) -> Result:
        """Run to the end, and journal how it ended."""
        log.update("running", self.plan, None)
        try:
            self.evaluator.verify(verify, side_generator(self.seed, "verify"))
            stopped = self._loop(progress)
            self._require_contributions()
        except KeyboardInterrupt:
            stopped = f"interrupted after {self.evaluator.tally.evaluations:,} evaluations"
            return self._end(log, "interrupted", stopped)
        except ExhaustedError:
            stopped = (
                f"the journal holds no further utilities: {self.evaluator.tally.evaluations:,} "
                "evaluations were replayed; give the game to continue"
            )
            return self._end(log, "interrupted", stopped)
        except FairShapleyError as error:
            error.partial = self.result(f"failed: {error}", complete=False)
            if not isinstance(error, JournalError):
                log.update("failed", self.plan, error.partial)
            raise
        return self._end(log, "finished", stopped)

    def _end(self, log: RunLog, status: RunStatus, stopped: str) -> Result:
        result = self.result(stopped, complete=status == "finished")
        log.update(status, self.plan, result)
        return result

    def _loop(self, progress: ProgressOption) -> str:
        """Rounds until something says stop; the sentence that says why."""
        plan, evaluator = self.plan, self.evaluator
        if plan.budget is not None and (plan.budget.evaluations or 2) < 2:
            raise BudgetError("v(∅) and v(N) alone take 2 evaluations: give a larger budget")
        empty, full = evaluator.endpoints()
        problem = Problem(plan.n_players, plan.semivalue, empty, full, plan.xi)
        self.state = plan.estimator.start(problem)
        with ProgressReporter(progress, plan.estimator.name, plan.budget) as reporter:
            for index in itertools.count():
                if (said := self._round(index)) is not None:
                    return said
                if reporter.due:
                    reporter.show(self.snapshot())
                if plan.until is not None and (said := plan.until.met(self.snapshot())):
                    return said
        raise AssertionError("unreachable: the loop ends by a return")

    def _round(self, index: int) -> str | None:
        """Ask, evaluate, tell; or the reason why there is no such round."""
        estimator, evaluator = self.plan.estimator, self.evaluator
        if evaluator.complete:
            self._prove()
            return "every coalition was evaluated: the values are exact"
        draw = estimator.ask(self.state, round_generator(self.seed, index))
        if draw is None:
            return "the method has nothing left to ask"
        if (blocked := self._blocked(draw, index)) is not None:
            return blocked
        seconds = self.plan.budget.seconds if self.plan.budget is not None else None
        try:
            values = evaluator.evaluate(
                draw, math.inf if seconds is None else self.started + seconds
            )
        except OutOfTimeError:
            return f"the budget of {seconds:g} seconds is spent"
        estimator.tell(self.state, draw, values)
        if draw.marginals is not None:
            self.marginals = (self.marginals or 0) + draw.marginals
        return self.stall.look(evaluator.tally.evaluations, len(draw))

    def _blocked(self, draw: Draw, index: int) -> str | None:
        """Why the budget does not allow this round, or None."""
        budget = self.plan.budget
        if budget is None:
            return None
        if budget.marginals is not None:
            if draw.marginals is None:
                raise InputError(
                    f"{self.plan.estimator.name} does not average marginal contributions, so that "
                    "a budget of marginals has no meaning: give a budget of evaluations"
                )
            total = (self.marginals or 0) + draw.marginals
            if total > budget.marginals:
                self._require_a_round(index, f"{draw.marginals} marginals")
                return f"the budget of {budget.marginals:,} marginals is spent"
        if budget.evaluations is not None:
            left = budget.evaluations - self.evaluator.tally.evaluations
            if len(draw) > left and self.evaluator.new_coalitions(draw, left) > left:
                self._require_a_round(index, f"{len(draw)} evaluations beside v(∅) and v(N)")
                return (
                    f"the budget of {budget.evaluations:,} evaluations is spent: the next round "
                    f"asks for more than the {left} left"
                )
        return None

    def _require_a_round(self, index: int, price: str) -> None:
        if index == 0:
            raise BudgetError(
                f"a budget of {self.plan.budget} is smaller than one round of "
                f"{self.plan.estimator.name} on {self.plan.n_players} players, which takes "
                f"{price}: give a larger budget"
            )

    def _require_contributions(self) -> None:
        """A finished run must have a value for everybody."""
        if self.proven is not None:
            return
        estimate = self.plan.estimator.estimate(self.state)
        without = int(np.isnan(estimate.values).sum())
        if without:
            raise BudgetError(
                f"the run stopped before {without} of {self.plan.n_players} players had a value "
                f"({self.evaluator.tally.evaluations:,} evaluations): give a larger budget"
            )

    def _prove(self) -> None:
        """Every utility is known: compute the values exactly."""
        values = exact_values(self.evaluator.cache.table(), self.plan.semivalue)
        counts = self.plan.estimator.estimate(self.state).counts
        self.proven = Estimate(values, np.zeros_like(values), counts, exact=True)

    def estimate(self) -> Estimate:
        """What is known now."""
        if self.proven is not None:
            return self.proven
        if self.state is None:
            unknown = np.full(self.plan.n_players, np.nan)
            return Estimate(unknown, unknown, np.zeros(self.plan.n_players, dtype=np.int64))
        return self.plan.estimator.estimate(self.state)

    def snapshot(self) -> Snapshot:
        """What rules and progress look at."""
        return Snapshot(
            evaluations=self.evaluator.tally.evaluations,
            marginals=self.marginals,
            seconds=time.monotonic() - self.started,
            estimate=self.estimate(),
            xi=self.plan.xi,
        )

    def result(self, stopped: str, *, complete: bool) -> Result:
        """The state of the run as a result."""
        now = self.estimate()
        tally = self.evaluator.tally
        return Result(
            values=now.values,
            standard_errors=np.sqrt(now.variances),
            counts=now.counts,
            evaluations=tally.evaluations,
            marginals=self.marginals,
            stopped=stopped,
            seed=self.seed,
            configuration=self.plan.configuration(),
            xi=self.plan.xi,
            exact=now.exact,
            complete=complete,
            skipped=len(tally.skipped),
            player_names=self.names,
            fingerprint=self.identity,
            computed=tally.computed,
            cache_hits=tally.cache_hits,
            seconds=time.monotonic() - self.started,
            versions=versions(),
            notes=(*self.notes, *tally.recovered, *_skip_notes(tally.skipped)),
        )


@functools.cache
def _installed_versions() -> dict[str, str]:
    packages = ("fairshapley", "numpy", "scipy")
    found = {name: metadata.version(name) for name in packages}
    return {"python": platform.python_version(), **found}


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    return dict(_installed_versions())


def _skip_notes(skipped: Mapping[tuple[int, ...], str]) -> tuple[str, ...]:
    if not skipped:
        return ()
    coalition, reason = next(iter(skipped.items()))
    note = (
        f"{len(skipped)} evaluations failed and were skipped, so that the values may be biased "
        f"and cannot be certified; the first is coalition {coalition}: {reason}"
    )
    return (note,)
