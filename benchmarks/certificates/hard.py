"""Statements on games made to break them, audited game by game.

A certificate is wrong when A0 does not hold for some player; intervals are wrong when one of them
misses; signs when one of a value beyond ξ/100 is. Settings of `fairshapley.fairness.unseen` were
chosen on the games of `GAMES`; those of `HELD_OUT` were made afterwards. Finished runs are kept in
`hard.csv` (one row for each game, method and aim); ``report`` writes HARD.md beside the file of an
earlier version, `hard_before.csv`.

``python -m benchmarks.certificates.hard run --methods mc kernel --seeds 40``, then ``… report``
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import beta

import fairshapley as fs
from benchmarks.certificates.hard_games import SETS, HardGame, scale

HERE = Path(__file__).parent
RUNS, BEFORE = HERE / "hard.csv", HERE / "hard_before.csv"
FIELDS = ("set", "game", "method", "aim", "runs", "stated", "wrong", "median")
EPSILON1, DELTA, MOST = 0.5, 0.1, 40
AIMS = ("fair", "signs", "intervals at 15", "intervals at 40")
# Runs of larger games take longer: of these there are fewer.
LARGE, FEWER = 20, 5


def run(game: HardGame, method: str, aim: str, seed: int) -> tuple[bool, bool, float]:
    """Whether a run states something, whether that is wrong, and evaluations per player."""
    n_players, phi = game.n_players, game.values
    xi = scale(phi)
    per_player = int(aim.split()[-1]) if aim.startswith("intervals") else MOST
    budget = int(min(per_player * n_players, 2.0**n_players - 1))
    near = xi / 100 if aim == "signs" else xi
    rule: fs.Fair | fs.Decided | None = None
    if aim == "fair":
        rule = fs.Fair(epsilon1=EPSILON1, delta=DELTA)
    elif aim == "signs":
        rule = fs.Decided(signs=True, delta=DELTA)
    given = {"semivalue": game.semivalue, "xi": near, "seed": seed, "progress": False}
    try:
        result = fs.estimate(game, method, budget=budget, until=rule, **given)
    except fs.FairShapleyError:
        return False, False, np.nan  # a budget below one round, or a method for Shapley values only
    spent = result.evaluations / n_players
    if result.exact:
        return False, False, spent
    error = np.abs(result.values - phi)
    if aim == "fair":
        stated = result.certificate(EPSILON1, DELTA).holds
        allowed = EPSILON1 * (np.abs(phi) + xi)
        return stated, bool(stated and (error > allowed * (1 + 1e-9)).any()), spent
    if aim == "signs":
        stated = result.stopped.startswith("decided")
        other = np.sign(result.values) != np.sign(phi)
        return stated, bool(stated and (other & (np.abs(phi) > near)).any()), spent
    try:
        found = result.decisions(DELTA)
    except fs.FairShapleyError:
        return False, False, spent
    known = np.isfinite(found.lower) & np.isfinite(found.upper)
    slack = 1e-9 * scale(phi)
    missed = known & ((phi < found.lower - slack) | (phi > found.upper + slack))
    return bool(known.any()), bool(missed.any()), spent


def complete(path: Path, sets: list[str], methods: list[str], seeds: int) -> None:
    """Compute the cells that are missing."""
    known = {tuple(row[name] for name in FIELDS[:4]) for row in kept(path)}
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if fresh:
            writer.writeheader()
        for kind in sets:
            for name, make in SETS[kind].items():
                game: HardGame | None = None
                for method in methods:
                    for aim in AIMS:
                        if (kind, name, method, aim) in known:
                            continue
                        game = game or make()
                        few = game.n_players > LARGE and method == "adjusted"
                        rows = [
                            run(game, method, aim, seed)
                            for seed in range(max(4, seeds // FEWER) if few else seeds)
                        ]
                        costs = [spent for stated, _, spent in rows if stated]
                        cell = (len(rows), sum(r[0] for r in rows), sum(r[1] for r in rows))
                        median = f"{np.median(costs):.1f}" if costs else ""
                        values = (kind, name, method, aim, *cell, median)
                        writer.writerow(dict(zip(FIELDS, values, strict=True)))
                        stream.flush()


def kept(path: Path) -> list[dict[str, str]]:
    """The cells so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def lower_bound(wrong: int, stated: int) -> float:
    """The exact (Clopper–Pearson) lower bound, at 95 %, of the share of wrong statements.

    Examples
    --------
    >>> lower_bound(0, 50), round(lower_bound(12, 50), 3)
    (0.0, 0.146)
    """
    return float(beta.ppf(0.05, wrong, stated - wrong + 1)) if wrong else 0.0


def report(rows: list[dict[str, str]], before: list[dict[str, str]]) -> str:
    """The tables, in Markdown."""
    earlier = {tuple(row[name] for name in FIELDS[:4]): row for row in before}
    lines = []
    for kind in SETS:
        some = [row for row in rows if row["set"] == kind]
        if not some:
            continue
        lines += [f"## Games {kind}" if kind != "beyond" else "## Beyond what draws can show", ""]
        lines += [
            "| method | aim | stated | wrong | cells above δ | before: stated | wrong | cells |"
        ]
        lines += ["|---" * 8 + "|"]
        groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
        for row in some:
            groups[row["method"], row["aim"]].append(row)
        for (method, aim), cells in sorted(groups.items()):
            old = [
                earlier[key]
                for row in cells
                if (key := tuple(row[n] for n in FIELDS[:4])) in earlier
            ]
            lines.append(f"| {method} | {aim} | {_counts(cells)} | {_counts(old)} |")
        lines += ["", "Wrong of stated (median evaluations per player), before → after:", ""]
        methods = list(dict.fromkeys(row["method"] for row in some))
        for aim in AIMS:
            lines += [f"### {aim}, {kind}", "", "| game | " + " | ".join(methods) + " |"]
            lines += ["|---" * (len(methods) + 1) + "|"]
            by_game: dict[str, dict[str, str]] = defaultdict(dict)
            for row in some:
                if row["aim"] == aim:
                    old_row = earlier.get(tuple(row[name] for name in FIELDS[:4]))
                    by_game[row["game"]][row["method"]] = f"{_cell(old_row)} → {_cell(row)}"
            for game, cells_of in by_game.items():
                lines.append(
                    f"| {game} | " + " | ".join(cells_of.get(m, "") for m in methods) + " |"
                )
            lines.append("")
    return "\n".join(lines)


def _counts(cells: list[dict[str, str]]) -> str:
    stated, wrong = (sum(int(row[name]) for row in cells) for name in ("stated", "wrong"))
    above = sum(lower_bound(int(row["wrong"]), int(row["stated"])) > DELTA for row in cells)
    share = f" ({wrong / stated:.1%})" if stated else ""
    return f"{stated:,} | {wrong:,}{share} | {above} of {len(cells)}"


def _cell(row: dict[str, str] | None) -> str:
    if row is None:
        return "?"
    median = f" ({row['median']})" if row["median"] else ""
    return f"{row['wrong']}/{row['stated']}{median}"


HEAD = """# Statements on games made to break them

`python -m benchmarks.certificates.hard run --methods mc kernel --seeds 40`, `… --methods adjusted
owen sobol orthogonal stratified --seeds 10`, then `… report`. (ε1, δ) = (0.5, 0.1), ξ = mean |φ|
(a hundredth of it for signs), at most 40 evaluations per player. *Before* is version 0.2.0 (commit
36dab5b) with the same commands, for mc, kernel and adjusted. A cell is one game with one method and
aim (with `adjusted` on more than 20 players, 4 runs); it is *above δ* when the exact lower bound
(95 %) of its share of wrong statements is. Statements that are not made do not count: with doubts,
nothing is stated.

"""


def main() -> None:
    """Compute the cells, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--methods", nargs="+", default=["mc"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--runs", type=Path, default=RUNS)
    given = parser.parse_args()
    if given.what == "run":
        complete(given.runs, given.sets, given.methods, given.seeds)
        return
    text = report(kept(given.runs), kept(BEFORE))
    (HERE / "HARD.md").write_text(f"{HEAD}{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
