"""Random utilities: exact tables of games plus noise, as ``python -m benchmarks.noise``.

How often intervals hold the value of the expected utility, how large errors are against an
oracle's, and how often certificates are wrong. The oracle is the same method on a game that is
not random: it is told of each coalition the mean of r draws, with the r of 1, 2, 4 that turns out
best for this game and noise; r draws cost r evaluations.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

import fairshapley as fs

Floats = NDArray[np.float64]

NOISES = (0.1, 0.3, 1.0)
"""In standard deviations of the utilities of a game"""
METHODS = {"adjusted": 60, "mc": 60, "kernel": 60, "auto": 10}
"""Evaluations per player; "auto" reads them from a model while there are so few"""
SPLITS = (1, 2, 4)
EPSILON1, DELTA = 0.5, 0.1
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class NoisyTable:
    """A table of utilities plus normal noise of a given deviation.

    Parameters
    ----------
    values
        All utilities, the index a bit mask.
    deviation
        Of the noise.
    fixed
        A seed of noise that stays the same for each coalition: then the game is not random.
    """

    def __init__(self, values: Floats, deviation: float, fixed: int | None = None) -> None:
        self.values, self.deviation, self.fixed = values, deviation, fixed
        self.n_players = values.size.bit_length() - 1
        self.random = fixed is None
        self.fingerprint = f"noisy table {deviation} {fixed}"

    def draw(self, coalitions: NDArray[np.bool_], seeds: NDArray[np.int64]) -> Floats:
        """Return the utilities, each with the noise of its seed."""
        index = coalitions @ (1 << np.arange(self.n_players))
        words = (index.astype(np.uint64) << np.uint64(32)) + seeds.astype(np.uint64)
        for shift in (30, 27, 31):
            words = (words ^ (words >> np.uint64(shift))) * GOLDEN
        shares = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53
        noisy: Floats = self.values[index] + self.deviation * ndtri(shares)
        return noisy

    def __call__(self, coalitions: NDArray[np.bool_]) -> Floats:
        return self.draw(coalitions, np.full(len(coalitions), self.fixed or 0))


TABLES = (
    "adult-census-dataset-valuation-10",
    "adult-census-feature-selection-14",
    "bike-sharing-feature-selection-12",
    "image-classifier-14",
)


def tables(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield the first game of each of some files."""
    for name in names:
        yield name, np.load(folder / f"{name}.npz")["utilities"][0].astype(np.float64)


def covered(run: fs.Result, truth: Floats, level: float = 0.95) -> NDArray[np.bool_]:
    """Return whether each value lies within its interval."""
    factor = stdtrit(np.maximum(run.counts - 1, 1), 0.5 + level / 2)
    inside: NDArray[np.bool_] = np.abs(run.values - truth) <= factor * run.standard_errors
    return inside


def oracle(values: Floats, truth: Floats, method: str, deviation: float, seeds: range) -> float:
    """Return the mean squared error of the best split between draws and coalitions."""
    n_players = values.size.bit_length() - 1
    errors = []
    for draws in SPLITS:
        budget = METHODS[method] * n_players // draws
        found = []
        for seed in seeds:
            game = NoisyTable(values, deviation / draws**0.5, fixed=seed + 1)
            try:
                run = fs.estimate(game, method, budget=budget, seed=seed)
            except fs.errors.BudgetError:
                break
            found.append(np.mean(np.square(run.values - truth)))
        else:
            errors.append(float(np.mean(found)))
    return min(errors)


def accuracy(
    folder: Path, names: Sequence[str], methods: Sequence[str], repeats: int, oracle_repeats: int
) -> list[str]:
    """Return a row for each method and noise: coverage, and errors against the oracle's."""
    cells: dict[tuple[str, float], list[tuple[float, float]]] = defaultdict(list)
    for place, (name, values) in enumerate(tables(folder, names)):
        truth = fs.exact(fs.games.TableGame(values)).values
        for step, noise in enumerate(NOISES):
            deviation = noise * float(values.std())
            first = 10_000 * (len(NOISES) * place + step)
            for method in methods:
                game = NoisyTable(values, deviation)
                budget = METHODS[method] * game.n_players
                runs = [
                    fs.estimate(game, method, budget=budget, seed=first + seed)
                    for seed in range(repeats)
                ]
                share = float(np.mean([covered(run, truth) for run in runs]))
                error = float(np.mean([np.square(run.values - truth) for run in runs]))
                seeds = range(first, first + oracle_repeats)
                ratio = error / oracle(values, truth, method, deviation, seeds)
                cells[method, noise].append((share, ratio))
                print(f"{name} {noise:g} {method}: {share:.3f} {ratio:.2f}", flush=True)
    lines = [
        "| method | evaluations per player | noise | coverage at 0.95 | MSE over the oracle's |",
        "|---|---|---|---|---|",
    ]
    for (method, noise), rows in sorted(cells.items()):
        share = float(np.mean([row[0] for row in rows]))
        ratio = float(np.exp(np.mean(np.log([row[1] for row in rows]))))
        lines.append(f"| `{method}` | {METHODS[method]} | {noise:g} | {share:.3f} | {ratio:.2f} |")
    return lines


def certificates(
    folder: Path, names: Sequence[str], methods: Sequence[str], repeats: int
) -> list[str]:
    """Return how often a certificate is wrong, of all that were issued."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for place, (_, values) in enumerate(tables(folder, names)):
        truth = fs.exact(fs.games.TableGame(values)).values
        xi = float(np.abs(truth).mean())
        rule = fs.Fair(epsilon1=EPSILON1, delta=DELTA, xi=xi)
        for step, noise in enumerate(NOISES):
            game = NoisyTable(values, noise * float(values.std()))
            for method in {"adjusted", "mc"}.intersection(methods):
                for seed in range(repeats):
                    run = fs.estimate(
                        game,
                        method,
                        until=rule,
                        budget=200 * game.n_players,
                        seed=50_000 + 1000 * (3 * place + step) + seed,
                    )
                    held = run.certificate(epsilon1=EPSILON1, delta=DELTA, xi=xi).holds
                    off = np.abs(run.values - truth) > EPSILON1 * (np.abs(truth) + xi)
                    for at, one in enumerate((True, held, held and bool(off.any()))):
                        counts[method][at] += bool(one)
    lines = ["| method | runs | certificates | wrong | allowed |", "|---|---|---|---|---|"]
    for method, (runs, issued, wrong) in counts.items():
        lines.append(f"| `{method}` | {runs} | {issued} | {wrong} | {DELTA * issued:.0f} |")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--methods", nargs="*", default=tuple(METHODS))
    parser.add_argument("--repeats", type=int, default=24)
    parser.add_argument("--oracle", type=int, default=6)
    parser.add_argument("--certificates", type=int, default=20)
    given = parser.parse_args()
    games = Path(os.environ["FAIRSHAPLEY_DATA"]) / "games"
    start = time.time()
    print("\n".join(accuracy(games, given.tables, given.methods, given.repeats, given.oracle)))
    print("\n".join(certificates(games, given.tables, given.methods, given.certificates)))
    print(f"{time.time() - start:.0f} s")
