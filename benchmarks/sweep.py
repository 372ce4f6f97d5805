"""Milliseconds of a core for an evaluation, swept over rows, players and classes: no cliffs.

``python -m benchmarks.sweep`` renews sweep.csv and sweep.png. Logistic regressions of eight columns
are fitted together, as a run does it.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.linear_model import LogisticRegression

import fairshapley as fs

mpl.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).with_suffix(".csv")
WIDTH, TEST_ROWS = 8, 200
# What is swept, from the middle case; 2,048 rows were once a limit of the fits made together.
MIDDLE = {"rows": 1000, "players": 20, "classes": 2}
SWEPT = {
    "rows": (250, 500, 1000, 1500, 2000, 2048, 2049, 2100, 3000, 4000, 6000, 8000),
    "players": (5, 10, 20, 50, 100, 200, 500, 1000),
    "classes": (2, 3, 4, 5, 6, 8, 10),
}
TICKS = {"rows": (250, 1000, 2000, 8000), "players": (5, 50, 1000), "classes": (2, 3, 5, 10)}
# Batches of about this many seconds, the quickest of some.
SECONDS, REPEATS = 0.3, 3


def milliseconds(rows: int, players: int, classes: int) -> float:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(rows + TEST_ROWS, WIDTH))
    scores = features @ draw.normal(size=(WIDTH, classes))
    labels = np.argmax(scores + draw.gumbel(size=scores.shape), axis=1)
    game = fs.games.DataGame(
        LogisticRegression(),
        (features[:rows], labels[:rows]),
        (features[rows:], labels[rows:]),
        groups=np.arange(rows) % players,
    )
    size, found = 64, list[float]()
    while True:
        batch = draw.random((size, players)) < draw.random((size, 1))
        began = time.process_time()
        game(batch)
        taken = time.process_time() - began
        if taken < SECONDS and not found:
            size *= 2
            continue
        found.append(1000 * taken / size)
        if len(found) == REPEATS:
            return min(found)


def draw(results: Path) -> None:
    """Draw the picture of a table."""
    with results.open(encoding="utf-8") as stream:
        _, *rows = csv.reader(stream)
    figure, axes = plt.subplots(1, len(SWEPT), figsize=(12, 3.6), layout="constrained")
    for axis, name in zip(axes, SWEPT, strict=True):
        steps, found = np.array([row[1:] for row in rows if row[0] == name], dtype=float).T
        axis.loglog(steps, found, "o-")
        others = ", ".join(f"{value:,} {key}" for key, value in MIDDLE.items() if key != name)
        axis.set(xlabel=name, ylabel="ms of a core for an evaluation", title=others)
        axis.set_ylim(found.min() / 3, found.max() * 3)
        axis.set_xticks(TICKS[name], [f"{tick:,}" for tick in TICKS[name]])
        axis.minorticks_off()
    figure.savefig(results.with_suffix(".png"), dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    for name, steps in SWEPT.items():
        found = [milliseconds(**{**MIDDLE, name: step}) for step in steps]
        rows += [(name, step, f"{each:.3g}") for step, each in zip(steps, found, strict=True)]
        print(*rows[-len(steps) :], flush=True)
    with given.out.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([("swept", "number", "milliseconds of a core"), *rows])
    draw(given.out)


if __name__ == "__main__":
    main()
