"""What a plan promises and what the run takes, on six tables.

``python -m benchmarks.plan_seconds`` renews plan_seconds.csv. Each run has the evaluations that the
plan promises for SECONDS, on the largest table for the default minute: a table's first fits, in
small rounds, take longer than the others. Clocks count the seconds of this process's core, so that
other work on the machine does not matter.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

import fairshapley as fs
from fairshapley.demo import write_clinics
from fairshapley.tables import TabularGame, read_table

RESULTS = Path(__file__).with_suffix(".csv")
SECONDS, LARGEST_SECONDS = 15.0, 60.0
LARGEST = "15 occupations of 20,000 adults"
COLUMNS = (
    *("table", "players", "rows", "promised seconds", "taken", "ratio"),
    *("seconds to plan for", "evaluations promised", "made", "ratio of evaluations"),
)


def with_groups(loaded: Any, groups: int | None) -> dict[str, Any]:
    """Return the columns of one of scikit-learn's tables, with a supplier for each row."""
    columns = {f"x{place}": column.tolist() for place, column in enumerate(loaded.data.T)}
    who = {} if groups is None else {"who": [f"s{row % groups}" for row in range(len(loaded.data))]}
    return {**columns, **who, "target": loaded.target.tolist()}


def adult(rows: int) -> dict[str, Any]:
    """Return the first rows of the census of 1994."""
    folder = Path(os.environ.get("FAIRSHAPLEY_DATA", "data"))
    table = read_table(folder / "adult.csv.gz", max_rows=None).slice(0, rows)
    return {name: table[name].to_pylist() for name in table.column_names}


def tables(folder: Path) -> dict[str, TabularGame]:
    """Return the six tables."""
    train, test = write_clinics(folder)
    forest = "random-forest"
    return {
        "14 clinics, logistic": fs.table_game(train, "diagnosis", test=test, group_by="clinic"),
        "rows of wine, three classes": fs.table_game(
            with_groups(datasets.load_wine(), None), "target"
        ),
        "rows of diabetes, ridge": fs.table_game(
            with_groups(datasets.load_diabetes(), None), "target", task="regression"
        ),
        "12 parts of breast cancer, forest": fs.table_game(
            with_groups(datasets.load_breast_cancer(), 12), "target", model=forest, group_by="who"
        ),
        "20 parts of digits, ten classes": fs.table_game(
            with_groups(datasets.load_digits(), 20), "target", group_by="who"
        ),
        LARGEST: fs.table_game(adult(20_000), "income", group_by="occupation"),
    }


def measured(game: fs.games.DataGame, seconds: float) -> tuple[float, float, int, int]:
    """Return the seconds promised and taken, and the evaluations promised and made in a time."""
    limit = fs.Budget(seconds=seconds, rungs=True)
    promised = fs.forecast(game, budget=limit)
    budget = max(promised.evaluations, 10)
    planned = fs.forecast(game, budget=budget).seconds
    began = time.process_time()
    fs.estimate(game, budget=budget, seed=0, progress=False)
    taken = time.process_time() - began
    made = fs.estimate(game, budget=limit, seed=0, progress=False).evaluations
    return planned, taken, budget, made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    vars(time).update(monotonic=time.process_time, perf_counter=time.process_time)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables(Path(folder)).items():
            game = table.game
            seconds = LARGEST_SECONDS if name == LARGEST else SECONDS
            planned, taken, promised, made = measured(game, seconds)
            lines.append(
                (
                    *(name, game.n_players, len(game.train[0])),
                    *(f"{planned:.3g}", f"{taken:.3g}", f"{taken / planned:.2f}"),
                    *(seconds, promised, made, f"{made / promised:.2f}"),
                )
            )
            print(*lines[-1], sep=", ", flush=True)
    with given.out.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([COLUMNS, *lines])
    ratios = np.array([[float(line[5]), float(line[-1])] for line in lines])
    print("largest factor:", float(np.exp(np.abs(np.log(ratios)).max())))


if __name__ == "__main__":
    main()
