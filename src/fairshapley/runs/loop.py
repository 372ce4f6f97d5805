"""The one loop: ask, evaluate, tell, until the budget, a rule or certainty says stop."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri, stdtrit

from fairshapley.draws import DivisibleDraw, Draw
from fairshapley.errors import BudgetError, FairShapleyError, InputError, JournalError
from fairshapley.estimators import Estimate, Problem
from fairshapley.estimators.estimator import NoiseLevel
from fairshapley.estimators.exact import coalition_weights, exact_values
from fairshapley.estimators.pooling import Pooling
from fairshapley.evaluation.evaluator import (
    Evaluator,
    ExhaustedError,
    OutOfMoneyError,
    OutOfTimeError,
)
from fairshapley.evaluation.failures import LEAST_SCALE
from fairshapley.evaluation.journal import RunStatus
from fairshapley.evaluation.noise import RepeatedDraw, noise_left
from fairshapley.evaluation.prices import by_size
from fairshapley.fairness.evidence import NOT_REPRODUCIBLE
from fairshapley.randomness import round_generator, side_generator
from fairshapley.results.result import Result
from fairshapley.runs.allowance import LEAST_COMPUTED, Allowance
from fairshapley.runs.history import FirstCoalitions, Recorder
from fairshapley.runs.outcome import evidence_of, result_of
from fairshapley.runs.pairs import with_pairs
from fairshapley.runs.plan import Plan, RunLog
from fairshapley.runs.progress import ProgressOption, ProgressReporter, at_prompt
from fairshapley.stopping import Snapshot

# Exact values of identical players may differ by this share of the sizes of all values together: a
# fit that stops at a tolerance may tell equal rows apart by their order.
SAME = 1e-6

# Noise of variance 1 leaves at most some 6/m of variance in a value from m evaluations with a proxy
# (see `noise`), beside what is left where every coalition is known.
NOISE_PER_EVALUATION = 6.0
# A utility that is computed again may differ by this share of the largest: sums in another order.
REPEATED = 1e-6

# No call is in flight while an estimate is made. Where that takes much time, as the growth between
# checkpoints says, an engine that waits has no checkpoint before the end.
MOST_GROWTH = 4.0

# On a small game a method asks more and more often for coalitions that are known already. It has
# stalled when this many requests in a row, plus 20 for each coalition that is known, brought
# nothing. (Not for each that there is: walks that are all cut off soon never meet most of them.)
STALL_REQUESTS = 10_000
STALL_REQUESTS_PER_COALITION = 20

OnInterrupt: TypeAlias = Literal["raise", "return"] | None
_log = logging.getLogger("fairshapley")

EXACT = "every coalition was evaluated: the values are exact"

Gate: TypeAlias = Callable[[Draw], str | None]
"""Asked before a round is evaluated: None lets it through, a sentence says why the run stops"""


class Run:
    """One run: the state of the estimator, the evaluator and the clock."""

    def __init__(self, plan: Plan, evaluator: Evaluator, log: RunLog, started: float) -> None:
        self.plan, self.game = plan, plan.game
        self.evaluator, self.log, self.started = evaluator, log, started
        evaluator.continue_bill(f"{log.seed} {plan.configuration()}")
        self.last_look = 0
        """Evaluations at the last planned look of a rule of fairness"""
        self.looked = False
        """Whether the run stopped at such a look"""
        self.allowance = Allowance(plan, evaluator, started)
        self._last_new = 0, 0
        """Evaluations, and requests, when a coalition was last new"""
        self.noise_variance = 0.0
        """What noise that was not declared adds to the variance of a value"""
        self.noticed = ""
        """Says so where the utility was found to be random"""
        self._forget()

    def _forget(self) -> None:
        """Go back to where nothing was evaluated."""
        self.problem: Problem | None = None
        self.pooling: Pooling | None = None
        """The groups of identical players, which share one value"""
        self.state: Any = None
        self.proven: Estimate | None = None
        self.marginals: int | None = None
        self.rounds = 0
        """Rounds that the estimator was told"""
        self._asked: Draw | None = None
        """The next round, when it was asked for and not let through"""
        self._latest: Estimate | None = None
        """What the estimator said since it was last told something"""
        growth = self.plan.estimator.checkpoint_growth
        if growth > MOST_GROWTH and self.plan.in_flight > 1:
            growth = math.inf
        self.recorder = Recorder(self.game.n_active, growth)
        self.first = FirstCoalitions(self.game.n_players, self.game.n_active)

    def execute(
        self,
        progress: ProgressOption,
        *,
        verify: int | None = None,
        on_interrupt: OnInterrupt = "return",
        pairs: bool = False,
    ) -> Result:
        """Run to the end, and journal how it ended; the arguments are as in `estimate`."""
        budget, name = self.plan.budget, self.plan.estimator.name
        _log.info("%s of %s players begins: budget %s", name, self.game.n_players, budget)
        # Without a journal `verify` is how many calls are made again, of a run however short.
        least = 0 if verify and self.evaluator.slot is None else LEAST_COMPUTED
        try:
            try:
                self.evaluator.verify(verify or 0, side_generator(self.log.seed, "verify"))
            except OutOfMoneyError:
                raise BudgetError(
                    f"the budget of {budget} does not pay for computing {verify} coalitions again",
                    remedy=("give a larger budget", "give a smaller {verify}"),
                ) from None
            with ProgressReporter(progress, name, budget, self.plan.until) as reporter:
                stopped = self._loop(reporter)
            self.evaluator.guard.check()
            self._check_values()
            self._look_for_noise(self.allowance.repeats_left(least))
        except KeyboardInterrupt as error:
            guard = self.evaluator.guard
            how = "cancelled" if guard.cancelled else "interrupted"
            stopped = f"{how} after {self.evaluator.tally.evaluations:,} evaluations"
            result = self._end("interrupted", result_of(self, stopped, complete=False), pairs)
            returns = on_interrupt == "return" or (on_interrupt is None and at_prompt())
            if guard.cancelled or (returns and guard.asked_once):
                return result
            error.partial = result  # type: ignore[attr-defined]
            raise
        except ExhaustedError:
            stopped = (
                f"the journal holds no further utilities: {self.evaluator.tally.evaluations:,} "
                "evaluations were replayed; give the game to continue"
            )
            return result_of(self, stopped, complete=False)
        except Exception as error:
            try:
                self._fail(error)
            except Exception as second:  # what stopped the run matters more
                error.add_note(f"how far the run had come could not be kept: {second!r}")
            raise
        if self.noticed and stopped == EXACT:
            stopped = "every coalition was evaluated"
        return self._end("finished", result_of(self, stopped, complete=True), pairs)

    def _look_for_noise(self, repeats: int) -> None:
        """Make a few calls again: what is not the same is random, and the errors contain it."""
        tally, game = self.evaluator.tally, self.game
        if not repeats or self.plan.on_error == "skip":
            return
        try:
            found = self.evaluator.changes(repeats)
        except OutOfMoneyError:
            return
        tally.computed += len(found)
        apart = found[np.abs(found) > REPEATED * tally.largest]
        if not len(apart):
            return
        variance = float(np.mean(np.square(found))) / 2.0
        weights = coalition_weights(self.plan.semivalue, game.n_active, game.n_nulls)
        left = NOISE_PER_EVALUATION / tally.evaluations + noise_left(weights)
        # So few repeats say little of how large the noise is: Student's factor for that.
        few = float(stdtrit(len(found), 0.975) / ndtri(0.975)) ** 2
        self.noise_variance = few * variance * left
        self.noticed = (
            f"{NOT_REPRODUCIBLE}: {len(apart)} of {len(found)} coalitions gave another number when "
            f"computed again, as noise of standard deviation {math.sqrt(variance):.2g} does; the "
            "standard errors contain it. Say random=True, use fs.games.Random, or fix the seed "
            "inside"
        )

    def _end(self, status: RunStatus, result: Result, pairs: bool) -> Result:
        """Journal how the run ended; the result outlives a journal that cannot be written."""
        _log.info("%s: %s after %s evaluations", status, result.stopped, result.evaluations)
        if pairs:
            result = with_pairs(result, self.evaluator.cache)
        try:
            return self.log.end(status, result)
        except JournalError as error:
            note = f"the utilities are journalled, but not how the run ended: {error}"
            return replace(result, notes=(*result.notes, note))

    def replay(self, rounds: int | None = None) -> Result:
        """Run with what the journal holds, to the end or for some rounds; write nothing."""
        stopped = "the rounds of the run were replayed"
        if rounds is None:
            with ProgressReporter(False, "", None, None) as reporter:
                stopped = self._loop(reporter)
        else:
            self._start()
            while self.rounds < rounds and self._round() is None:
                pass
            self._is_exact()
        return result_of(self, stopped, complete=True)

    def _fail(self, error: Exception) -> None:
        """Keep what was estimated: with the error, and in the journal unless that is what broke."""
        partial = result_of(self, f"failed: {type(error).__name__}: {error}", complete=False)
        if isinstance(error, FairShapleyError):
            error.partial = partial
        if not isinstance(error, JournalError):
            self.log.end("failed", partial)

    def advance(self, gate: Gate) -> str:
        """Play rounds until the gate stops one; return the sentence that says why.

        Of the plan's limits only its seconds hold, and exact values do not end it: a study of a
        method goes on where a valuation would be done. Afterwards the run may advance again or be
        executed: it continues with the round that was stopped.
        """
        self._start()
        while (draw := self._ask()) is not None:
            if (said := gate(draw)) is not None or (said := self._play(draw)) is not None:
                return said
        return self._nothing_left()

    def _start(self) -> None:
        """Evaluate v(∅) and v(N), and start the estimator, unless that is done."""
        if self.problem is not None:
            return
        plan, evaluator = self.plan, self.evaluator
        if evaluator.noise is not None:
            weights = coalition_weights(plan.semivalue, self.game.n_active, self.game.n_nulls)
            evaluator.noise.begin(self.log.seed, weights)
        self.allowance.require_ends()
        prices = self.game.prices
        empty, full = evaluator.endpoints()
        self.recorder.add(np.array([0, self.game.n_active]), np.array([empty, full]))
        self.problem = Problem(
            self.game.n_players,
            plan.semivalue,
            empty,
            full,
            plan.xi,
            n_nulls=self.game.n_nulls,
            identical=self.game.identical_players,
            in_flight=plan.in_flight,
            prices=by_size(prices, self.game.n_players) if prices else None,
            device=plan.device,
            noise=None if evaluator.noise is None else NoiseLevel(evaluator.noise.variance, 1),
        )
        if self.game.identical_players and plan.estimator.pools:
            self.pooling = Pooling.of(self.problem)
        self.state = plan.estimator.start(self.problem)

    def _loop(self, reporter: ProgressReporter) -> str:
        """Play rounds until something says stop; return the sentence that says why."""
        plan, n_players = self.plan, self.plan.game.n_players
        self._start()
        while not self._is_exact():
            said = self._round(lambda: reporter.show(self.snapshot)) or self._stalled()
            reporter.show(self.snapshot)  # rounds of journalled utilities have no chunks
            if self._is_exact():
                break
            if said is not None:
                now = self.snapshot() if plan.rules else None
                ends = [rule.conclude(now) for rule in plan.rules if now]
                return "; ".join([said, *filter(None, ends)])
            spent, last = self.evaluator.tally.evaluations, self.last_look
            wait = all(rule.waits(spent, last, n_players) for rule in plan.rules)
            if wait and not self.recorder.due(spent):
                continue
            now = self.snapshot()
            self.recorder.keep(now.evaluations, now.evidence, plan.xi)
            if plan.until is None:
                continue
            looked = any(rule.looks_now(now) for rule in plan.rules)
            if (said := plan.until.met(now)) is not None:
                self.looked = looked
                return said
            if looked:
                self.last_look = now.evaluations
        return EXACT

    def _stalled(self) -> str | None:
        """Return why no round will bring anything new."""
        tally, (evaluations, requests) = self.evaluator.tally, self._last_new
        if tally.evaluations > evaluations:
            self._last_new = tally.evaluations, tally.requests
            return None
        idle = tally.requests - requests
        if idle < STALL_REQUESTS + STALL_REQUESTS_PER_COALITION * tally.evaluations:
            return None
        return f"the last {idle:,} requests brought no coalition that was not known"

    def _is_exact(self) -> bool:
        """Return whether every utility is known, which proves the values."""
        if self.proven is None and self.evaluator.complete:
            estimate = self.found()
            if not estimate.exact:
                table = self.evaluator.cache.table()
                values = exact_values(table, self.plan.semivalue, self.game.n_nulls)
                zeros = np.zeros_like(values)
                estimate = Estimate(values, zeros, estimate.counts, exact=True)
            self.proven = estimate
        return self.proven is not None

    def _ask(self) -> Draw | None:
        """Return the next round; one that was asked for and not told comes again."""
        if self._asked is None:
            rng = round_generator(self.log.seed, self.rounds)
            self._asked = self.plan.estimator.ask(self.state, rng)
        return self._asked

    def _nothing_left(self) -> str:
        return EXACT if self.estimate().exact else "the method has nothing left to ask"

    def _round(self, after_chunk: Callable[[], None] | None = None) -> str | None:
        """Ask, evaluate and tell what the budget pays; return why the run ends, if it does."""
        draw = self._ask()
        if draw is None:
            return self._nothing_left()
        first, limit = self.rounds == 0, ""
        part: Draw | None = draw
        while part is not None:
            wanted = self._with_repeats(part)
            rows, unit = self.allowance.affordable(wanted, self.marginals or 0, first=first)
            if rows >= len(wanted):
                break
            limit = unit
            # A first round is as short as the method can make it, but for engines that wait.
            if isinstance(part, DivisibleDraw) and (not first or self.plan.in_flight > 1):
                part = part.cut(min(rows, len(part) - 1))
            else:
                part = None
        if part is None and first:
            self.allowance.require_round(self._with_repeats(draw), limit)
        said = None if part is None else self._play(part, after_chunk)
        return said or (self.allowance.used_up(limit, self.marginals or 0) if limit else None)

    def _with_repeats(self, draw: Draw) -> Draw:
        """Return a round with what a random game is asked for again."""
        noise = self.evaluator.noise
        if noise is None:
            return draw
        whole = draw is self._asked or self.rounds == 0
        return noise.with_repeats(draw, self.evaluator.tally.evaluations, whole=whole)

    def _play(self, draw: Draw, after_chunk: Callable[[], None] | None = None) -> str | None:
        """Evaluate and tell a round; the reason where time or money ends the run."""
        evaluator, wanted = self.evaluator, self._with_repeats(draw)
        evaluator.guard.check()  # a round of known utilities computes nothing
        try:
            values, sizes = evaluator.evaluate(wanted, self.allowance.deadline, after_chunk)
        except OutOfTimeError:
            return f"budget of {self.allowance.budget.seconds:g} seconds used up"
        except OutOfMoneyError:
            return self.allowance.no_more_repeats()
        self._latest = self._asked = None
        try:
            noise = evaluator.noise
            if noise is not None and isinstance(wanted, RepeatedDraw):
                values, sizes = noise.average_repeats(wanted, values), sizes[: len(draw)]
                if self.problem is not None and (level := self.problem.noise) is not None:
                    (empty, full), problem = noise.ends, self.problem
                    level.variance, level.freedom = noise.variance, noise.freedom
                    level.gap = (full.mean - empty.mean) - (problem.full - problem.empty)
            self.plan.estimator.tell(self.state, draw, values)
            self.rounds += 1
            self.recorder.add(sizes, values)
            self.first.add(draw, values)
            if draw.marginals is not None:
                self.marginals = (self.marginals or 0) + int(draw.marginals)
        except BaseException:
            # Half a round may be in the sums: no estimate is better than a wrong one, and the
            # journal has the utilities.
            self._forget()
            raise
        return None

    def _check_values(self) -> None:
        """Raise an error where a finished run has values that cannot be meant."""
        tally, found, n_players = self.evaluator.tally, self.found(), self.game.n_players
        if 0 < tally.largest < LEAST_SCALE:
            raise InputError(
                f"the largest utility is {tally.largest:.1e}, less than the {LEAST_SCALE:.0e} that "
                "can be squared: multiply all utilities by the same number"
            )
        without, spent = int(np.isnan(self.estimate().values).sum()), f"{tally.evaluations:,}"
        if without and tally.skipped:
            raise InputError(
                f"too many evaluations failed and were skipped: {without} of {n_players} players "
                f"have no value after {spent} evaluations",
                remedy=(
                    "make the utility return a number for every coalition",
                    "give {method:'mc'}",
                ),
            )
        if without:
            raise BudgetError(
                f"the run stopped before {without} of {n_players} players had a value "
                f"({spent} evaluations): give a larger budget"
            )
        if found.exact and (unlike := self._unlike(found)):
            names = self.game.player_names or tuple(map(str, range(n_players)))
            first, second = (f"{found.values[player]:.9g}" for player in unlike)
            raise InputError(
                f"the game declares players {names[unlike[0]]} and {names[unlike[1]]} identical, "
                f"but their exact values are {first} and {second}: leave the pair out of "
                "identical_players, or make the utility the same for both"
            )

    def _unlike(self, found: Estimate) -> tuple[int, int] | None:
        """Return two players that are declared identical, and have different exact values."""
        if self.pooling is None:
            return None
        low, high = self.pooling.widest(found.values)
        apart = found.values[high] - found.values[low]
        rounding = 64 * np.finfo(np.float64).eps * self.evaluator.tally.largest
        return (low, high) if apart > SAME * np.abs(found.values).sum() + rounding else None

    def estimate(self) -> Estimate:
        """Return what is known now; identical players have one value."""
        found = self.found()
        # Exact values that differ say that the players are not identical after all.
        if self.pooling is None or (found.exact and self._unlike(found)):
            return found
        return self.pooling.share(found, independent=self.plan.estimator.traits.independent)

    def found(self) -> Estimate:
        """Return what the estimator says, or what every utility proves."""
        if self.proven is not None:
            return self.proven
        if self.state is None:
            return Estimate.unknown(self.game.n_players)
        if self._latest is None:
            found = self.plan.estimator.estimate(self.state)
            if found.sampled is not None:
                found = replace(found, sampled=self._corrected(found.sampled))
            self._latest = self._corrected(found)
        return self._latest

    def _corrected(self, found: Estimate) -> Estimate:
        """Return an estimate with v(∅) and v(N) as all their draws have them, and their errors."""
        if self.evaluator.noise is None:
            return found
        shift, variance = self.evaluator.noise.correction()
        # Draws of coalitions that differ in declared null players differ by noise alone.
        active = np.arange(self.game.n_players) < self.game.n_active
        values = np.where(active, found.values + shift, 0.0)
        return replace(found, values=values, variances=found.variances + variance)

    def snapshot(self) -> Snapshot:
        """Return what rules and progress look at."""
        return Snapshot(
            evaluations=self.evaluator.tally.evaluations,
            marginals=self.marginals,
            seconds=time.monotonic() - self.started,
            evidence=evidence_of(self),
            xi=self.plan.xi,
            budget=self.plan.budget,
            last_look=self.last_look,
            sequential=self.plan.sequential,
            workers=self.evaluator.workers,
            cost=self.evaluator.tally.cost,
        )
