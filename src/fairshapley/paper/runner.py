"""The one runner of all experiments: jobs, truths, measures, and what is written about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fairshapley.datasets import available
from fairshapley.errors import InputError
from fairshapley.paper.experiment import (
    Experiment,
    Ground,
    Outcome,
    Scenario,
    Setting,
    Setup,
    Size,
    Trial,
)
from fairshapley.paper.jobs import (
    TRUTH,
    Answer,
    Job,
    TruthPart,
    built,
    do_all,
    worker_count,
)
from fairshapley.paper.methods import METHODS
from fairshapley.paper.rendering import write
from fairshapley.paper.report import Number, Report, cost_numbers, measured
from fairshapley.paper.store import Store

Progress: TypeAlias = bool | Callable[[int, int, str], None] | None

DEFAULT_FOLDER = Path("paper-results")


def run_experiment(
    experiment: Experiment,
    *,
    size: Size = "full",
    trials: int | None = None,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    out: Path | str = DEFAULT_FOLDER,
    engine: Any = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Report:
    """Run an experiment, or what of it was not done before, and write its results.

    Parameters
    ----------
    experiment
        What to run.
    size
        The paper's settings, or smaller ones.
    trials
        In place of the setting's number of trials.
    only, methods
        Some of the scenarios, some of the methods; by default all of them.
    out
        The folder for results; those of this experiment go into a subfolder of its name.
    engine
        None for this process, "processes" or "processes:4" for several: trials run side by side.
    seed
        Of the data and, with the number of the trial, of the draws.
    device
        Where networks are trained.
    progress
        None shows a bar on a terminal; a function is called with jobs done, jobs in all and what
        was done last.
    """
    started = time.perf_counter()
    setting = _setting(experiment, size, trials)
    scenarios = _scenarios(experiment, only)
    chosen = _methods(experiment, setting, methods)
    _check_data(scenarios)
    workers = worker_count(engine)
    folder = Path(out) / experiment.name
    try:
        (folder / "tables").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror}; choose another out"
        ) from None
    setup = Setup(size, _check_seed(seed), folder / "tables", device)
    jobs = [
        job for scenario in scenarios for job in _jobs(experiment, scenario, setup, setting, chosen)
    ]
    answers = _answers(jobs, Store(folder / "trials"), workers, progress, experiment.name)
    numbers, notes = _measure(experiment, scenarios, jobs, answers)
    report = Report(
        experiment=experiment,
        size=size,
        setting=setting,
        seed=seed,
        numbers=tuple(numbers),
        notes=tuple(notes),
        seconds=time.perf_counter() - started,
        computing=sum(answer.seconds for answer in answers.values()),
        command=_command(experiment.name, size, trials, only, methods, seed, engine),
        folder=folder,
    )
    return replace(report, paths=write(report))


def _setting(experiment: Experiment, size: Size, trials: int | None) -> Setting:
    setting = experiment.settings[size]
    if trials is None:
        return setting
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise InputError(f"trials must be a whole number of at least 1, not {trials!r}")
    return replace(setting, trials=trials)


def _check_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number of at least 0, not {seed!r}")
    return seed


def _scenarios(experiment: Experiment, only: Sequence[str]) -> tuple[Scenario, ...]:
    named = {scenario.name: scenario for scenario in experiment.scenarios}
    unknown = [name for name in only if name not in named]
    if unknown:
        raise InputError(
            f"{experiment.name} has no scenario {unknown[0]!r}; there are {', '.join(named)}"
        )
    return tuple(scenario for name, scenario in named.items() if not only or name in only)


def _methods(experiment: Experiment, setting: Setting, methods: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in methods if name not in experiment.methods]
    if unknown:
        raise InputError(
            f"{experiment.name} has no method {unknown[0]!r}; there are "
            f"{', '.join(experiment.methods)}"
        )
    wanted = methods or setting.methods
    return tuple(name for name in experiment.methods if not wanted or name in wanted)


def _check_data(scenarios: Sequence[Scenario]) -> None:
    """An error that names every data set that is missing, and says what is there."""
    present = {name for name, sources in available().items() if sources}
    needed = dict.fromkeys(name for scenario in scenarios for name in scenario.needs)
    missing = [name for name in needed if name not in present]
    if not missing:
        return
    possible = [one.name for one in scenarios if not set(one.needs) - present]
    advice = f"run only {', '.join(possible)}, or put" if possible else "put"
    raise InputError(
        f"the data of {', '.join(missing)} are not there: {advice} the files into the folder that "
        "FAIRSHAPLEY_DATA names (docs/datasets.md says which)"
    )


def _jobs(
    experiment: Experiment,
    scenario: Scenario,
    setup: Setup,
    setting: Setting,
    methods: Sequence[str],
) -> list[Job]:
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


def _answers(
    jobs: Sequence[Job], store: Store, workers: int, progress: Progress, title: str
) -> dict[Job, Answer]:
    """Every answer, from the store or done now; what is done is kept at once."""
    answers = {job: found for job in jobs if (found := store.find(job)) is not None}
    left = [job for job in jobs if job not in answers]
    with _Bar(progress, title, len(jobs)) as bar:
        bar.show(len(answers), f"{len(answers)} found from before" if answers else "")
        for job, answer in do_all(left, workers):
            store.keep(job, answer)
            answers[job] = answer
            bar.show(len(answers), f"{job.scenario.name} {job.method} {job.number}")
    return answers


def _measure(
    experiment: Experiment,
    scenarios: Sequence[Scenario],
    jobs: Sequence[Job],
    answers: dict[Job, Answer],
) -> tuple[list[Number], list[str]]:
    """All numbers, and notes on the truths."""
    numbers: list[Number] = []
    notes = list(experiment.notes)
    for scenario in scenarios:
        own = [job for job in jobs if job.scenario is scenario]
        played = built(own[0])[0]
        notes += [f"{scenario.title}: {note}" for note in played.notes]
        ground, note = _ground(experiment, own, answers)
        notes.append(f"{scenario.title}: {note}{_of_truth(experiment, ground)}")
        by_method: dict[str, list[Trial]] = {}
        for job in own:
            answer = answers[job]
            if isinstance(answer, Trial):
                by_method.setdefault(job.method, []).append(answer)
        for trials in by_method.values():
            numbers += cost_numbers(scenario.name, trials)
            for measure in experiment.measures:
                numbers += measured(measure, scenario.name, trials, ground)
    return numbers, notes


def _ground(
    experiment: Experiment, jobs: Sequence[Job], answers: dict[Job, Answer]
) -> tuple[Ground, str]:
    """The truth of a scenario as the mean of its parts, and how good it is."""
    played = built(jobs[0])[0]
    parts = [answers[job] for job in jobs if job.method == TRUTH]
    found = [part for part in parts if isinstance(part, TruthPart)]
    values = np.stack([part.values for part in found])
    truth = values.mean(axis=0)
    size = float(np.abs(truth).mean())
    if found[0].exact:
        ground = Ground(played, truth, experiment.xi)
        return ground, f"the true values are exact; mean |φ| is {size:.3g}"
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    rough = float(np.sqrt(np.square(errors).mean()))
    setting = jobs[0].setting.truth
    assert setting is not None  # noqa: S101 - the parts were not exact
    said = (
        f"the true values are the mean of {len(found)} runs of {setting.method} with "
        f"{setting.evaluations:,} evaluations, standard error {rough:.2g}; mean |φ| is {size:.3g}"
    )
    return Ground(played, truth, experiment.xi), said


def _of_truth(experiment: Experiment, ground: Ground) -> str:
    """What an estimate without error has, by the measures that ask for it."""
    truth = Outcome(ground.truth, np.zeros_like(ground.truth), 0, None)
    said = [
        f"{measure.label} {measure.each(truth, ground):.3g}"
        for measure in experiment.measures
        if measure.of_truth and measure.each is not None
    ]
    return "; they have: " + ", ".join(said) if said else ""


def _command(
    name: str,
    size: Size,
    trials: int | None,
    only: Sequence[str],
    methods: Sequence[str],
    seed: int,
    engine: Any,
) -> str:
    words = ["fairshapley paper run", name]
    words += ["--quick"] if size == "quick" else []
    words += [] if trials is None else [f"--trials {trials}"]
    words += [f"--only {scenario}" for scenario in only]
    words += [f"--method {method}" for method in methods]
    words += [f"--seed {seed}"]
    words += [f"--engine {engine}"] if isinstance(engine, str) else []
    return " ".join(words)


class _Bar:
    """A bar of jobs on a terminal, a function's calls, or nothing."""

    def __init__(self, progress: Progress, title: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._call = progress if callable(progress) else None
        self._total = total
        console = Console(stderr=True)
        wanted = console.is_terminal if progress is None else progress is True
        self._bar = (
            RichProgress(
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[last]}"),
                TimeElapsedColumn(),
                console=console,
            )
            if wanted
            else None
        )
        if self._bar is not None:
            self._task = self._bar.add_task(title, total=total, last="")

    def __enter__(self) -> _Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, last: str) -> None:
        """What was done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, last=last)
        if self._call is not None:
            self._call(done, self._total, last)
