"""`fs.explain` as it is called by default, beside shap's Permutation at the same error.

``python -m benchmarks.explain.core_seconds`` renews core_seconds.csv. Seconds are of one core.
Permutation explains row after row: its time for a walk and its error after some walks are measured
on some rows, and scaled to all rows and to the walks that bring its error down to ours.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import fairshapley as fs
from benchmarks.explain import models
from benchmarks.explain.__main__ import permutation, quiet

RESULTS = Path(__file__).with_suffix(".csv")
# The rows whose errors are measured, against estimates from this many evaluations per feature.
JUDGED, TRUE_PER_FEATURE = 10, 300
WALKS = 6


def core_seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    with quiet():
        found = run()
    return found, time.process_time() - began


def compared(task: models.Task, n_rows: int, n_features: int) -> dict[str, Any]:
    few = replace(task, rows=task.rows[:JUDGED])
    # The task's own function: a model that is seen as trees would have a closed form.
    true = fs.explain(
        task.predict, few.rows, few.background, budget=TRUE_PER_FEATURE * n_features, seed=9,
        progress=False,
    ).values  # fmt: skip
    found, ours = core_seconds(
        lambda: fs.explain(task.predict, task.rows, task.background, seed=0, progress=False)
    )
    scale = np.mean(np.square(true))
    error = float(np.mean(np.square(found.values[:JUDGED] - true)) / scale)
    budget = WALKS * 2 * n_features + 1
    walked, theirs = core_seconds(lambda: permutation(few, task.predict, budget, 0))
    after = float(np.mean(np.square(walked - true)) / scale)
    needed = max(1.0, WALKS * after / error)
    return {
        "model": task.name,
        "rows": n_rows,
        "features": n_features,
        "mean squared error over the mean square": f"{error:.1e}",
        "evaluations per row": found.results[0][0].evaluations,
        "core seconds of explain": f"{ours:.3g}",
        "walks of Permutation for this error": f"{needed:.0f}",
        "core seconds of Permutation": f"{theirs / WALKS * needed * n_rows / JUDGED:.3g}",
    }


def main() -> None:
    import torch

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="20,200,1000")
    parser.add_argument("--features", default="14,30")
    parser.add_argument("--boosting", default="20,200", help="numbers of rows of boosting")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    compared(models.network(14, 20)[0], 20, 14)  # libraries are loaded, and shap compiles
    for n_features in map(int, given.features.split(",")):
        cases = [
            (n_rows, models.network(n_features, n_rows)[0])
            for n_rows in map(int, given.rows.split(","))
        ]
        for n_rows in map(int, filter(None, given.boosting.split(","))):
            boosted, table = models.boosting(n_features), models.table(3000, n_features)[0]
            cases.append((n_rows, replace(boosted, rows=table[:n_rows])))
        for n_rows, task in cases:
            rows.append(compared(task, n_rows, n_features))
            print(*(f"{name}: {value}" for name, value in rows[-1].items()), sep="; ", flush=True)
            with given.out.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, [*rows[0]], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
