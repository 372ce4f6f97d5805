"""Seconds and evaluations until (ε1 = 0.5, ξ = 1e−3, δ = 0.1) is truly reached.

Truly: A0 fails jointly in at most δ of the repeats, against a truth that is known ten times
better. The game is the paper's symmetry study: logistic regression, 50 Gaussian points, each twice.

``python -m benchmarks.time_to_fairness --write``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

import fairshapley as fs
from benchmarks.efficiency.cases import CASES, gaussian_points
from benchmarks.efficiency.truths import truth_of
from benchmarks.peers.environment import HERE, PYDVL
from fairshapley.games import Game

Floats = NDArray[np.float64]
EPSILON1, XI, DELTA = 0.5, 1e-3, 0.1
RESULTS = Path(__file__).with_name("RESULTS.md")


@dataclass(frozen=True)
class Reached:
    """What it took, and in how many of the repeats A0 failed."""

    evaluations: int
    seconds: float
    failures: int
    repeats: int


def tolerance(phi: Floats) -> Floats:
    """ε1·(|φ_i| + ξ), the error that A0 allows."""
    return EPSILON1 * (np.abs(phi) + XI)


def needed(phi: Floats, variances: Floats) -> float:
    """Return the contributions at which normal errors fail A0 jointly with the probability δ.

    The players' errors are taken as independent, which is near the truth and favours nobody: it
    is used for the starting point of ours and for the extrapolation of pyDVL alike.
    """
    scales = tolerance(phi) / np.sqrt(np.maximum(variances, 1e-300))

    def excess(log_count: float) -> float:
        tails = 2 * norm.sf(scales * np.exp(log_count / 2))
        return float(-np.expm1(np.log1p(-np.minimum(tails, 1 - 1e-12)).sum())) - DELTA

    return float(np.exp(brentq(excess, 0.0, 40.0)))


def ours(game: Game, phi: Floats, repeats: int, *, pool: bool) -> Reached:
    """Return the fewest evaluations, on a grid of steps of a tenth, that pass."""
    method = fs.RegressionAdjusted(pool=pool)
    pilot = fs.estimate(game, method, budget=60 * game.n_players, xi=XI, seed=1, progress=False)
    pairs = needed(phi, np.square(pilot.standard_errors) * pilot.counts)
    evaluations = int(0.7 * pairs / pilot.counts.mean() * pilot.evaluations)
    while True:
        failures, seconds = 0, []
        for seed in range(repeats):
            began = time.perf_counter()
            run = fs.estimate(
                game, method, budget=evaluations, xi=XI, seed=10_000 + seed, progress=False
            )
            seconds.append(time.perf_counter() - began)
            failures += bool((np.abs(run.values - phi) > tolerance(phi)).any())
            if failures > DELTA * repeats:
                break
        print(f"  {evaluations} evaluations: {failures} failures in {seed + 1}", flush=True)
        if failures <= DELTA * repeats:
            return Reached(evaluations, float(np.median(seconds)), failures, repeats)
        evaluations = int(1.1 * evaluations)


def certified(game: Game, repeats: int, phi: Floats) -> Reached:
    """With the certificate as the stopping rule: what a user who knows no truth has to spend."""
    until = fs.Fair(epsilon1=EPSILON1, delta=DELTA, xi=XI)
    spent, seconds, failures = [], [], 0
    for seed in range(repeats):
        began = time.perf_counter()
        run = fs.estimate(
            game, "adjusted", budget=4_000_000, until=until, xi=XI, seed=seed, progress=False
        )
        seconds.append(time.perf_counter() - began)
        spent.append(run.evaluations)
        failures += bool((np.abs(run.values - phi) > tolerance(phi)).any())
    return Reached(int(np.median(spent)), float(np.median(seconds)), failures, repeats)


def pydvl(phi: Floats, permutations: int) -> tuple[Reached, float, int]:
    """pyDVL's permutations: rate and variance measured, the rest extrapolated."""
    train, test, base = gaussian_points()
    parts = {"train": train, "test": test, "base": base}
    task: dict[str, Any] = {
        name: {"x": x.tolist(), "y": y.tolist()} for name, (x, y) in parts.items()
    }
    empty = 0.5
    task |= {"c": 0.05, "permutations": permutations, "seed": 0, "empty": empty}
    finished = subprocess.run(
        [str(PYDVL.python()), "-W", "ignore", str(HERE / "pydvl_rate.py")],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(finished.stdout.strip().splitlines()[-1])
    rate = answer["seconds"] / answer["evaluations"]
    # pyDVL reports the variance of the marginal contributions of each player.
    count = needed(phi, np.array(answer["variances"]))
    per_permutation = answer["evaluations"] / answer["permutations"]
    evaluations = int(count * per_permutation)
    return Reached(evaluations, evaluations * rate, 0, 0), rate, answer["evaluations"]


def render(
    own: Reached, apart: Reached, stopped: Reached, theirs: Reached, rate: float, measured: int
) -> str:
    versions = f"fairshapley {fs.__version__}, pyDVL 0.10.0, scikit-learn {version('scikit-learn')}"
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    rows = [
        (
            "adjusted, batched fits; equal points share their value",
            f"{own.evaluations:,}",
            f"{own.seconds:.2f}",
            "1",
            f"A0 failed in {own.failures} of {own.repeats} repeats",
        ),
        (
            "the same, equal points not pooled (`pool=False`)",
            f"{apart.evaluations:,}",
            f"{apart.seconds:.2f}",
            f"{apart.seconds / own.seconds:.1f}",
            f"A0 failed in {apart.failures} of {apart.repeats} repeats",
        ),
        (
            "adjusted, stopped by its own certificate (`fs.Fair`)",
            f"{stopped.evaluations:,} (median)",
            f"{stopped.seconds:.2f}",
            f"{stopped.seconds / own.seconds:.1f}",
            f"A0 failed in {stopped.failures} of {stopped.repeats} repeats",
        ),
        (
            "pyDVL permutations, scikit-learn",
            f"{theirs.evaluations:,}",
            f"{theirs.seconds:,.0f}",
            f"**{theirs.seconds / own.seconds:,.0f}**",
            f"extrapolated from {rate * 1e3:.2f} ms per evaluation and the variance of the "
            f"marginal contributions, both measured on {measured:,} evaluations in the same run",
        ),
    ]
    each = rate / (own.seconds / own.evaluations)
    return f"""# Time to fairness

Until (ε1 = {EPSILON1}, ξ = {XI:g}, δ = {DELTA}) is truly reached: A0 fails jointly in at most δ of
the repeats. {CASES["logistic-gaussian"].title}.
`python -m benchmarks.time_to_fairness --write` — {versions}, {machine}, one process each.

| method | evaluations | seconds | times `adjusted` | |
|---|---|---|---|---|
{chr(10).join("| " + " | ".join(row) + " |" for row in rows)}

pyDVL spends {theirs.evaluations / own.evaluations:.1f} times the evaluations, at {each:,.0f} times
the seconds each.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_to_fairness")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--certified", type=int, default=20, help="repeats with the stopping rule")
    parser.add_argument("--permutations", type=int, default=100, help="of pyDVL, to measure it")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    case = CASES["logistic-gaussian"]
    game = case.make()
    phi = truth_of(case, game).values
    theirs, rate, measured = pydvl(phi, options.permutations)
    own = ours(game, phi, options.repeats, pool=True)
    apart = ours(game, phi, options.repeats, pool=False)
    stopped = certified(game, options.certified, phi)
    text = render(own, apart, stopped, theirs, rate, measured)
    print(text)
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
