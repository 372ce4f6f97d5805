"""What allowing for undrawn coalitions costs, and what it prevents, at three settings.

Method adjusted, ``until=fs.Fair(epsilon1=0.5, delta=0.1, xi=mean |φ|)``, at most 40 evaluations per
player. The games made to break certificates are those of `hard_games.GAMES` with at most 20
players; the ordinary ones are the first game of each family of ``$FAIRSHAPLEY_DATA/games``.

``python -m benchmarks.certificates.tradeoff --seeds 5`` writes TRADEOFF.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.certificates import hard
from benchmarks.certificates.__main__ import run as ordinary_run
from benchmarks.certificates.__main__ import tables
from benchmarks.certificates.hard_games import GAMES
from fairshapley.fairness import certificate, tails, unseen

HERE = Path(__file__).parent
MOST_PLAYERS = 20
# Runs on these take longest, and none is certified at any setting.
LEFT_OUT = ("global-explanation",)


def settings() -> Iterator[tuple[str, list[Any]]]:
    """A name, and what is changed."""
    rooms = tails, certificate
    plain = [mock.patch.object(room, "allowances", return_value=0.0) for room in rooms]
    yield "nothing is allowed for", plain
    yield "as shipped: a tenth of v(N) − v(∅)", []
    yield "a quarter of v(N) − v(∅)", [mock.patch.object(unseen, "SHARE_OF_TOTAL", 0.25)]


def measure(seeds: int) -> tuple[int, int, dict[str, float]]:
    """Certificates on hard games, wrong ones, and the median cost of each ordinary family."""
    stated = wrong = 0
    for make in GAMES.values():
        game = make()
        if game.n_players <= MOST_PLAYERS:
            for seed in range(seeds):
                held, false, _ = hard.run(game, "adjusted", "fair", seed)
                stated, wrong = stated + held, wrong + false
    costs: dict[str, list[float]] = {}
    for family, number, table in tables():
        if number == 0 and not any(name in family for name in LEFT_OUT):
            for seed in range(seeds):
                row = ordinary_run(table, seed)
                spent = row["evaluations"] / row["players"] if row["certified"] else np.inf
                costs.setdefault(family, []).append(spent)
    medians = {
        family: float(np.quantile(spent, 0.5, method="inverted_cdf"))
        for family, spent in costs.items()
    }
    return stated, wrong, medians


def main() -> None:
    """Measure all settings, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    lines = [
        "# What allowing for undrawn coalitions costs",
        "",
        f"`python -m benchmarks.certificates.tradeoff --seeds {seeds}`. Hard games: certificates",
        "of `adjusted` on the games of `hard_games.GAMES` with at most 20 players. Ordinary",
        "families: the median of evaluations per player on their first game, as a ratio to that",
        "without any allowance; *> 40 now* counts families of which most runs then need more.",
        "",
        "| allowed for | on hard games | wrong | cost ratio: median | largest | > 40 now |",
        "|---" * 6 + "|",
    ]
    first: dict[str, float] = {}
    for name, patches in settings():
        for patch in patches:
            patch.start()
        stated, wrong, medians = measure(seeds)
        for patch in patches:
            patch.stop()
        first = first or medians
        ratios = [medians[family] / cost for family, cost in first.items() if cost < np.inf]
        known = [ratio for ratio in ratios if ratio < np.inf]
        lines.append(
            f"| {name} | {stated} | {wrong} ({wrong / stated:.1%}) | {np.median(ratios):.2f} "
            f"| {max(known):.2f} | {len(ratios) - len(known)} of {len(ratios)} |"
        )
        print(lines[-1], flush=True)
    (HERE / "TRADEOFF.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
