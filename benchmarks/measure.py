"""Measuring: medians of repeated runs, and runs in a process of their own for peak memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Row:
    """One line of the results: what was measured, how much it was, and what to compare it with."""

    what: str
    measured: str
    against: str


class Trivial:
    """A vectorised game that costs next to nothing: what is left is the driver's."""

    fingerprint = "trivial"

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players

    def __call__(self, coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.atleast_2d(coalitions)[:, 0].astype(np.float64)


def median_seconds(
    run: Callable[[], object], repeats: int = 3, clock: Callable[[], float] = time.perf_counter
) -> float:
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return statistics.median(times)


def in_process(module: str, *arguments: str) -> dict[str, float]:
    """Run a module that ends with `report`, and read what it reports."""
    command = [sys.executable, "-m", module, *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    numbers: dict[str, float] = json.loads(finished.stdout)
    return numbers


def report(**numbers: float) -> None:
    """Print numbers and this process's peak memory in MB, for `in_process`."""
    # Not getrusage: on Linux its peak includes that of the process that started this one.
    status = Path("/proc/self/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps({**numbers, "peak_mb": int(peak) / 1e3}))
