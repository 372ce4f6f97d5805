"""Engines: two workers against one, the overhead per evaluation, the journal under load."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fairshapley as fs
from benchmarks.measure import Row, Trivial, in_process, report
from fairshapley.evaluation.dispatch import Pace
from fairshapley.evaluation.engines import DaskEngine, Engine, ProcessEngine, RayEngine

UTILITY_SECONDS = 5e-3
N_PLAYERS = 9
REPEATS = 5
CHUNK = 100
JOURNAL_ROWS = 1_000_000


class Busy:
    """Spend some 5 ms of a core: a fixed number of steps, whatever else the machine does."""

    def __init__(self, n_players: int, steps: int) -> None:
        self.n_players = n_players
        self.steps = steps

    def __call__(self, coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        for _ in range(len(coalitions)):
            spin(self.steps)
        sizes: NDArray[np.float64] = coalitions.sum(axis=1).astype(np.float64)
        return sizes


def spin(steps: int) -> int:
    total = 0
    for step in range(steps):
        total ^= step
    return total


def steps_for(seconds: float) -> int:
    """Return the steps that take so long on an idle core: the fastest of some trials."""
    trial = 100_000
    times = []
    for _ in range(20):
        start = time.perf_counter()
        spin(trial)
        times.append(time.perf_counter() - start)
    return int(trial * seconds / min(times))


def interleaved(runs: Mapping[int, Callable[[], object]]) -> dict[int, list[float]]:
    """Return the seconds of each, measured in turns, so that a busy minute is shared."""
    times: dict[int, list[float]] = {name: [] for name in runs}
    for _ in range(REPEATS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


@contextmanager
def dask_client(workers: int) -> Iterator[Any]:
    import dask.config
    import distributed

    module: Any = distributed
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        # Its samples of the workers' stacks take 1 to 2 % of every core.
        dask.config.set({"distributed.worker.profile.enabled": False}),
        module.LocalCluster(n_workers=workers, **options) as cluster,
        module.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def ray_engine(stack: ExitStack, workers: int) -> RayEngine:
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, logging_level=40, log_to_driver=False)
    stack.callback(ray.shutdown)
    return RayEngine(chunk_size=CHUNK)


def throughput(name: str, engines: Mapping[int, Engine], goal: str) -> Row:
    game = Busy(N_PLAYERS, steps_for(UTILITY_SECONDS))

    def run(workers: int) -> None:
        fs.estimate(game, "exact", engine=engines[workers])

    for workers in engines:
        run(workers)  # workers start, and load the game
    with Busyness() as busyness:
        times = interleaved({workers: partial(run, workers) for workers in engines})
    one, two = statistics.median(times[1]), statistics.median(times[2])
    share = busyness.seconds / (sum(times[1]) + 2 * sum(times[2]))
    each = 1e3 * one / (1 << N_PLAYERS)
    return Row(
        f"{name}: 2 workers against 1, a utility of 5 ms ({each:.1f} ms with one worker)",
        f"{one / two:.2f} × the throughput; workers compute {share:.0%} of the time",
        goal,
    )


class Busyness:
    """Sums the time that workers spend in the game, which a busy machine does not blur."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Busyness:
        self._observe = Pace.observe
        keep = self

        def observe(pace: Pace, count: int, seconds: float) -> None:
            keep.seconds += seconds
            keep._observe(pace, count, seconds)

        setattr(Pace, "observe", observe)  # noqa: B010 (a method, as mypy sees it)
        return self

    def __exit__(self, *exception: object) -> None:
        setattr(Pace, "observe", self._observe)  # noqa: B010


def overhead(name: str, engine: Engine) -> Row:
    game = Trivial(14)
    fs.estimate(game, "exact", engine=engine)  # workers start, and load the game
    driver = time.process_time()
    times = interleaved({2: lambda: fs.estimate(game, "exact", engine=engine)})[2]
    cost = 1e6 * statistics.median(times) / (1 << 14)
    driver = 1e6 * (time.process_time() - driver) / REPEATS / (1 << 14)
    return Row(
        f"{name}: a utility that costs nothing, chunks of {CHUNK}",
        f"{cost:.1f} µs per evaluation, {driver:.1f} µs of them on the driver's core",
        "limit 50 µs",
    )


def rows() -> Iterator[Row]:
    with ProcessEngine(1) as one, ProcessEngine(2) as two:
        yield throughput("processes", {1: one, 2: two}, "at least 1.8 ×")
    with dask_client(1) as one_client, dask_client(2) as two_client:
        engines = {1: DaskEngine(one_client), 2: DaskEngine(two_client)}
        yield throughput("Dask, its profiler off", engines, "at least 1.7 ×")
    with dask_client(2) as client:
        yield overhead("Dask, 2 workers", DaskEngine(client, chunk_size=CHUNK))
    with ProcessEngine(2, chunk_size=CHUNK) as pool:
        yield overhead("2 processes", pool)
    with ExitStack() as stack:
        yield overhead("Ray, 2 workers", ray_engine(stack, 2))
    yield from journal()


def journal() -> Iterator[Row]:
    """The journal of a run of a million evaluations, in processes of their own for their memory."""
    small = in_process("benchmarks.engines", str(JOURNAL_ROWS // 10))
    large = in_process("benchmarks.engines", str(JOURNAL_ROWS))
    what = f"journal, {JOURNAL_ROWS:,} evaluations at n = 100"
    yield Row(f"{what}: writing", f"{large['rate']:,.0f} rows/s", "at least 100,000 rows/s")
    yield Row(f"{what}: file", f"{large['bytes']:.0f} bytes per row", "limit 60 bytes")
    yield Row(
        f"{what}: memory of the run",
        f"{large['peak_mb']:.0f} MB",
        f"{small['peak_mb']:.0f} MB at a tenth of them; the cache may take 512 MB",
    )


def journal_run(evaluations: int) -> None:
    """A run with a journal; what the journal took of it."""
    spent = 0.0
    append = fs.Journal.append

    def timed(self: fs.Journal, *arguments: Any) -> None:
        nonlocal spent
        start = time.perf_counter()
        append(self, *arguments)
        spent += time.perf_counter() - start

    setattr(fs.Journal, "append", timed)  # noqa: B010 (a method, as mypy sees it)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        result = fs.estimate(Trivial(100), "mc", budget=evaluations, seed=0, journal=path)
        size = path.stat().st_size
    report(rate=result.run.computed / spent, bytes=size / result.run.computed)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        journal_run(int(sys.argv[1]))
    else:
        for row in rows():
            print(f"| {row.what} | {row.measured} | {row.against} |", flush=True)
