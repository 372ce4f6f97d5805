"""Many players: memory, and time per evaluation in proportion to their number."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import fairshapley as fs
from benchmarks.measure import Row, Trivial, in_process, report

EVALUATIONS = 30_000


def rows() -> Iterator[Row]:
    costs = {}
    for n_players in (2_500, 5_000, 10_000):
        numbers = in_process("benchmarks.scale", str(n_players))
        costs[n_players] = numbers["microseconds"]
        growth = costs[n_players] / n_players / (costs[2_500] / 2_500)
        yield Row(
            f"mc, n = {n_players:,}, {EVALUATIONS:,} evaluations",
            f"{costs[n_players]:.1f} µs per evaluation, {numbers['peak_mb']:.0f} MB at the peak",
            f"limit 2000 MB; per player {growth:.2f} × that at n = 2,500",
        )


def main(n_players: int) -> None:
    game = Trivial(n_players)
    start = time.perf_counter()
    result = fs.estimate(game, fs.MonteCarlo(), budget=EVALUATIONS, seed=0)
    seconds = time.perf_counter() - start
    report(microseconds=1e6 * seconds / result.evaluations)


if __name__ == "__main__":
    main(int(sys.argv[1]))
