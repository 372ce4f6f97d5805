"""Utilities that wait: calls of 50 ms in threads, on Dask and Ray.

``python -m benchmarks.noise.waiting`` measures it. Seconds are of the whole run, the driver's
core beside them: on a busy machine the first grow.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import fairshapley as fs

CALLS, SECONDS, REPEATS, N_PLAYERS = 600, 0.05, 3, 12
ROUNDS = 8  # calls for each place in a round: the way to a cluster is then hidden


def _utility(coalition: tuple[int, ...]) -> float:
    return float(np.sqrt(sum(1.0 + player for player in coalition)))


def waits(coalition: tuple[int, ...]) -> float:
    """Return a service that answers after 50 ms."""
    time.sleep(SECONDS)
    return _utility(coalition)


async def waits_async(coalition: tuple[int, ...]) -> float:
    """Return the same from an ``async def``."""
    await asyncio.sleep(SECONDS)
    return _utility(coalition)


@contextmanager
def dask_engine(workers: int, threads: int) -> Iterator[fs.DaskEngine]:
    """Yield a local cluster, whose threads are all kept busy."""
    import distributed

    module: Any = distributed
    options = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        module.LocalCluster(n_workers=workers, threads_per_worker=threads, **options) as cluster,
        module.Client(cluster, set_as_default=False) as client,
    ):
        yield fs.DaskEngine(client, chunk_size=1, in_flight=ROUNDS * workers * threads)


@contextmanager
def ray_engine(places: int) -> Iterator[fs.RayEngine]:
    """Yield the given number of places on two CPUs."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level=40, log_to_driver=False)
    try:
        yield fs.RayEngine(cpus=2 / places, chunk_size=1, in_flight=ROUNDS * places)
    finally:
        ray.shutdown()


def measured(method: str, function: Callable[..., Any], engine: Any) -> str:
    """Return the fastest of some runs, in a row of the table."""
    game = fs.games.FunctionGame(function, N_PLAYERS, key="waits")
    fs.estimate(game, method, budget=100, seed=1, engine=engine, progress=False)  # workers start
    runs = []
    for seed in range(REPEATS):
        wall, core = time.perf_counter(), time.process_time()
        result = fs.estimate(
            game, method, budget=CALLS, seed=seed, engine=engine, progress=False, verify=0
        )
        runs.append((time.perf_counter() - wall, time.process_time() - core, result.evaluations))
    seconds, core, calls = min(runs)
    return f"| {calls} | {seconds:.2f} s | {calls * SECONDS / seconds:.1f} × | {core:.2f} s |"


def main() -> None:
    """One row after the other."""
    print("| engine | method | calls | seconds | one at a time | driver's core |")
    print("|---|---|---|---|---|---|")
    for method in ("mc", "kernel", "adjusted", "auto"):
        row = measured(method, waits, "threads:32")
        print(f"| `threads:32` | `{method}` {row}", flush=True)
    row = measured("auto", waits_async, "threads:32")
    print(f"| `threads:32`, async | `auto` {row}", flush=True)
    with dask_engine(2, 4) as dask:
        print(f"| Dask, 2 × 4 threads | `mc` {measured('mc', waits, dask)}", flush=True)
    with ray_engine(8) as ray:
        print(f"| Ray, 8 places | `mc` {measured('mc', waits, ray)}", flush=True)


if __name__ == "__main__":
    main()
