"""The one runner of all experiments: jobs, truths, measures, and what is written about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.files import make_folder
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.randomness import root_seed
from fairshapley_paper.catalogue import EXPERIMENTS
from fairshapley_paper.datasets import available
from fairshapley_paper.experiment import (
    SIZES,
    Experiment,
    Ground,
    Outcome,
    Scenario,
    Setting,
    Setup,
    Size,
    Trial,
    Truth,
)
from fairshapley_paper.jobs import TRUTH, Job, built, do_all, worker_count
from fairshapley_paper.measures import COSTS
from fairshapley_paper.methods import METHODS
from fairshapley_paper.own import add_method, own_scenario
from fairshapley_paper.rendering import write
from fairshapley_paper.report import Number, Report, measured
from fairshapley_paper.store import Store

Progress: TypeAlias = bool | Callable[[int, int, str], None] | None

DEFAULT_FOLDER = Path("paper-results")


def run(
    name: str,
    *,
    trials: int | None = None,
    quick: bool = False,
    out: Path | str = DEFAULT_FOLDER,
    engine: Any = None,
    seed: int = 0,
    progress: Progress = None,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    games: Sequence[str] = (),
    size: Size | None = None,
) -> Report:
    """Recompute an experiment of the paper, or what of it was not done before.

    Parameters
    ----------
    name
        A key of `EXPERIMENTS`, or the label of a table or figure such as ``tab:nullity_pdp``, which
        runs the scenarios behind it.
    trials
        In place of the paper's number of trials.
    quick
        Smaller games and budgets, within two minutes on two cores.
    out
        The folder for results; this experiment's go into a subfolder of its name. Finished
        trials are kept there, and are not repeated.
    engine
        None for this process, "processes" or "processes:4" to run trials side by side.
    seed
        Of the data and, with the number of the trial, of the draws.
    progress
        None shows a bar on a terminal, True or False always or never; a function is called with
        jobs done, jobs in all and what was done last.
    only, methods
        Some of the scenarios, some of the methods; by default all. A method "module:estimator" is
        one of your own, and stands beside the others.
    games
        Games of your own, "module:game", in the place of the experiment's scenarios.
    size
        "full", "quick" or "tiny", in place of `quick`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run(
    ...         "xi", size="tiny", trials=2, only=["diabetes-ridge"], methods=["mc"], out=folder
    ...     )
    >>> report.value("diabetes-ridge", "mc", "mse") > 0
    True
    """
    started = time.perf_counter()
    experiment, labelled = _experiment(name)
    default = "quick" if quick else "full"
    size = cast("Size", checks.choice("size", size or default, SIZES))
    setting = experiment.settings[size]
    if trials is not None:
        setting = replace(setting, trials=checks.whole("trials", trials))
    places = [name for name in methods if ":" in name]
    for place in places:
        add_method(place)
    methods = [name for name in methods if ":" not in name]
    chosen = _chosen(experiment, "method", methods or setting.methods, experiment.methods) + places
    if games:
        scenarios = [own_scenario(place, experiment) for place in games]
        experiment = replace(experiment, scenarios=tuple(scenarios))
    else:
        named = {scenario.name: scenario for scenario in experiment.scenarios}
        only = only or labelled
        scenarios = [named[name] for name in _chosen(experiment, "scenario", only, list(named))]
    _check_data(scenarios)
    workers = worker_count(engine)
    folder = Path(out) / experiment.name
    make_folder(folder)
    setup = Setup(size, root_seed(seed), experiment.reading)
    jobs = [jobs_of(experiment, scenario, setup, setting, chosen) for scenario in scenarios]
    finished = _done([*chain(*jobs)], Store(folder / "trials"), workers, progress)
    numbers, notes = [], [] if games else list(experiment.notes)
    for group in jobs:
        found, remarks = _measure(experiment, group, finished)
        numbers += found
        notes += remarks
    words = [
        f"fairshapley paper run {experiment.name}",
        *(["--quick"] if size == "quick" else []),
        *([] if trials is None else [f"--trials {trials}"]),
        *(f"--only {scenario}" for scenario in only),
        *(f"--game {game}" for game in games),
        *(f"--method {method}" for method in (*methods, *places)),
        f"--seed {seed}",
        *([f"--engine {engine}"] if isinstance(engine, str) else []),
    ]
    report = Report(
        experiment=experiment,
        setting=setting,
        size=size,
        seed=seed,
        numbers=tuple(numbers),
        notes=tuple(notes),
        seconds=time.perf_counter() - started,
        computing=sum(trial.seconds for trial in finished.values()),
        command=" ".join(words),
        folder=folder,
    )
    return replace(report, paths=write(report))


def _experiment(name: str) -> tuple[Experiment, tuple[str, ...]]:
    """Return the experiment of a name; for a table or figure also the scenarios behind it."""
    if name in EXPERIMENTS:
        return EXPERIMENTS[name], ()
    for experiment in EXPERIMENTS.values():
        shown = tuple(
            scenario.name for scenario in experiment.scenarios if name in scenario.shows.split(", ")
        )
        if shown:
            return experiment, shown
    raise InputError(
        f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}, and the labels of "
        "the paper's tables and figures that `fairshapley paper list` shows"
    )


def _chosen(
    experiment: Experiment, what: str, wanted: Sequence[str], known: Sequence[str]
) -> list[str]:
    """Return the known names that are wanted; all of them if none is."""
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InputError(
            f"{experiment.name} has no {what} {unknown[0]!r}; there are {', '.join(known)}"
        )
    return [name for name in known if not wanted or name in wanted]


def _check_data(scenarios: Sequence[Scenario]) -> None:
    """Raise an InputError that names every missing dataset, and what can be run without them."""
    present = available()
    needed = dict.fromkeys(scenario.needs for scenario in scenarios if scenario.needs)
    missing = [name for name in needed if name not in present]
    if not missing:
        return
    possible = [item.name for item in scenarios if item.needs not in missing]
    advice = f"run only {', '.join(possible)}, or put" if possible else "put"
    raise InputError(
        f"the data of {', '.join(missing)} are not there: {advice} the files into the folder that "
        "FAIRSHAPLEY_DATA names (docs/paper/datasets.md says which)"
    )


def jobs_of(
    experiment: Experiment,
    scenario: Scenario,
    setup: Setup,
    setting: Setting,
    methods: Sequence[str],
) -> list[Job]:
    """Return the jobs of a scenario: the truth first, then all trials."""
    parts = 1 if setting.truth is None else setting.truth.parts
    plan = [(TRUTH, part) for part in range(parts)]
    for method in methods:
        if METHODS[method].shapley_only and scenario.semivalue != "shapley":
            continue
        # Enumeration gives the same whatever the seed.
        repeats = 1 if method == "exact" else setting.trials
        plan += [(method, number) for number in range(repeats)]
    return [
        Job(experiment.name, scenario, setup, setting, experiment.xi, method, number)
        for method, number in plan
    ]


def _done(jobs: Sequence[Job], store: Store, workers: int, progress: Progress) -> dict[Job, Trial]:
    """Return the trials of all jobs, from the store or done now; what is done is kept at once."""
    trials = {job: found for job in jobs if (found := store.find(job)) is not None}
    left = [job for job in jobs if job not in trials]
    with _shown(progress, jobs[0].experiment, len(jobs)) as show:
        show(len(trials), f"{len(trials)} found from before" if trials else "starting")
        for job, trial in do_all(left, workers):
            store.keep(job, trial)
            trials[job] = trial
            show(len(trials), f"{job.scenario.name} {job.method} {job.number}")
    return trials


def _measure(
    experiment: Experiment, jobs: Sequence[Job], trials: dict[Job, Trial]
) -> tuple[list[Number], list[str]]:
    """Return the numbers of the jobs of one scenario, and notes on its game and its truth."""
    scenario, played = jobs[0].scenario, built(jobs[0])[0]
    by_method: dict[str, list[Trial]] = {}
    for job in jobs:
        by_method.setdefault(job.method, []).append(trials[job])
    values = np.stack([part.honest.values for part in by_method.pop(TRUTH)])
    ground = Ground(played, values.mean(axis=0), experiment.xi)
    numbers: list[Number] = []
    for runs in by_method.values():
        for measure in (*COSTS, *experiment.measures):
            numbers += measured(measure, scenario.name, runs, ground)
    truth = _truth_note(jobs[0].setting.truth, values) + _of_truth(experiment, ground)
    return numbers, [f"{scenario.title}: {note}" for note in (*played.notes, truth)]


def _truth_note(truth: Truth | None, values: FloatArray) -> str:
    """Return how good the true values are, the mean of several parts."""
    size = float(np.abs(values.mean(axis=0)).mean())
    if truth is None:
        return f"the true values are exact; mean |φ| is {size:.3g}"
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    rough = float(np.sqrt(np.square(errors).mean()))
    return (
        f"the true values are the mean of {len(values)} runs of {truth.method} with "
        f"{truth.evaluations:,} evaluations, standard error {rough:.2g}; mean |φ| is {size:.3g}"
    )


def _of_truth(experiment: Experiment, ground: Ground) -> str:
    """Return what an estimate without error has, by the measures that ask for it."""
    truth = Outcome(ground.truth, np.zeros_like(ground.truth), 0, None)
    sentences = [
        f"{measure.label} {measure.each(truth, ground):.3g}"
        for measure in experiment.measures
        if measure.of_truth and measure.each is not None
    ]
    return "; they have: " + ", ".join(sentences) if sentences else ""


@contextmanager
def _shown(progress: Progress, title: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """Yield what shows finished jobs: a bar on a terminal, a function's calls, or nothing."""
    from fairshapley.runs.progress import ProgressLine, is_watched

    if callable(progress):
        yield lambda done, last: progress(done, total, last)
    elif progress or (progress is None and is_watched()):
        line = ProgressLine(title, total, unit="jobs")
        try:
            yield line.update
        finally:
            line.stop()
    else:
        yield lambda _done, _last: None
