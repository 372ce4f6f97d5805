"""Make all runs of the paper on one machine: ``python -m benchmarks.paper.everything trials``.

The trials need the package without its extras, the data (FAIRSHAPLEY_DATA), and about two hours
of one core. They are kept one by one, so a run that was stopped continues. ``… write`` makes the
pages of docs/paper/results from them, and needs matplotlib. Trials travel between machines as one
file::

    python -m benchmarks.paper.everything trials --workers 16 --out /tmp/paper --pack /tmp/paper.tar
    python -m benchmarks.paper.everything write --out /tmp/paper --unpack /tmp/paper.tar
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tarfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from fairshapley_paper import EXPERIMENTS, run
from fairshapley_paper.experiment import Setup, Trial
from fairshapley_paper.jobs import Job, do
from fairshapley_paper.runner import jobs_of
from fairshapley_paper.store import Store

RESULTS = Path(__file__).parents[2] / "docs" / "paper" / "results"
BASELINES = ("mc", "mc-walks", "owen", "sobol", "stratified", "kernel")
LONG = ("noisy-labels", "fidelity-ape", "symmetry", "federations")
"""The experiments that take longest, which go first"""
# Figure 1 as published has MC alone; beside it stand the baselines on its two panels.
DRAWN: dict[str, dict[str, Sequence[str]]] = {
    "figure-1": {"only": ("breast_cancer-logistic", "mnist-knn"), "methods": BASELINES},
    "figure-1-appendix": {"methods": ("mc",)},
}
FEWER = {"xi": BASELINES}


def all_jobs(names: list[str]) -> list[Job]:
    """Return the jobs of the named experiments."""
    found = []
    for name in sorted(names, key=lambda name: (name not in LONG, name)):
        experiment = EXPERIMENTS[name]
        setup = Setup("full", 0, experiment.reading)
        methods = FEWER.get(name, experiment.methods)
        for scenario in experiment.scenarios:
            found += jobs_of(experiment, scenario, setup, experiment.settings["full"], methods)
    return found


def trials(names: list[str], out: Path, workers: int, seconds: float) -> int:
    """Do the jobs without a result; return how many are left when the time is over."""
    stores = {name: Store(out / name / "trials") for name in names}
    left = [job for job in all_jobs(names) if stores[job.experiment].find(job) is None]
    print(f"{len(left)} jobs to do", flush=True)
    done = 0
    with ProcessPoolExecutor(workers) as pool:
        for job, trial in pool.map(partial(_do, ends=time.time() + seconds), left):
            if trial is not None:
                stores[job.experiment].keep(job, trial)
                done += 1
    return len(left) - done


def _do(job: Job, ends: float) -> tuple[Job, Trial | None]:
    return job, do(job) if time.time() < ends else None


def write(names: list[str], out: Path) -> None:
    """Write the pages of the named experiments from their trials."""
    for name in names:
        run(name, out=out, methods=FEWER.get(name, ()), progress=False)
        _copy(out / name, RESULTS / name)
        if name != "fidelity-ape":
            continue
        for drawn, chosen in DRAWN.items():
            only = chosen.get("only", ())
            run(name, out=out, progress=False, only=only, methods=chosen["methods"])
            _copy(out / name, RESULTS / drawn)


def _copy(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for path in source.iterdir():
        if path.suffix in (".md", ".csv", ".png"):
            shutil.copy(path, target / path.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("trials", "write"))
    parser.add_argument("names", nargs="*", default=[*EXPERIMENTS])
    parser.add_argument("--out", type=Path, default=Path("paper-results"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--unpack", type=Path)
    given = parser.parse_args()
    if given.unpack:
        with tarfile.open(given.unpack) as archive:
            archive.extractall(given.out, filter="data")
    if given.what == "write":
        write(given.names, given.out)
        return 0
    left = trials(given.names, given.out, given.workers, given.seconds)
    print(f"{left} jobs are left")
    if given.pack:
        with tarfile.open(given.pack, "w:gz") as archive:
            archive.add(given.out, ".")
    return 0 if left == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
