"""The driver's own time per evaluation: drawing, deduplication, bookkeeping, journal.

What waits for no file is measured in CPU time, which other work on the machine changes least.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import shapiq

import fairshapley as fs
from benchmarks.measure import Row, Trivial, median_seconds

N_PLAYERS = 100
EVALUATIONS = 50_000
# shapiq is slower by orders of magnitude, and its cost per evaluation does not depend on this.
PEER_EVALUATIONS = 2_000


def microseconds(
    run: Callable[[], object],
    evaluations: int,
    clock: Callable[[], float] = time.process_time,
) -> float:
    return 1e6 * median_seconds(run, 5, clock) / evaluations


def estimate(method: fs.estimators.Estimator[Any, Any], journal: Path | None = None) -> fs.Result:
    if journal is not None:
        journal.unlink(missing_ok=True)
    return fs.estimate(Trivial(N_PLAYERS), method, budget=EVALUATIONS, seed=0, journal=journal)


def peers() -> Iterator[tuple[str, float]]:
    for name in ("PermutationSamplingSV", "SVARM", "KernelSHAP"):
        approximator = getattr(shapiq, name)(n=N_PLAYERS, random_state=0)
        run = partial(approximator.approximate, PEER_EVALUATIONS, Trivial(N_PLAYERS))
        yield f"shapiq {metadata.version('shapiq')} {name}", microseconds(run, PEER_EVALUATIONS)


def rows() -> Iterator[Row]:
    plain = microseconds(lambda: estimate(fs.MonteCarlo()), EVALUATIONS)
    for method in METHODS:
        cost = microseconds(partial(estimate, method), EVALUATIONS)
        yield Row(f"driver, n = 100: {method}", f"{cost:.2f} µs per evaluation", "limit 5 µs")
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "run.db"
        cost = microseconds(
            lambda: estimate(fs.MonteCarlo(), journal), EVALUATIONS, time.perf_counter
        )
        size = journal.stat().st_size / EVALUATIONS
        yield Row("MonteCarlo() with the journal", f"{cost:.2f} µs per evaluation", "limit 15 µs")
        yield Row("size of the journal", f"{size:.0f} bytes per evaluation", "13 are the bits")
        again = microseconds(
            lambda: fs.estimate(
                Trivial(N_PLAYERS), fs.MonteCarlo(), budget=EVALUATIONS, seed=0, journal=journal
            ),
            EVALUATIONS,
            time.perf_counter,
        )
        yield Row("replay from the journal", f"{again:.2f} µs per evaluation", "")
    for name, cost in peers():
        yield Row(name, f"{cost:.0f} µs per evaluation", f"{cost / plain:.0f} × MonteCarlo()")


METHODS: list[fs.estimators.Estimator[Any, Any]] = [
    fs.RegressionAdjusted(),
    fs.MonteCarlo(),
    fs.MonteCarlo(antithetic=True),
    fs.MonteCarlo(walk=False),
    fs.Stratified(),
    fs.Owen(),
    fs.Owen(antithetic=True),
    fs.Sobol(),
    fs.Orthogonal(),
    fs.UnbiasedKernelSHAP(),
    fs.UnbiasedKernelSHAP(paired=False),
    fs.GreedyActive(),
    fs.GreedyActive(honest=True),
]
