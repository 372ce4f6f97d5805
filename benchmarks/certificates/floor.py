"""What a certificate could cost at the least: where the estimates themselves are good enough.

At each budget some runs are truly within ε1·(|φ| + ξ) for every player. Where that share is below
1 − δ, a rule that certifies every run would be wrong more often than δ, however well it knows the
size of the errors: to cost less, the estimates have to be better, not the bounds. (ε1, δ) = (0.5,
0.1), ξ = mean |φ|, four games of each table and five seeds; *certified* is the median cost of
RESULTS.md, for the method adjusted.

``python -m benchmarks.certificates.floor`` writes FLOOR.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fairshapley as fs
from benchmarks.certificates.__main__ import DELTA, EPSILON1, RUNS, cost, kept, tables

BUDGETS = (3.2, 6, 10, 15, 20, 30, 40)
METHODS = ("adjusted", "auto")
GAMES, SEEDS = 4, 5


def fair_runs(table: NDArray[np.float64], method: str, per_player: float) -> list[bool]:
    """Whether each run is truly within its tolerances; none where all coalitions would be known."""
    game = fs.games.TableGame(table)
    phi = fs.exact(game).values
    xi, budget = float(np.abs(phi).mean()), round(per_player * len(phi))
    if budget > len(table) // 2:
        return []
    runs = (
        fs.estimate(game, method, budget=budget, xi=xi, seed=seed, progress=False)
        for seed in range(SEEDS)
    )
    return [bool(fs.fairness.within_tolerance(one.values, phi, EPSILON1, xi).all()) for one in runs]


def rows() -> Iterator[str]:
    """A line for each family and method."""
    families: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for family, _, table in tables():
        families[family].append(table)
    certified = defaultdict(list)
    for (family, *_), run in kept(RUNS).items():
        certified[family].append(run)
    for family, games in families.items():
        for method in METHODS:
            shares = []
            for budget in BUDGETS:
                runs = [fair for game in games[:GAMES] for fair in fair_runs(game, method, budget)]
                shares.append(float(np.mean(runs)) if runs else np.nan)
            enough = (
                budget for budget, share in zip(BUDGETS, shares, strict=True) if share >= 1 - DELTA
            )
            cells = [f"{share:.2f}" if share == share else "" for share in shares]
            paid = cost(certified[family], 0.5) if method == "adjusted" else ""
            yield " | ".join(
                (f"| {family}", method, *cells, str(next(enough, f"> {BUDGETS[-1]}")), f"{paid} |")
            )


def main() -> None:
    """Print the table line by line, and write it."""
    names = ["family", "method", *map(str, BUDGETS), f"{1 - DELTA:.0%} from", "certified"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for line in rows():
        print(line, flush=True)
        lines.append(line)
    head = "# What a certificate could cost at the least\n\n" + (__doc__ or "").partition("\n\n")[2]
    text = f"{head}\n" + "\n".join(lines) + "\n"
    Path(__file__).with_name("FLOOR.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
