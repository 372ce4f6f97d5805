"""Forecasts of what a certificate takes, against what it took.

The aim is ``fs.Fair(epsilon1=0.5, delta=0.1)`` with ξ = mean |φ| on the tables of
``$FAIRSHAPLEY_DATA/games``; the pilot has 10 evaluations per player and ends where the aim is
reached, so that a forecast is then right. Runs beyond the pilot are counted apart too. Those that
would take more than 200 per player, or half of all coalitions, are left out.

``python -m benchmarks.certificates.forecasts --games 2 --seeds 1`` writes FORECASTS.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import fairshapley as fs
from benchmarks.certificates.__main__ import DELTA, EPSILON1, tables

HERE = Path(__file__).parent
METHODS = ("adjusted", "kernel", "mc")
MOST = 200
CLOSE = 1.5


def ratios(games: int, seeds: int) -> dict[str, list[tuple[float, bool]]]:
    """Predicted over actual evaluations, and whether the pilot was enough."""
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in METHODS}
    fair = fs.Fair(epsilon1=EPSILON1, delta=DELTA)
    for _, number, table in tables():
        if number >= games:
            continue
        game = fs.games.TableGame(table)
        phi = fs.exact(game).values
        most = min(MOST * len(phi), len(table) // 2)
        given: dict[str, Any] = {"until": fair, "xi": float(np.abs(phi).mean()), "budget": most}
        for name in METHODS:
            for seed in range(seeds):
                run = fs.estimate(game, name, seed=seed, progress=False, **given)
                if not run.certificate(EPSILON1, DELTA).holds or run.exact:
                    continue
                planned = fs.forecast(game, name, pilot=True, seed=seed, **given)
                if planned.needed is not None:
                    ratio = planned.needed / run.evaluations
                    found[name].append((ratio, planned.pilot >= run.evaluations))
    return found


def report(found: dict[str, list[tuple[float, bool]]]) -> str:
    """The table, in Markdown."""
    lines = ["| method | runs | within 1.5 × | beyond the pilot | within 1.5 × | 10 % to 90 % |"]
    lines.append("|---" * 6 + "|")
    for name, some in found.items():
        made = np.array([ratio for ratio, _ in some])
        later = np.array([not enough for _, enough in some])
        near = (made <= CLOSE) & (made >= 1 / CLOSE)
        low, high = np.quantile(made[later], [0.1, 0.9])
        lines.append(
            f"| {name} | {len(some)} | {near.mean():.0%} | {int(later.sum())} "
            f"| {near[later].mean():.0%} | {low:.2f} to {high:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=2, help="games of each family")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    text = f"# Forecasts of certificates\n\n{__doc__}\n{report(ratios(given.games, given.seeds))}\n"
    (HERE / "FORECASTS.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
