"""Forecasts of what a certificate takes, against what it took.

The aim is ``fs.Fair(epsilon1=0.5, delta=0.1)`` with ξ = mean |φ| on the tables of
``$FAIRSHAPLEY_DATA/games``; the pilot has 10 evaluations per player. Runs that are certified within
the pilot need no forecast and are counted apart; those that would take more than 200 per player, or
half of all coalitions, are left out.

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
PILOT, MOST = 10, 200
CLOSE = 1.5


def ratios(games: int, seeds: int) -> dict[str, list[float]]:
    """Predicted over actual evaluations; 0 where the pilot was enough."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
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
                if run.evaluations <= PILOT * len(phi) + 2:
                    found[name].append(0.0)
                    continue
                planned = fs.forecast(game, name, pilot=True, seed=seed, **given)
                if planned.needed is not None:
                    found[name].append(planned.needed / run.evaluations)
    return found


def report(found: dict[str, list[float]]) -> str:
    """The table, in Markdown."""
    lines = ["| method | runs | within the pilot | forecast | within 1.5 × | 10 % to 90 % |"]
    lines.append("|---" * 6 + "|")
    for name, some in found.items():
        made = np.array([one for one in some if one > 0])
        if not len(made):
            continue
        near = np.mean((made <= CLOSE) & (made >= 1 / CLOSE))
        low, high = np.quantile(made, [0.1, 0.9])
        lines.append(
            f"| {name} | {len(some)} | {len(some) - len(made)} | {len(made)} | {near:.0%} "
            f"| {low:.2f} to {high:.2f} |"
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
