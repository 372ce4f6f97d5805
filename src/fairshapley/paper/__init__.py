"""Every table and figure of *Probably Approximate Shapley Fairness* as data, and one runner.

``EXPERIMENTS`` holds the experiments by name; ``run`` recomputes one of them and writes its
numbers, tables and pictures, the published numbers beside ours, in both accountings: the paper's
(marginals counted, the estimator's own score) and the honest one (equal distinct utility
evaluations, audited scores).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairshapley.errors import InputError
from fairshapley.paper.catalogue import EXPERIMENTS
from fairshapley.paper.experiment import Experiment, Size
from fairshapley.paper.report import Report
from fairshapley.paper.runner import DEFAULT_FOLDER, Progress, run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "Report", "run"]


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
    device: str | None = None,
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
        The folder for results; those of this experiment go into a subfolder of its name. Finished
        trials are kept there, and are not repeated.
    engine
        None for this process, "processes" or "processes:4" to run trials side by side.
    seed
        Of the data and, with the number of the trial, of the draws.
    progress
        None shows a bar on a terminal, True or False always or never; a function is called with
        jobs done, jobs in all and what was done last.
    only, methods
        Some of the scenarios, some of the methods; by default all.
    device
        Where networks are trained, e.g. "cuda".
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
    if isinstance(name, str) and name in EXPERIMENTS:
        experiment = EXPERIMENTS[name]
    else:
        experiment, shown = _by_label(name)
        only = tuple(only) or shown
    return run_experiment(
        experiment,
        size=_size(size, quick=quick),
        trials=trials,
        only=only,
        methods=methods,
        out=out,
        engine=engine,
        seed=seed,
        device=device,
        progress=progress,
    )


def _by_label(name: str) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment and the scenarios of a table or figure."""
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


def _size(size: Size | None, *, quick: bool) -> Size:
    if size is None:
        return "quick" if quick else "full"
    if size not in ("full", "quick", "tiny"):
        raise InputError(f"unknown size {size!r}: use 'full', 'quick' or 'tiny'")
    return size
