"""From draw to result on a GPU: whole estimates through `fs.estimate` and a `DataGame`.

``python -m benchmarks.gpu.pipe --out FOLDER`` on a machine with CUDA; ``--device cpu --quick``
tries the script elsewhere. Times are of the second run and later ones in a process: the first
compiles the kernels. ``--only NAME …`` chooses parts.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from benchmarks.gpu.__main__ import game, points

Line = dict[str, Any]


def timed(run: Callable[[], fs.Result]) -> tuple[float, fs.Result]:
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


def repeated(
    subject: fs.games.DataGame, method: str, evaluations: int, runs: int, warm: int = 50_000
) -> Line:
    """Return the median of some runs with their own seeds, and how far apart their values are."""
    found = []
    for seed in range(runs + 1):
        budget = min(warm, evaluations) if seed == 0 else evaluations
        found.append(
            timed(
                lambda s=seed, b=budget: fs.estimate(  # type: ignore[misc]
                    subject, method, budget=b, seed=s, progress=False
                )
            )
        )
    times = [taken for taken, _ in found[1:]]
    results = [result for _, result in found[1:]]
    one, other = results[0], results[-1]
    z = (one.values - other.values) / np.hypot(one.standard_errors, other.standard_errors)
    return {
        "what": f"{method}, n = {subject.n_players}",
        "evaluations": one.evaluations,
        "rounds": one.run.rounds,
        "seconds": float(np.median(times)),
        "range": [min(times), max(times)],
        "standard error": float(np.median(one.standard_errors)),
        "sd of z between two runs": float(z.std()),
        "device": one.run.configuration.get("device"),
    }


def planted(
    n_players: int, device: str, flips: int, metric: str = "log_likelihood", base: int = 10
) -> tuple[fs.games.DataGame, NDArray[Any]]:
    """Rows of 32 features of which some have the other label; `base` rows are always there."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(n_players + base + 500, 31))
    direction = rng.normal(size=31)
    y = (x @ direction + rng.normal(size=len(x)) > 0).astype(np.int64)
    flipped = rng.permutation(n_players)[:flips]
    y[flipped] = 1 - y[flipped]
    rows, always, rest = np.split(np.arange(len(x)), [n_players, n_players + base])
    model = LogisticRegression(C=0.05)
    options: Any = {"device": device, "dtype": "float32"}
    subject = fs.games.DataGame(
        model,
        (x[rows], y[rows]),
        (x[rest], y[rest]),
        metric,
        base=(x[always], y[always]),
        **options,
    )
    return subject, flipped


def decided(
    n_players: int, device: str, budget: int, *, truth: int, base: int = 10, shares: float = 1.0
) -> Iterator[Line]:
    """Yield the worst and the best 5 %: who they are, as far as the budget decides it."""
    subject, flipped = planted(n_players, device, n_players // 20, base=base)
    fs.estimate(subject, "adjusted", budget=20_000, seed=9, progress=False)
    some = n_players // 20
    rule = fs.Decided(bottom=some) & fs.Decided(top=some)
    ends = subject(np.array([[False] * n_players, [True] * n_players]))
    # Values closer than an equal share, or a multiple of it, are ties.
    xi = shares * float(abs(ends[1] - ends[0])) / n_players
    taken, run = timed(
        lambda: fs.estimate(
            subject, "adjusted", until=rule, budget=budget, seed=1, progress=False, xi=xi
        )
    )
    order = np.argsort(run.values)
    worst, best = order[:some], order[-some:]
    line = {
        "what": f"worst and best 5 % of {n_players:,} points",
        "rows always there": base,
        "ties within, in equal shares": shares,
        "evaluations": run.evaluations,
        "seconds": taken,
        "stopped": run.stopped[:160],
        "precision of the worst against flips": float(np.isin(worst, flipped).mean()),
        "signs settled at 1.96": float((np.abs(run.values) > 1.96 * run.standard_errors).mean()),
        "standard error": float(np.median(run.standard_errors)),
        "spread of the values": float(run.values.std()),
    }
    if truth:
        taken, long = timed(
            lambda: fs.estimate(subject, "adjusted", budget=truth, seed=2, progress=False)
        )
        sure = np.argsort(long.values)
        line["seconds of the truth"] = taken
        line["evaluations of the truth"] = long.evaluations
        line["worst found"] = float(np.isin(worst, sure[:some]).mean())
        line["best found"] = float(np.isin(best, sure[-some:]).mean())
        z = (run.values - long.values) / np.hypot(run.standard_errors, long.standard_errors)
        line["sd of z against the truth"] = float(z.std())
    if torch.cuda.is_available():
        line["peak memory, GiB"] = torch.cuda.max_memory_allocated() / 2**30
    yield line


def certified(device: str, epsilon1: float) -> Iterator[Line]:
    subject = game(100, 5, device=device, dtype="float32")
    fs.estimate(subject, "adjusted", budget=50_000, seed=9, progress=False)
    for seed in (1, 2, 3):
        taken, run = timed(
            lambda s=seed: fs.estimate(  # type: ignore[misc]
                subject,
                "adjusted",
                until=fs.Fair(epsilon1=epsilon1, delta=0.1),
                budget=40_000_000,
                seed=s,
                progress=False,
            )
        )
        yield {
            "what": f"certified at ε1 = {epsilon1}, n = 100",
            "evaluations": run.evaluations,
            "rounds": run.run.rounds,
            "seconds": taken,
            "stopped": run.stopped,
        }


def audited(device: str, runs: int, truth: int, epsilon1: float = 0.25) -> Iterator[Line]:
    """Certificates and intervals of many seeds, against a run of far more evaluations."""
    subject = game(100, 5, device=device, dtype="float32")
    known = fs.estimate(subject, "adjusted", budget=truth, seed=10**6, progress=False)
    xi = float(np.abs(known.values).mean())
    for method in ("adjusted",):
        issued = wrong = 0
        scores = []
        for seed in range(runs):
            run = fs.estimate(
                subject,
                method,
                until=fs.Fair(epsilon1=epsilon1, delta=0.1),
                budget=2_000_000,
                xi=xi,
                seed=seed,
                progress=False,
            )
            off = run.values - known.values
            if run.certificate(epsilon1=epsilon1, delta=0.1).holds:
                issued += 1
                wrong += bool((np.abs(off) > epsilon1 * (np.abs(known.values) + xi)).any())
            fixed = fs.estimate(subject, method, budget=40_000, seed=seed, progress=False)
            error = np.hypot(fixed.standard_errors, known.standard_errors)
            scores.append((fixed.values - known.values) / error)
        z = np.array(scores)
        yield {
            "what": f"{method}, {runs} seeds, ε1 = {epsilon1}, δ = 0.1",
            "device": run.run.configuration.get("device"),
            "issued": issued,
            "wrong": wrong,
            "sd of z": float(z.std()),
            "95 % intervals hold": float((np.abs(z) < 1.96).mean()),
            "largest mean z": float(np.abs(z.mean(axis=0)).max() * runs**0.5),
        }


def command(device: str, n_rows: int, evaluations: int) -> Iterator[Line]:
    """Yield the command line, from a file of comma-separated values."""
    x, y = points(n_rows + 100, 5)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "points.csv"
        head = ",".join([*(f"x{at}" for at in range(5)), "y"])
        np.savetxt(table, np.column_stack([x, y]), delimiter=",", header=head, comments="")
        out = Path(folder) / "values.json"
        words = ["value", str(table), "--target", "y", "--budget", str(evaluations)]
        words += ["--option", f"device={device}", "--option", "precision=single"]
        words += ["--seed", "1", "--out", str(out)]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "fairshapley", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        taken = time.perf_counter() - began
        line = {"what": "fairshapley value --option device", "seconds of the process": taken}
        if done.returncode or not out.exists():
            line["failed"] = (done.stdout + done.stderr)[-1500:]
        else:
            kept = json.loads(out.read_text(encoding="utf-8"))
            line["evaluations"], line["seconds"] = kept["evaluations"], kept["seconds"]
            line["configuration"] = kept["configuration"]
        yield line


def profile(subject: fs.games.DataGame, method: str, evaluations: int) -> str:
    """Return where the time of one run goes: on the host, and on the device."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as device_profile

    def run() -> None:
        fs.estimate(subject, method, budget=evaluations, seed=3, progress=False)

    run()
    watch = cProfile.Profile()
    watch.runcall(run)
    text = io.StringIO()
    pstats.Stats(watch, stream=text).strip_dirs().sort_stats("tottime").print_stats(28)
    kinds = [ProfilerActivity.CPU]
    key = "self_cpu_time_total"
    if torch.cuda.is_available():
        kinds.append(ProfilerActivity.CUDA)
        key = "self_cuda_time_total"
    with device_profile(activities=kinds) as seen:
        run()
    table = seen.key_averages().table(sort_by=key, row_limit=25, max_name_column_width=60)
    return f"{text.getvalue()}\n{table}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.pipe", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    device, quick = options.device, options.quick
    small = game(100, 5, device=device, dtype="float32")
    size = 1 / 40 if quick else 1

    def wide() -> Iterator[Line]:
        subject = game(100 if quick else 1000, 31, device=device, dtype="float32")
        yield repeated(subject, "adjusted", int(300_000 * max(size, 0.1)), 3)

    parts: dict[str, Callable[[], Iterator[Line]]] = {
        "adjusted": lambda: iter([repeated(small, "adjusted", int(1e6 * size), 5)]),
        "long": lambda: iter(
            [repeated(small, "adjusted", int(1e7 * size / 10 if quick else 1e7), 3)]
        ),
        "wide": wide,
        "certified": lambda: certified(device, 0.5 if quick else 0.1),
        "audited": lambda: audited(device, 20 if quick else 300, int(1e8 * size**2)),
        "two": lambda: decided(
            100 if quick else 2000,
            device,
            25_000 if quick else 20_000_000,
            truth=50_000 if quick else 40_000_000,
        ),
        "ten": lambda: decided(
            200 if quick else 10_000,
            device,
            25_000 if quick else 4_000_000,
            truth=50_000 if quick else 40_000_000,
            base=500,
            shares=8.0,
        ),
        "bare": lambda: decided(
            200 if quick else 10_000, device, 25_000 if quick else 4_000_000, truth=0, shares=8.0
        ),
        "command": lambda: command(device, 100, int(1e6 * size)),
    }
    profiles: dict[str, Callable[[], str]] = {
        "profile-adjusted": lambda: profile(small, "adjusted", int(1e6 * size)),
        "profile-wide": lambda: profile(
            game(100 if quick else 1000, 31, device=device, dtype="float32"),
            "adjusted",
            int(300_000 * max(size, 0.1)),
        ),
        "profile-ten": lambda: profile(
            planted(200 if quick else 10_000, device, 10)[0],
            "adjusted",
            20_000 if quick else 200_000,
        ),
    }
    chosen = options.only if options.only is not None else [*parts]
    for name in chosen:
        if name in parts:
            for line in parts[name]():
                print(json.dumps({"part": name, **line}, ensure_ascii=False), flush=True)
        else:
            text = profiles[name]()
            if options.out is None:
                print(text)
            else:
                (options.out / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
