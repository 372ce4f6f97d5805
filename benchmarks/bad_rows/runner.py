"""Every method on every case, in processes of its own environment; what is done is kept."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bad_rows.data import HARMS, SETS, SIZES, Case, case
from benchmarks.peers import environment
from benchmarks.peers.environment import ENVIRONMENTS, ONE_THREAD, Peer

HERE = Path(__file__).parent
WORK = ENVIRONMENTS.parent / "bad_rows"
RESULTS = HERE / "results.csv"
SIZES_TEXT = f"{SIZES[0]} training, {SIZES[1]} validation and {SIZES[2]} test rows"
OPENDATAVAL = Peer(
    "opendataval",
    (
        "torch==2.13.0",
        "numpy<1.26",
        "pandas<2",
        "scikit-learn==1.3.2",
        "scipy==1.11.4",
        "tqdm",
        "matplotlib",
        "requests",
        "pandera~=0.15.1",
    ),
    "opendataval_worker.py",
    # It asks for torch 2.1, and for packages that its evaluators do not use.
    alone=("opendataval==1.3.0", "geomloss==0.2.6"),
)
CLEANING = Peer("cleanlab", ("cleanlab==2.9.0", "pyDVL==0.10.0", "numpy<2"), "cleaning_worker.py")


TABLES = ("adult", "breast_cancer", "covertype")


@dataclass(frozen=True)
class Method:
    """A method: who has it, and where it is run; longer ones in fewer places."""

    owner: str
    name: str
    sets: tuple[str, ...] = tuple(SETS)
    sets_of_features: tuple[str, ...] = tuple(SETS)
    """Where it is asked for rows with noise in their features"""

    @property
    def label(self) -> str:
        return f"{self.owner} {self.name}" if self.name != self.owner else self.owner


METHODS = (
    Method("fairshapley", "suspects"),
    Method("fairshapley", "suspects, distance", sets=()),
    Method("fairshapley", "knn_shapley"),
    Method("cleanlab", "cleanlab"),
    Method("opendataval", "KNN Shapley"),
    Method("opendataval", "LAVA"),
    Method("pyDVL", "KNN Shapley"),
    Method("opendataval", "Data-OOB", sets_of_features=TABLES),
    Method("pyDVL", "Data-OOB", TABLES, ()),
    Method("opendataval", "DVRL", TABLES, ()),
    Method("opendataval", "Data Shapley", TABLES, ()),
)
SEEDS = 3
SHARES = (0, 20, 40)
"""Percent of the rows that are removed"""


def run(sets: Sequence[str] = tuple(SETS), owners: Sequence[str] = ()) -> None:
    """Do what is not done yet, and write the scores of all that is."""
    for folder in ("cases", "values"):
        (WORK / folder).mkdir(parents=True, exist_ok=True)
    for name in sets:
        tasks: dict[str, list[dict[str, str]]] = {}
        for method, one, place in _tasks(name):
            if not place.exists() and (not owners or method.owner in owners):
                file = _stored(one)
                task = {"case": str(file), "method": method.name, "values": str(place)}
                tasks.setdefault(method.owner, []).append(task)
        for owner, todo in tasks.items():
            print(f"{name}: {owner}, {len(todo)} runs", file=sys.stderr, flush=True)
            _work(owner, todo)
    write_scores()


def write_scores() -> None:
    """A line of the results for each run that is there; lines of other runs stay as they are."""
    rows: list[dict[str, Any]] = []
    with RESULTS.open(newline="") as stream:
        before = {_key(row): row for row in csv.DictReader(stream)}
    for name in SETS:
        for method, one, place in _tasks(name):
            if not place.exists():
                row = before.get((name, one.harm, str(one.seed), method.label))
                rows += [] if row is None else [row]
                continue
            with np.load(place) as found:
                values, seconds = found["values"], float(found["seconds"])
            if values.size:
                rows.append(
                    {
                        "set": name,
                        "harm": one.harm,
                        "seed": one.seed,
                        "method": method.label,
                        **{key: f"{score:.4f}" for key, score in scores(one, values).items()},
                        "seconds": f"{seconds:.3g}",
                    }
                )
    with RESULTS.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _key(row: dict[str, str]) -> tuple[str, str, str, str]:
    return row["set"], row["harm"], row["seed"], row["method"]


def scores(one: Case, values: NDArray[np.float64]) -> dict[str, float]:
    """How well low values tell harmed rows, and a model without the lowest tenths."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    values = np.nan_to_num(values, nan=float(np.nanmean(values)))
    order = np.argsort(values, kind="stable")
    harmed, n_harmed = one.harmed, int(one.harmed.sum())
    found = {
        "f1": _f1(values, harmed),
        "auc": float(roc_auc_score(harmed, -values)),
        "precision": float(harmed[order[:n_harmed]].mean()),
    }
    for share in SHARES:
        kept = order[share * len(order) // 100 :]
        rows, labels = one.train[0][kept], one.train[1][kept]
        model = LogisticRegression(C=0.1, max_iter=300, tol=1e-3)
        found[f"without_{share}"] = float(
            model.fit(rows, labels).score(*one.test)
            if np.ptp(labels)
            else (one.test[1] == labels[0]).mean()
        )
    return found


def _f1(values: NDArray[np.float64], harmed: NDArray[np.bool_]) -> float:
    """F1 of the lower of two clusters of values: OpenDataVal's rule, two means in one dimension."""
    order = np.argsort(values, kind="stable")
    ordered, n = values[order], len(values)
    # Sums of squares are small against their terms where values are: scale them first.
    ordered = (ordered - ordered.mean()) / (ordered.std() or 1.0)
    sums, counts = np.cumsum(ordered), np.arange(1, n)
    between = sums[:-1] ** 2 / counts + (sums[-1] - sums[:-1]) ** 2 / (n - counts)
    low = np.zeros(n, dtype=bool)
    low[order[: int(between.argmax()) + 1]] = True
    return 2 * float((low & harmed).sum()) / float(low.sum() + harmed.sum())


def _tasks(name: str) -> Iterator[tuple[Method, Case, Path]]:
    for harm in HARMS:
        for seed in range(SEEDS):
            one = case(name, harm, seed)
            for method in METHODS:
                sets = method.sets if harm.startswith("labels") else method.sets_of_features
                if name in sets:
                    file = f"{_slug(one)}--{method.label}.npz".replace(" ", "_").replace(",", "")
                    yield method, one, WORK / "values" / file


def _slug(one: Case) -> str:
    return f"{one.name}-{one.harm.split()[0]}{one.harm.split()[1]}-{one.seed}"


def _stored(one: Case) -> Path:
    file = WORK / "cases" / f"{_slug(one)}.npz"
    if not file.exists():
        np.savez(
            file,
            x_train=one.train[0],
            y_train=one.train[1],
            x_valid=one.valid[0],
            y_valid=one.valid[1],
            n_classes=int(max(one.train[1].max(), one.valid[1].max(), one.test[1].max())) + 1,
            seed=one.seed,
        )
    return file


def _work(owner: str, tasks: list[dict[str, str]]) -> None:
    peers = {"opendataval": OPENDATAVAL, "cleanlab": CLEANING, "pyDVL": CLEANING}
    worker = peers[owner].worker if owner in peers else "our_worker.py"
    python = str(peers[owner].python()) if owner in peers else sys.executable
    file = WORK / f"tasks-{os.getpid()}.json"
    file.write_text(json.dumps(tasks))
    try:
        subprocess.run(
            [python, "-W", "ignore", str(environment.HERE / worker), str(file)],
            env={**os.environ, **ONE_THREAD},
            check=True,
        )
    finally:
        file.unlink()
