"""Suppliers against seconds: exact values and estimates, and which of them `auto` takes.

``python -m benchmarks.exact_seconds --device cuda --players 14,18,20,22,25,30`` renews the rows of
that device in exact_seconds.csv. Each supplier has ten rows, of six columns. In the same run, games
whose values are known in closed form are computed from all coalitions.
"""

from __future__ import annotations

import argparse
import csv
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import fairshapley as fs
from fairshapley._basics.threads import allowed_threads
from fairshapley.planning import PLANNED_SECONDS, exact_seconds

RESULTS = Path(__file__).with_suffix(".csv")
COLUMNS = (
    "device", "processor", "game", "players", "exact seconds", "predicted seconds", "auto takes",
    "estimate seconds", "evaluations of the estimate", "largest difference from closed form",
)  # fmt: skip
ROWS_EACH, WIDTH, TEST_ROWS = 10, 6, 500


def labelled(count: int, seed: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, WIDTH))
    return rows, (rows[:, 0] + 0.5 * rows[:, 1] + draw.normal(size=count) > 0).astype(int)


def options(device: str) -> dict[str, Any]:
    return {} if device == "cpu" else {"device": device, "dtype": "float32"}


def suppliers(players: int, device: str) -> fs.games.DataGame:
    return fs.games.DataGame(
        LogisticRegression(),
        labelled(ROWS_EACH * players, 0),
        labelled(TEST_ROWS, 1),
        groups=np.repeat(np.arange(players), ROWS_EACH),
        **options(device),
    )


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    found = run()
    return found, time.perf_counter() - began


def neighbours(players: int, device: str) -> float:
    """Return the largest difference from KNN-Shapley, the closed form of one nearest neighbour."""
    train, test = labelled(players, 2), labelled(TEST_ROWS, 3)
    known = fs.knn_shapley(*train, *test, k=1).values
    game = fs.games.DataGame(
        KNeighborsClassifier(1), train, test, empty_value=0.0, **options(device)
    )
    return float(np.abs(fs.exact(game).values - known).max())


def processor(device: str) -> str:
    if device == "cpu":
        return f"{platform.machine()}, {allowed_threads()} cores"
    import torch

    return torch.cuda.get_device_name()


def measured(players: int, device: str, most_seconds: float) -> dict[str, Any]:
    game = suppliers(players, device)
    game(np.ones((64, players), dtype=bool))  # what is set up at the first call
    predicted = exact_seconds(game)
    row: dict[str, Any] = {"game": "logistic regression", "players": players}
    row["predicted seconds"] = f"{predicted:.3g}"
    row["auto takes"] = "exact" if predicted <= PLANNED_SECONDS else "estimate"
    estimated, seconds = timed(lambda: fs.estimate(game, "adjusted", budget=100 * players, seed=0))
    row["estimate seconds"] = f"{seconds:.3g}"
    row["evaluations of the estimate"] = estimated.evaluations
    if predicted <= most_seconds:
        row["exact seconds"] = f"{timed(lambda: fs.exact(game))[1]:.3g}"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--players", default="14,16,18,20")
    parser.add_argument("--closed", default="20", help="players of games with closed forms")
    parser.add_argument("--most", type=float, default=150.0, help="skip exact runs above it")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    if given.out.exists():
        with given.out.open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.DictReader(stream) if row["device"] != given.device]
    common = {"device": given.device, "processor": processor(given.device)}
    if given.device != "cpu":
        fs.exact(suppliers(17, given.device))  # libraries are loaded, kernels compiled

    def add(row: dict[str, Any]) -> None:
        rows.append(common | row)
        print(*(f"{name}: {value}" for name, value in row.items()), sep="; ", flush=True)
        with given.out.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    for players in map(int, filter(None, given.players.split(","))):
        add(measured(players, given.device, given.most))
    for players in map(int, filter(None, given.closed.split(","))):
        difference, seconds = timed(partial(neighbours, players, given.device))
        add({
            "game": "one nearest neighbour", "players": players, "exact seconds": f"{seconds:.3g}",
            "largest difference from closed form": f"{difference:.1e}",
        })  # fmt: skip


if __name__ == "__main__":
    main()
