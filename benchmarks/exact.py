"""Exact values of 20 players: a million coalitions."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import fairshapley as fs
from benchmarks.measure import Row, in_process, report
from benchmarks.referee.voting import WeightedVoting


def rows() -> Iterator[Row]:
    numbers = in_process("benchmarks.exact")
    yield Row(
        "exact, n = 20 (1,048,576 evaluations, voting game)",
        f"{numbers['seconds']:.1f} s, {numbers['peak_mb']:.0f} MB at the peak",
        "limit 10 s, 1000 MB",
    )


def main() -> None:
    game = WeightedVoting(np.arange(1, 21), quota=106)
    start = time.perf_counter()
    result = fs.exact(game)
    seconds = time.perf_counter() - start
    np.testing.assert_allclose(result.values, game.shapley_values, atol=1e-12)
    report(seconds=seconds)


if __name__ == "__main__":
    main()
