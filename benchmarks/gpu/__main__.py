"""Rates on a GPU: fits of logistic regressions, a whole estimate, a federated round.

``python -m benchmarks.gpu --write`` on a machine with CUDA; ``--device cpu --quick`` tries the
script elsewhere.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from benchmarks.measure import Row
from fairshapley.games.federated import ModelUtility, RoundGame, read_round
from fairshapley.games.learners import batch_learner
from fairshapley_paper.federated.networks import mnist_cnn

RESULTS = Path(__file__).with_name("RESULTS.md")
Floats = NDArray[np.float64]


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest of some runs after a first one, the device's work included."""
    found = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return min(found[1:])


def points(n_rows: int, n_features: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features))
    wins = 1.0 / (1.0 + np.exp(-2.0 * x[:, 0] - x[:, 1]))
    return x, (rng.random(n_rows) < wins).astype(np.int64)


def game(n_players: int, n_features: int, **options: Any) -> fs.games.DataGame:
    """Return one point of each class besides the players, 100 to test on."""
    x, y = points(n_players + 400, n_features)
    rest = np.arange(n_players, len(y))
    base = np.array([rest[y[rest] == one][0] for one in (0, 1)])
    test = np.setdiff1d(rest, base)[:100]
    model = LogisticRegression(solver="liblinear", C=0.05)
    return fs.games.DataGame(
        model,
        (x[:n_players], y[:n_players]),
        (x[test], y[test]),
        base=(x[base], y[base]),
        **options,
    )


def coalitions(count: int, n_players: int) -> NDArray[np.bool_]:
    rng = np.random.default_rng(1)
    shares = rng.random((count, 1), dtype=np.float32)
    return rng.random((count, n_players), dtype=np.float32) < shares


def logistic(device: str, n_rows: int, columns: int, count: int, asked: float) -> Iterator[Row]:
    """Fits with the rows' sets on the device, and from sets on the host to accuracies."""
    name = f"logistic regression, {n_rows} × {columns}"
    x, y = points(n_rows, columns - 1)
    model = LogisticRegression(solver="liblinear", C=0.05)
    learner = batch_learner(model, x, y, x[:100], device=device, dtype="float32")
    sets = coalitions(count, n_rows)
    sets[:, [np.argmin(y), np.argmax(y)]] = True
    weights = torch.tensor(sets.T.copy(), device=device).to(torch.float32)
    fit = getattr(learner, "_binary")  # noqa: B009 - what is timed is not public
    taken = seconds(lambda: fit(weights, 0, 1))
    yield Row(
        f"{name}: fits, sets on the device",
        f"{count / taken / 1e6:.1f} million per second",
        f"{count / taken / 1e6 / asked:.1f} × the {asked:g} million asked for",
    )
    players = n_rows - 2
    on_gpu, on_cpu = game(players, columns - 1, device=device, dtype="float32"), None
    masks = coalitions(count, players)
    taken = seconds(lambda: on_gpu(masks), 3)
    on_cpu = game(players, columns - 1)
    some = masks[: min(count, 20_000)]
    began = time.perf_counter()
    expected = on_cpu(some)
    cpu = (time.perf_counter() - began) / len(some)
    same = float(np.mean(on_gpu(some) == expected))
    yield Row(
        f"{name}: the game, coalitions on the host to accuracies",
        f"{count / taken / 1e6:.2f} million per second",
        f"{cpu * count / taken:.0f} × numpy in this run; the same accuracy on {same:.3%} of "
        f"{len(some):,} coalitions",
    )


def estimate(device: str, evaluations: int) -> Iterator[Row]:
    """Yield a whole estimate: draws, fits, bookkeeping."""
    subject = game(100, 5, device=device, dtype="float32")
    fs.estimate(subject, "adjusted", budget=10_000, seed=0, progress=False)
    taken = []
    for seed in range(5):
        began = time.perf_counter()
        run = fs.estimate(subject, "adjusted", budget=evaluations, seed=seed, progress=False)
        taken.append(time.perf_counter() - began)
    spent = 0.0

    class Timed:
        n_players = subject.n_players
        fingerprint = "timed"

        def __call__(self, masks: NDArray[np.bool_]) -> Floats:
            nonlocal spent
            start = time.perf_counter()
            values = subject(masks)
            spent += time.perf_counter() - start
            return values

    fs.estimate(Timed(), "adjusted", budget=evaluations, seed=1, progress=False)
    yield Row(
        f"estimate, adjusted, n = 100, {run.evaluations:,} evaluations",
        f"{np.median(taken):.2f} s (median of five, {min(taken):.2f} to {max(taken):.2f}), "
        f"of which the game {spent:.2f} s",
        "5 s asked for",
    )


def federated(device: str, n_images: int, n_agents: int) -> Iterator[Row]:
    """All coalitions of a round of the MNIST network; the data are noise, which costs the same."""
    model = mnist_cnn(seed=0)
    rng = np.random.default_rng(0)
    server = {key: value.numpy() for key, value in model.state_dict().items()}
    updates = {
        agent: {
            key: (0.01 * rng.normal(size=value.shape)).astype(np.float32)
            for key, value in server.items()
        }
        for agent in range(n_agents)
    }
    record = read_round(updates, given="deltas", server=server)
    images = rng.random((n_images, 1, 32, 32)).astype(np.float32)
    labels = rng.integers(0, 10, n_images)
    masks = (np.arange(1 << n_agents)[:, None] >> np.arange(n_agents) & 1).astype(bool)
    round_game = RoundGame(record, ModelUtility(model, (images, labels), device=device))
    round_game(masks[:8])
    began = time.perf_counter()
    round_game(masks)
    taken = time.perf_counter() - began
    yield Row(
        f"federated round, {len(masks)} coalitions × {n_images:,} images",
        f"{taken:.1f} s",
        "10 s asked for",
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try the script")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    quick, device = options.quick, options.device
    lines = ["| what | measured | against |", "|---|---|---|"]
    benchmarks: tuple[Callable[[], Iterator[Row]], ...] = (
        lambda: logistic(device, 102, 6, 2_000 if quick else 1 << 20, 15),
        lambda: logistic(device, 1000, 32, 200 if quick else 1 << 17, 2),
        lambda: estimate(device, 5_000 if quick else 1_000_000),
        lambda: federated(device, 50 if quick else 10_000, 2 if quick else 10),
    )
    for benchmark in benchmarks:
        for row in benchmark():
            lines.append(f"| {row.what} | {row.measured} | {row.against} |")
            print(lines[-1], flush=True)
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine()
    head = (
        f"# On a GPU\n\n`python -m benchmarks.gpu --write` — fairshapley {fs.__version__}, {name}, "
        f"torch {torch.__version__}, numpy {np.__version__}, Python {platform.python_version()}; "
        "the shortest of five runs after a first one, single precision.\n\n"
    )
    if options.write:
        options.out.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
