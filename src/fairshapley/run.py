"""The one loop: ask, evaluate, tell, until the budget, a rule or certainty says stop."""

from __future__ import annotations

import itertools
import math
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any, TypeAlias

import numpy as np

from fairshapley.draws import Draw
from fairshapley.errors import (
    BudgetError,
    FairShapleyError,
    FingerprintError,
    InputError,
    JournalError,
)
from fairshapley.estimators import METHODS, Estimate, Estimator, Problem, from_configuration
from fairshapley.estimators.exact import MAX_EXACT_PLAYERS, Exact, check_enumerable, exact_values
from fairshapley.evaluation.engines import Engine, SerialEngine
from fairshapley.evaluation.evaluator import (
    Evaluator,
    ExhaustedError,
    JournalSlot,
    OnError,
    OutOfTimeError,
)
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.journal import Journal, RunRecord, RunStatus
from fairshapley.fairness.fidelity import check_xi
from fairshapley.games.base import Game, check_n_players, check_names
from fairshapley.games.fingerprint import fingerprint
from fairshapley.progress import ProgressOption, ProgressReporter
from fairshapley.randomness import root_seed, round_generator, side_generator
from fairshapley.result import Result
from fairshapley.semivalues import Semivalue, parse_semivalue
from fairshapley.stopping import Budget, Rule, Snapshot, parse_budget, rule_from_configuration

# Without a budget or a rule: enough for a first look at most games, and said in the result.
DEFAULT_EVALUATIONS_PER_PLAYER = 100

# A method on a small game asks ever more often for coalitions that are known already. When so many
# requests in a row (20 for each coalition there is, and some) brought nothing new, it has stalled.
STALL_REQUESTS = 10_000
STALL_REQUESTS_PER_COALITION = 20
STALL_PLAYERS = 18
"""Above this many players the requests stay those of 2**18 coalitions: about ten seconds"""

JournalOption: TypeAlias = str | os.PathLike[str] | Journal | None


def estimate(
    game: Game,
    method: str | Estimator[Any] = "auto",
    *,
    budget: int | Budget | None = None,
    until: Rule | None = None,
    semivalue: str | Semivalue = "shapley",
    xi: float = 1e-3,
    seed: int | None = None,
    engine: Engine | None = None,
    journal: JournalOption = None,
    verify: int = 0,
    progress: ProgressOption = None,
    on_error: OnError = "raise",
) -> Result:
    """Estimate the values of the players of a game.

    Parameters
    ----------
    game
        A callable with `n_players` that maps a boolean array (m, n) to m utilities.
    method
        "auto" (exact when 2**n coalitions fit the budget, else Monte Carlo), the name of another
        method, or an estimator object.
    budget
        The most that may be spent: an int counts distinct utility evaluations. With neither a
        budget nor a rule, 100 evaluations per player.
    until
        A rule such as ``fs.Fidelity(at_least=10) | fs.Seconds(at_least=60)``.
    semivalue
        "shapley", "banzhaf", "beta(16,1)" or an object such as ``fs.BetaShapley(16, 1)``.
    xi
        ξ = ε2/ε1, the tolerance near zero, in the unit of the utility.
    seed
        Fixes all random draws. None draws a seed, or takes up the one of the newest run of the
        same game and configuration in the journal.
    engine
        Who computes the utilities; by default this process.
    journal
        A file that keeps every utility: running again with it continues where the last run
        stopped, however it stopped.
    verify
        Compute so many journalled coalitions again first, and stop when a value differs.
    progress
        None shows a bar on a terminal, True or False always or never; a function is called with
        a snapshot ten times a second.
    on_error
        "raise" stops at the first utility that raises or is not finite; "skip" records it and
        leaves it out, and then nothing can be certified.

    Returns
    -------
    Result
        Ctrl-C gives the partial result, marked as such. An error carries what was estimated so
        far as ``error.partial``.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Airport([1.0, 2.0, 4.0])
    >>> fs.estimate(game, budget=100).values.round(3)
    array([0.333, 0.833, 2.833])
    """
    started = time.monotonic()
    n_players = _check_game(game)
    limits, notes = _limits(parse_budget(budget), until, n_players, method)
    plan = Plan(
        n_players=n_players,
        estimator=_resolve(method, n_players, limits),
        semivalue=parse_semivalue(semivalue),
        xi=check_xi(xi),
        budget=limits,
        until=until,
    )
    if engine is not None and not hasattr(engine, "compute"):
        raise InputError(f"engine must be None or an engine such as SerialEngine(), not {engine!r}")
    if on_error not in ("raise", "skip"):
        raise InputError(f"on_error must be 'raise' or 'skip', not {on_error!r}")
    if verify < 0:
        raise InputError(f"verify must not be negative, it is {verify}")
    identity, names = _identity(game, needed=journal is not None), _names(game, n_players)
    with ExitStack() as stack:
        guard = stack.enter_context(InterruptGuard())
        slot = None
        if journal is not None:
            opened = stack.enter_context(_opened(journal))
            assert identity is not None  # noqa: S101 - `_identity` raised otherwise
            slot = JournalSlot(opened, opened.open_game(identity, n_players, names))
        record = RunLog.begin(slot, plan, seed)
        evaluator = Evaluator(
            game,
            n_players,
            engine=engine if engine is not None else SerialEngine(),
            slot=slot,
            on_error=on_error,
            guard=guard,
        )
        run = Run(plan, record.seed, evaluator, started, identity, names, notes)
        return run.execute(record, progress, verify)


def exact(game: Game, semivalue: str | Semivalue = "shapley") -> Result:
    """The exact values, by evaluating every coalition (up to 25 players).

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.exact(fs.games.TableGame([0, 0, 0, 1]), "banzhaf").values
    array([0.5, 0.5])
    """
    return estimate(game, Exact(), semivalue=semivalue)


def resume(
    journal: JournalOption,
    game: Game | None = None,
    *,
    run: int | None = None,
    budget: int | Budget | None = None,
    until: Rule | None = None,
    engine: Engine | None = None,
    progress: ProgressOption = None,
) -> Result:
    """Continue a run from its journal; without the game, report what the journal holds.

    Method, semivalue, ξ, seed and limits are those recorded with the run.

    Parameters
    ----------
    journal
        The journal of the run.
    game
        The same game again (its fingerprint is compared). None replays the rounds whose utilities
        are journalled and gives the result up to there.
    run
        The number of the run in the journal; by default the newest.
    budget, until
        Other limits than those recorded, e.g. a larger budget.
    engine, progress
        As in `estimate`.
    """
    if journal is None:
        raise InputError("resume needs a journal: give the path of the file")
    started = time.monotonic()
    with ExitStack() as stack:
        guard = stack.enter_context(InterruptGuard())
        opened = stack.enter_context(_opened(journal, readonly=game is None))
        record = _recorded_run(opened, run)
        plan = Plan.from_record(record, parse_budget(budget), until)
        names = record.player_names
        if game is not None:
            if _check_game(game) != record.n_players or (
                _identity(game, needed=True) != record.fingerprint
            ):
                raise JournalError(
                    f"run {record.id} in {opened.path} belongs to another game (fingerprint "
                    f"{record.fingerprint}, {record.n_players} players): give the same game, with "
                    "the same data, parameters and code"
                )
            names = _names(game, record.n_players)
        evaluator = Evaluator(
            game,
            record.n_players,
            engine=engine if engine is not None else SerialEngine(),
            slot=JournalSlot(opened, record.game),
            guard=guard,
        )
        log = RunLog(None if game is None else opened, record.id, record.seed)
        current = Run(plan, record.seed, evaluator, started, record.fingerprint, names, ())
        return current.execute(log, progress, verify=0)


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
        seconds = plan.budget.seconds if plan.budget is not None else None
        deadline = math.inf if seconds is None else self.started + seconds
        if plan.budget is not None and (plan.budget.evaluations or 2) < 2:
            raise BudgetError("v(∅) and v(N) alone take 2 evaluations: give a larger budget")
        empty, full = evaluator.endpoints()
        problem = Problem(plan.n_players, plan.semivalue, empty, full, plan.xi)
        self.state = plan.estimator.start(problem)
        stall = Stall(plan.n_players)
        with ProgressReporter(progress, plan.estimator.name, plan.budget) as reporter:
            for index in itertools.count():
                if evaluator.complete and self._prove():
                    return "every coalition was evaluated: the values are exact"
                draw = plan.estimator.ask(self.state, round_generator(self.seed, index))
                if draw is None:
                    return "the method has nothing left to ask"
                if (blocked := self._blocked(draw, index)) is not None:
                    return blocked
                try:
                    values = evaluator.evaluate(draw, deadline)
                except OutOfTimeError:
                    return f"the budget of {seconds:g} seconds is spent"
                plan.estimator.tell(self.state, draw, values)
                if draw.marginals is not None:
                    self.marginals = (self.marginals or 0) + draw.marginals
                if reporter.due:
                    reporter.show(self.snapshot())
                if plan.until is not None and (said := plan.until.met(self.snapshot())):
                    return said
                if (said := stall.look(evaluator.tally.evaluations, len(draw))) is not None:
                    return said
        raise AssertionError("unreachable: the loop ends by a return")

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

    def _prove(self) -> bool:
        """Every utility is known: compute the values exactly."""
        table = self.evaluator.cache.table()
        values = exact_values(table, self.plan.semivalue)
        counts = self.plan.estimator.estimate(self.state).counts
        self.proven = Estimate(values, np.zeros_like(values), counts, exact=True)
        return True

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


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    packages = ("fairshapley", "numpy", "scipy")
    found = {name: metadata.version(name) for name in packages}
    return {"python": platform.python_version(), **found}


def _skip_notes(skipped: Mapping[tuple[int, ...], str]) -> tuple[str, ...]:
    if not skipped:
        return ()
    coalition, reason = next(iter(skipped.items()))
    note = (
        f"{len(skipped)} evaluations failed and were skipped, so that the values may be biased "
        f"and cannot be certified; the first is coalition {coalition}: {reason}"
    )
    return (note,)


def _check_game(game: Game) -> int:
    if not callable(game) or not hasattr(game, "n_players"):
        raise InputError(
            "a game is a callable with n_players that maps a boolean array (m, n) to m numbers; "
            "wrap a function of one coalition in fs.games.FunctionGame(fn, n_players)"
        )
    return check_n_players(game.n_players)


def _names(game: Game, n_players: int) -> tuple[str, ...] | None:
    return check_names(getattr(game, "player_names", None), n_players)


def _identity(game: Game, *, needed: bool) -> str | None:
    """The game's fingerprint; None where it has none and nobody needs it."""
    try:
        return fingerprint(game)
    except FingerprintError:
        if needed:
            raise
        return None


def _limits(
    budget: Budget | None, until: Rule | None, n_players: int, method: str | Estimator[Any]
) -> tuple[Budget | None, tuple[str, ...]]:
    """The budget, with the default where neither it nor a rule was given, and a note of that."""
    if until is not None and not isinstance(until, Rule):
        raise InputError(
            f"until must be a rule such as fs.Fidelity(at_least=10), not {until!r}; "
            "a number of evaluations goes into budget="
        )
    if budget is not None and not budget.limits():
        raise BudgetError("the budget is empty: give evaluations=, marginals= or seconds=")
    if budget is not None or until is not None or method == "exact" or isinstance(method, Exact):
        return budget, ()
    evaluations = DEFAULT_EVALUATIONS_PER_PLAYER * n_players
    note = f"no budget was given: {evaluations:,} evaluations, 100 per player, were allowed"
    return Budget(evaluations=evaluations), (note,)


def _resolve(
    method: str | Estimator[Any],
    n_players: int,
    budget: Budget | None,
) -> Estimator[Any]:
    """The estimator of a name; "auto" is exact when all coalitions fit the budget."""
    if isinstance(method, Estimator):
        chosen = method
    elif method == "auto":
        allowed = DEFAULT_EVALUATIONS_PER_PLAYER * n_players
        if budget is not None and budget.evaluations is not None:
            allowed = budget.evaluations
        fits = n_players <= MAX_EXACT_PLAYERS and 1 << n_players <= allowed
        chosen = METHODS["exact" if fits else "mc"]()
    elif method in METHODS:
        chosen = METHODS[method]()
    else:
        raise InputError(
            f"unknown method {method!r}: use 'auto', {', '.join(map(repr, sorted(METHODS)))}, "
            "or an estimator object such as fs.MonteCarlo()"
        )
    if isinstance(chosen, Exact):
        check_enumerable(n_players)
        limit = budget.evaluations if budget is not None else None
        if limit is not None and limit < 1 << n_players:
            raise BudgetError(
                f"exact values of {n_players} players take {1 << n_players:,} evaluations, the "
                f"budget is {limit:,}: give a larger budget, or use method='auto'"
            )
    return chosen


@contextmanager
def _opened(
    journal: str | os.PathLike[str] | Journal, *, readonly: bool = False
) -> Iterator[Journal]:
    """The journal, closed afterwards when it was opened here."""
    if isinstance(journal, Journal):
        yield journal
        return
    with Journal(journal, readonly=readonly) as opened:
        yield opened


def _recorded_run(journal: Journal, run: int | None) -> RunRecord:
    """The run with a number, or the newest one."""
    records = journal.runs()
    if not records:
        raise JournalError(f"{journal.path} holds no run: give it to estimate(journal=…) first")
    if run is None:
        return records[-1]
    for record in records:
        if record.id == run:
            return record
    numbers = ", ".join(str(record.id) for record in records)
    raise JournalError(f"{journal.path} holds no run {run}: it has {numbers}")
