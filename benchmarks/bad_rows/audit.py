"""Does the stated range of the share of wrong labels hold? Six kinds of mistakes, six tables.

The settings of `fairshapley.clean` were chosen on `CHOSEN_ON`, and are reported on `TABLES`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fairshapley as fs
from fairshapley_paper.datasets import copy_path

Cells = tuple[NDArray[Any], NDArray[np.int64]]

RESULTS = Path(__file__).parent / "audit.csv"
KINDS = ("random", "pair", "source turned", "source random", "hard rows", "none")
SEEDS = 10
MOST_ROWS = 800
PAIR_RATES = (0.1, 0.2, 0.4)


def _scikit(name: str) -> Callable[[], Cells]:
    def rows() -> Cells:
        from sklearn import datasets

        found: Cells = getattr(datasets, f"load_{name}")(return_X_y=True)
        return found

    return rows


def _synthetic(n_rows: int, n_classes: int, seed: int) -> Callable[[], Cells]:
    def rows() -> Cells:
        from sklearn.datasets import make_classification

        found: Cells = make_classification(
            n_rows,
            10,
            n_informative=6,
            n_classes=n_classes,
            class_sep=1.5,
            flip_y=0,
            random_state=seed,
        )
        return found

    return rows


def _stored(name: str) -> Callable[[], Cells]:
    def rows() -> Cells:
        from benchmarks.bad_rows.data import load

        return load(name)

    return rows


def _adult() -> Cells:
    from fairshapley.tables import read_table

    table = read_table(copy_path("adult"), max_rows=100_000)
    names = [name for name in table.column_names if name != "income"]
    cells = np.array([table.column(name).to_pylist() for name in names], dtype=object).T
    return cells, (np.array(table.column("income").to_pylist()) == ">50K").astype(np.int64)


TABLES: dict[str, Callable[[], Cells]] = {
    "iris": _scikit("iris"),
    "wine": _scikit("wine"),
    "breast_cancer": _scikit("breast_cancer"),
    "digits": _scikit("digits"),
    "synthetic": _synthetic(1000, 3, 1),
    "adult": _adult,
}
# The settings of `fairshapley.clean` were chosen on these.
CHOSEN_ON: dict[str, Callable[[], Cells]] = {
    "covertype": _stored("covertype"),
    "mnist": _stored("mnist"),
    "hotel_reviews": _stored("hotel_reviews"),
    "synthetic, 4 classes": _synthetic(800, 4, 2),
    "synthetic, 160 rows": _synthetic(160, 2, 3),
}


def plant(
    rows: Cells, kind: str, seed: int
) -> tuple[dict[str, list[Any]], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the columns with a source of each row, labels with mistakes, and which are wrong."""
    rng = np.random.default_rng([seed, *kind.encode()])
    order = rng.permutation(len(rows[1]))[:MOST_ROWS]
    features, truths = rows[0][order], rows[1][order]
    n_rows, n_classes = len(truths), int(truths.max()) + 1
    labels = truths.copy()
    sources = rng.integers(5 if n_rows < 300 else 10, size=n_rows)
    if kind == "random":
        hit = rng.random(n_rows) < 0.1
        labels[hit] = (labels[hit] + rng.integers(1, n_classes, size=hit.sum())) % n_classes
    elif kind == "pair":
        one, other = rng.choice(n_classes, 2, replace=False)
        hit = (truths == one) & (rng.random(n_rows) < PAIR_RATES[seed % len(PAIR_RATES)])
        labels[hit] = other
    elif kind == "source turned":
        labels[sources == 3] = (labels[sources == 3] + 1) % n_classes
    elif kind == "source random":
        labels[sources == 3] = rng.choice(truths, (sources == 3).sum())
    elif kind == "hard rows":
        # Between a row of its class and one of another: nobody could tell.
        hard = np.flatnonzero(rng.random(n_rows) < 0.15)
        partner = rng.integers(n_rows, size=len(hard))
        if features.dtype == object:
            mine = rng.random((len(hard), features.shape[1])) < 0.5
            features[hard] = np.where(mine, features[hard], features[partner])
        else:
            part = rng.uniform(0.4, 0.6, size=(len(hard), 1))
            features[hard] = part * features[hard] + (1 - part) * features[partner]
    columns = {f"x{place}": cells.tolist() for place, cells in enumerate(features.T)}
    return columns | {"source": [f"s{one}" for one in sources]}, labels, labels != truths


def judge(rows: Cells, kind: str, seed: int) -> dict[str, str]:
    """Return what is said of a table with mistakes, and what is true."""
    columns, labels, wrong = plant(rows, kind, seed)
    found = fs.suspects(columns | {"label": labels.astype(str).tolist()}, "label", checked=False)
    flagged = found.probability > 0.5
    few, planted = found.mistakes, float(wrong.mean())
    return {
        "rows": str(len(labels)),
        "wrong": f"{planted:.4f}",
        "lower": f"{few.lower:.4f}",
        "upper": f"{few.upper:.4f}",
        "flagged": str(int(flagged.sum())),
        "flagged_wrong": str(int((flagged & wrong).sum())),
        "sources": " ".join(f"{one.column}={one.category}" for one in found.sources),
        "held": str(int(few.lower <= planted <= few.upper)),
        # The range ends below the truth, and three quarters of the mistakes or more are not shown.
        "false_all_clear": str(
            int(few.upper < planted and (flagged & wrong).sum() < wrong.sum() / 4)
        ),
    }


def run(tables: Sequence[str] = tuple(TABLES), seeds: int = SEEDS) -> list[dict[str, str]]:
    """Return a line for each table, kind and seed."""
    return [
        {"set": name, "kind": kind, "seed": str(seed), **judge(rows, kind, seed)}
        for name in tables
        for rows in [TABLES[name]()]
        for kind in KINDS
        for seed in range(seeds)
    ]


def write(seeds: int = SEEDS) -> None:
    """Do the audit again, and write its table."""
    lines = run(seeds=seeds)
    with RESULTS.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
