"""Many players: memory, and time per evaluation in proportion to their number."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import fairshapley as fs
from benchmarks.measure import Row, Trivial, in_process, report

EVALUATIONS = 30_000
LARGE, PER_PLAYER = 100_000, 20


class Votes:
    """A cheap utility of very many players: the square root of how many there are, and one more."""

    fingerprint = "votes"

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players

    def __call__(self, coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        # Row by row: counting along an axis adds bytes up one by one.
        sizes = np.array([np.count_nonzero(row) for row in coalitions], dtype=np.float64)
        values: NDArray[np.float64] = np.sqrt(sizes) + coalitions[:, 0]
        return values


def rows() -> Iterator[Row]:
    costs = {}
    for n_players in (2_500, 5_000, 10_000):
        numbers = in_process("benchmarks.scale", "mc", str(n_players), str(EVALUATIONS))
        costs[n_players] = numbers["microseconds"]
        growth = costs[n_players] / n_players / (costs[2_500] / 2_500)
        yield Row(
            f"mc, n = {n_players:,}, {EVALUATIONS:,} evaluations",
            f"{costs[n_players]:.1f} µs per evaluation, {numbers['peak_mb']:.0f} MB at the peak",
            f"limit 2000 MB; per player {growth:.2f} × that at n = 2,500",
        )
    yield from large()
    yield from points()


def points() -> Iterator[Row]:
    """2,000 training points, of which 100 have a wrong label: the worst and the best decided."""
    for model in ("neighbours", "logistic"):
        numbers = in_process("benchmarks.scale", model, "2000", "1000000")
        ended = "decided" if numbers["decided"] else "not decided"
        yield Row(
            f"{model}, 2,000 points × 32 features, the 100 worst and the 100 best",
            f"{ended} after {numbers['seconds']:.0f} s ({numbers['processor']:.0f} s of the "
            f"processor), {numbers['evaluations']:,.0f} evaluations",
            f"{numbers['flips']:.0f} of 100 wrong labels are among the 100 worst",
        )


def decide(model: str, n_players: int, evaluations: int) -> None:
    """Decide the worst and the best twentieth of the training points, and report."""
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=32)
    features = rng.normal(size=(n_players + 500, 32))
    chances = 1 / (1 + np.exp(-2 * features @ slopes / np.sqrt(32)))
    targets = (rng.random(len(features)) < chances).astype(np.int64)
    few = n_players // 20
    flipped = rng.choice(n_players, few, replace=False)
    test = features[n_players:], targets[n_players:].copy()
    targets[flipped] = 1 - targets[flipped]
    learner = LogisticRegression() if model == "logistic" else KNeighborsClassifier()
    game = fs.games.DataGame(learner, (features[:n_players], targets[:n_players]), test)
    rule = fs.Decided(bottom=few, delta=0.05) & fs.Decided(top=few, delta=0.05)
    start, used = time.perf_counter(), time.process_time()
    result = fs.estimate(game, until=rule, budget=evaluations, seed=0, progress=False)
    report(
        seconds=time.perf_counter() - start,
        processor=time.process_time() - used,
        evaluations=result.evaluations,
        decided=float(result.stopped.startswith("decided")),
        flips=float(np.isin(np.argsort(result.values)[:few], flipped).sum()),
    )


def large() -> Iterator[Row]:
    """Yield the largest games: minutes each."""
    for method in ("mc", "adjusted"):
        numbers = in_process("benchmarks.scale", method, str(LARGE), str(LARGE * PER_PLAYER))
        yield Row(
            f"{method}, n = {LARGE:,}, {numbers['evaluations']:,.0f} evaluations",
            f"{numbers['seconds']:.0f} s ({numbers['microseconds']:.0f} µs per evaluation; "
            f"{numbers['processor']:.0f} s of the processor), "
            f"{numbers['peak_mb']:.0f} MB at the peak",
            "limit 4000 MB",
        )


def main(method: str, n_players: int, evaluations: int) -> None:
    if method in ("neighbours", "logistic"):
        decide(method, n_players, evaluations)
        return
    game = Trivial(n_players) if n_players < LARGE else Votes(n_players)
    start, used = time.perf_counter(), time.process_time()
    result = fs.estimate(game, method, budget=evaluations, seed=0, progress=False)
    seconds = time.perf_counter() - start
    report(
        seconds=seconds,
        processor=time.process_time() - used,
        microseconds=1e6 * seconds / result.evaluations,
        evaluations=result.evaluations,
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
