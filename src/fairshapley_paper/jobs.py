"""Jobs: one trial, or one part of a truth, as something that another process can do.

A trial is recorded when the paper's budget and when the honest one are spent. The paper's runs go
on when every coalition is known: 1300 marginals of a game with 16 coalitions. So they advance
through a gate of their own; the honest ones are runs like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import Draw, ListedCoalitions
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimator
from fairshapley.evaluation.engines import SerialEngine, parse_engine
from fairshapley.evaluation.engines.processes import THREAD_VARIABLES, ProcessEngine
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.games.game import Game
from fairshapley.randomness import side_generator
from fairshapley.runs.loop import Run
from fairshapley.runs.plan import Plan, RunGame, RunLog
from fairshapley.semivalues import Semivalue, parse_semivalue
from fairshapley.stopping import Budget
from fairshapley_paper.experiment import Outcome, Scenario, ScenarioGame, Setting, Setup, Trial
from fairshapley_paper.methods import METHODS
from fairshapley_paper.own import add_method
from fairshapley_paper.program import Form, run_form, together


class RememberingGame:
    """A game that remembers its utilities; trials that share it differ in nothing but time.

    Examples
    --------
    >>> import fairshapley as fs
    >>> import numpy as np
    >>> memo = RememberingGame(fs.games.Additive([1.0, 2.0]))
    >>> memo(np.array([[True, False], [True, True]]))
    array([1., 3.])
    """

    def __init__(self, game: Game) -> None:
        self.n_players = int(game.n_players)
        self._evaluator = Evaluator(game, self.n_players)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row, computed when it is new."""
        draw = ListedCoalitions.of(coalitions)
        return self._evaluator.evaluate(draw).values


def prepare_run(
    game: Game,
    estimator: Estimator[Any, Any],
    semivalue: Semivalue,
    *,
    xi: float,
    seed: int,
    evaluations: int | None = None,
) -> Run:
    """Return a run that knows nothing of the game but its utilities.

    Parameters
    ----------
    game, estimator, semivalue, xi, seed
        What is run.
    evaluations
        Its budget, if it has one.
    """
    n_players = int(game.n_players)
    budget = None if evaluations is None else Budget(evaluations=evaluations)
    facts = RunGame(n_players=n_players, n_active=n_players)
    plan = Plan(game=facts, estimator=estimator, semivalue=semivalue, xi=xi, budget=budget)
    evaluator = Evaluator(game, n_players)
    return Run(plan, evaluator, RunLog(None, 0, seed), time.monotonic())


def finish(run: Run) -> Outcome:
    """Return what is known when the budget is spent, or when the values are exact."""
    run.execute(progress=False)
    return outcome(run)


def outcome(run: Run) -> Outcome:
    """Return what a run knows now."""
    now = run.estimate()
    return Outcome(now.values, now.variances, run.evaluator.tally.evaluations, run.marginals)


def run_trial(
    memo: RememberingGame,
    method: str,
    semivalue: Semivalue,
    setting: Setting,
    *,
    seed: int,
    xi: float,
) -> Trial:
    """Return one trial of a method.

    Parameters
    ----------
    memo
        The game.
    method
        A key of `METHODS`.
    semivalue, setting, seed, xi
        What is estimated, for how long, with which draws, and ξ.
    """
    started = time.process_time()
    n_players, chosen = memo.n_players, METHODS[method]
    prepare = partial(prepare_run, memo, semivalue=semivalue, xi=xi, seed=seed)
    permutations = setting.permutations(greedy=chosen.greedy)
    limit = setting.total_evaluations(n_players)
    if chosen.form is not None:
        rng = side_generator(seed, "paper program")
        done = run_form(chosen.form, memo, permutations, setting.marginals, xi, rng)
        return Trial(method, (done,), done, time.process_time() - started)
    assert chosen.make is not None  # noqa: S101 - a method has one or the other
    if method == "exact":
        honest = finish(prepare(chosen.make(permutations)))
        path: tuple[Outcome, ...] = (honest,)
    else:
        run = prepare(chosen.make(permutations), evaluations=limit)
        path = tuple(_paper_path(run, setting, permutations))
        if setting.evaluations is not None or setting.share is not None:
            run = prepare(chosen.make(setting.honest_permutations(n_players)), evaluations=limit)
        honest = finish(run)
    return Trial(method, path, honest, time.process_time() - started)


def _paper_path(run: Run, setting: Setting, permutations: int) -> Iterator[Outcome]:
    """Yield the outcome when each of the looks' budgets is spent.

    A method without marginals is charged for requests, repeated ones too: the most that the
    marginals could request, n − 1 for a permutation and two for a single marginal.
    """
    n_players = run.game.n_players
    # With one look only the end is asked for; a curve starts where the bootstrap ends.
    for look in range(setting.looks + 1) if setting.looks > 1 else (1,):
        share = setting.marginals * look // setting.looks
        marginals = permutations * n_players + share
        requests = 2 + permutations * (n_players - 1) + 2 * share
        run.advance(partial(_gate, run=run, marginals=marginals, requests=requests))
        yield outcome(run)


def _gate(draw: Draw, *, run: Run, marginals: int, requests: int) -> str | None:
    if draw.marginals is None:
        spent = run.evaluator.tally.requests + len(draw) > requests
    else:
        spent = (run.marginals or 0) + draw.marginals > marginals
    return "the paper's budget is spent" if spent else None


# The largest game whose true values are found by enumeration: a million utilities.
MOST_PLAYERS = 20
TRUTH = "truth"
"""What stands in the place of a method in a job that finds true values"""
PUBLISHED_TRIALS = 5
# Seeds of trials count up from a multiple of this, seeds of truths from another stretch.
SEED_STRIDE = 1_000_000


@dataclass(frozen=True, eq=False)
class Job:
    """A trial of a method, or a part of the truth."""

    experiment: str
    scenario: Scenario
    setup: Setup
    setting: Setting
    xi: float
    method: str
    """A key of `METHODS`, or `TRUTH`"""
    number: int

    @property
    def seed(self) -> int:
        """The seed of the draws: the same for all methods, another for the truth."""
        start = SEED_STRIDE * self.setup.seed
        return start + self.number + (SEED_STRIDE // 2 if self.method == TRUTH else 0)

    def configuration(self) -> dict[str, str]:
        """Return all that the outcome depends on but the code, as texts."""
        # Trials and, for a trial, the truth do not change what one run does.
        fixed = {"trials": 0} if self.method == TRUTH else {"trials": 0, "truth": None}
        method = METHODS["exact" if self.method == TRUTH else self.method]
        made = "" if method.make is None or self.method == TRUTH else method.make(2)
        return {
            "experiment": self.experiment,
            "scenario": self.scenario.name,
            "semivalue": self.scenario.semivalue,
            "size": self.setup.size,
            "setting": repr(replace(self.setting, **fixed)),
            "xi": repr(self.xi),
            "method": f"{self.method} {made}",
            "seed": str(self.seed),
        } | ({"source": source} if (source := method.version + self.scenario.version) else {})


# The scenario that this process has built last: jobs come scenario by scenario.
_built: dict[tuple[Any, ...], tuple[ScenarioGame, RememberingGame]] = {}


def built(job: Job) -> tuple[ScenarioGame, RememberingGame]:
    """Return the scenario of a job, and the memory of its utilities."""
    key = (job.experiment, job.scenario.name, job.setup)
    if key not in _built:
        _built.clear()
        played = job.scenario.build(job.setup)
        _built[key] = played, RememberingGame(played.game)
    return _built[key]


def do(job: Job) -> Trial:
    """Do a job."""
    if ":" in job.method and job.method not in METHODS:  # in another process
        add_method(job.method)
    played, memo = built(job)
    if job.method == TRUTH:
        return _truth_part(job, played)
    form = METHODS[job.method].form
    if form is not None and "rounds" in played.facts:
        return _federation_trial(job, form, played.facts["rounds"], played.facts["spans"])
    semivalue = parse_semivalue(job.scenario.semivalue)
    return run_trial(memo, job.method, semivalue, job.setting, seed=job.seed, xi=job.xi)


def _federation_trial(job: Job, form: Form, rounds: Sequence[Game], spans: Sequence[int]) -> Trial:
    """Run a form of the program on every round of a federation, and put the rounds together.

    Its seed is the number of the trial, set anew in every round, so that all rounds have the same
    draws. The seed 0, of the first of five trials, counts as none: its rounds differ.
    """
    started = time.process_time()
    permutations = job.setting.permutations(greedy=METHODS[job.method].greedy)
    rng, path = side_generator(job.seed, "paper program"), []
    for game in rounds:
        if job.number % PUBLISHED_TRIALS:
            rng = side_generator(job.seed, "paper program")
        path.append(run_form(form, game, permutations, job.setting.marginals, job.xi, rng))
    whole = together(path, spans, job.xi)
    return Trial(job.method, (*path, whole), whole, time.process_time() - started)


def _truth_part(job: Job, played: ScenarioGame) -> Trial:
    """Return one of the runs whose mean is the truth."""
    started = time.process_time()
    truth, n_players = job.setting.truth, played.game.n_players
    if truth is None and n_players > MOST_PLAYERS:
        raise InputError(
            f"{job.scenario.name} has {n_players} players, too many to enumerate: give its setting "
            "a Truth"
        )
    make = METHODS["exact" if truth is None else truth.method].make
    assert make is not None  # noqa: S101 - no form of the program is a truth
    # Not with the memory of the trials: the parts are independent, and large.
    run = prepare_run(
        played.game,
        make(job.setting.bootstrap),
        parse_semivalue(job.scenario.semivalue),
        xi=job.xi,
        seed=job.seed,
        evaluations=None if truth is None else truth.evaluations,
    )
    outcome = finish(run)
    return Trial(TRUTH, (outcome,), outcome, time.process_time() - started)


def worker_count(engine: Any) -> int:
    """Return the processes that an engine option asks for; 0 for this process."""
    parsed = parse_engine(engine)
    if isinstance(parsed, ProcessEngine):
        return parsed.workers
    if isinstance(parsed, SerialEngine):
        return 0
    raise InputError(
        "the paper's trials run in this process or in several of this machine: use engine=None, "
        "'processes' or 'processes:4'"
    )


def do_all(jobs: Iterable[Job], workers: int) -> Iterator[tuple[Job, Trial]]:
    """Do all jobs, here or in processes; trials come as they are ready."""
    if workers == 0:
        for job in jobs:
            yield job, do(job)
        return
    import loky  # type: ignore[import-untyped]

    pool = loky.ProcessPoolExecutor(workers, env=dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        waiting: dict[Future[Trial], Job] = {pool.submit(do, job): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:
        pool.shutdown(wait=False, kill_workers=True)
