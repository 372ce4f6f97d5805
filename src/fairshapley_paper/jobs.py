"""Jobs: one trial, or one part of a truth, as something that another process can do."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from typing import Any

from fairshapley.errors import InputError
from fairshapley.evaluation.engines import parse_engine
from fairshapley.evaluation.engines.processes import THREAD_VARIABLES, ProcessEngine
from fairshapley.evaluation.engines.serial import SerialEngine
from fairshapley.semivalues import parse_semivalue
from fairshapley_paper.experiment import Played, Scenario, Setting, Setup, Trial
from fairshapley_paper.methods import METHODS
from fairshapley_paper.trial import RememberingGame, finish, prepare_run, run_trial

# The largest game whose true values are found by enumeration: a million utilities.
MOST_PLAYERS = 20
TRUTH = "truth"
"""What stands in the place of a method in a job that finds true values"""
# Seeds of trials count up from a multiple of this, those of truths from another stretch.
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
        """All that the outcome depends on but the code, as texts."""
        # Trials and, for a trial, the truth do not change what one run does.
        fixed = {"trials": 0} if self.method == TRUTH else {"trials": 0, "truth": None}
        method = "" if self.method == TRUTH else str(METHODS[self.method].make(2))
        return {
            "experiment": self.experiment,
            "scenario": self.scenario.name,
            "semivalue": self.scenario.semivalue,
            "size": self.setup.size,
            "setting": repr(replace(self.setting, **fixed)),
            "xi": repr(self.xi),
            "method": f"{self.method} {method}",
            "seed": str(self.seed),
        }


# The scenario that this process has built last: jobs come scenario by scenario.
_built: dict[tuple[Any, ...], tuple[Played, RememberingGame]] = {}


def built(job: Job) -> tuple[Played, RememberingGame]:
    """The scenario of a job, and the memory of its utilities."""
    key = (job.experiment, job.scenario.name, job.setup)
    if key not in _built:
        _built.clear()
        played = job.scenario.build(job.setup)
        _built[key] = played, RememberingGame(played.game)
    return _built[key]


def do(job: Job) -> Trial:
    """Do a job."""
    played, memo = built(job)
    if job.method == TRUTH:
        return _truth_part(job, played)
    semivalue = parse_semivalue(job.scenario.semivalue)
    return run_trial(memo, job.method, semivalue, job.setting, seed=job.seed, xi=job.xi)


def _truth_part(job: Job, played: Played) -> Trial:
    """One of the runs whose mean is the truth."""
    started = time.process_time()
    truth, n_players = job.setting.truth, played.game.n_players
    if truth is None and n_players > MOST_PLAYERS:
        raise InputError(
            f"{job.scenario.name} has {n_players} players, too many to enumerate: give its setting "
            "a Truth"
        )
    # Not with the memory of the trials: the parts are independent, and large.
    run = prepare_run(
        played.game,
        METHODS["exact" if truth is None else truth.method].make(
            job.setting.permutations(n_players)
        ),
        parse_semivalue(job.scenario.semivalue),
        xi=job.xi,
        seed=job.seed,
        evaluations=None if truth is None else truth.evaluations,
    )
    outcome = finish(run)
    return Trial(TRUTH, (outcome,), outcome, time.process_time() - started)


def worker_count(engine: Any) -> int:
    """The processes that an engine option asks for; 0 for this process."""
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
