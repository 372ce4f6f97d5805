"""Statements on games made to break them, audited game by game.

A certificate is wrong when A0 does not hold for some player; intervals are wrong when one of them
misses; signs when one of a value beyond ξ/100 is. Settings of `fairshapley.fairness.unseen` were
chosen on the games of `GAMES`; those of `HELD_OUT` were made afterwards. A cell is a game with a
method and an aim: it has up to ``--seeds`` runs, and none is begun after ``--seconds`` once there
are ``--least``. Finished cells are kept in `hard.csv`; ``--fresh`` begins anew. ``report`` writes
HARD.md beside the file of an earlier version, `hard_before.csv`.

``python -m benchmarks.certificates.hard run --workers 16 --fresh``, then ``… report``
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

import fairshapley as fs
from benchmarks.certificates.hard_games import SETS, HardGame, scale
from benchmarks.certificates.parallel import in_processes

HERE = Path(__file__).parent
RUNS, BEFORE = HERE / "hard.csv", HERE / "hard_before.csv"
FIELDS = ("set", "game", "method", "aim", "runs", "stated", "wrong", "median")
EPSILON1, DELTA, MOST = 0.5, 0.1, 40
AIMS = ("fair", "signs", "intervals at 15", "intervals at 40")
METHODS = ("mc", "kernel", "adjusted", "auto", "owen", "sobol", "orthogonal", "stratified")


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


class Cell(NamedTuple):
    """One game with one method and aim, and how many runs it may have."""

    kind: str
    game: str
    method: str
    aim: str
    seeds: int
    least: int
    seconds: float


@lru_cache(maxsize=4)
def game_of(kind: str, name: str) -> HardGame:
    """Return a game; its values take longer than a run."""
    return SETS[kind][name]()


def measure(cell: Cell) -> tuple[str | int, ...]:
    """Return the row of a cell."""
    game, rows, started = game_of(cell.kind, cell.game), [], time.monotonic()
    for seed in range(cell.seeds):
        if seed >= cell.least and time.monotonic() - started > cell.seconds:
            break
        rows.append(run(game, cell.method, cell.aim, seed))
    costs = [spent for stated, _, spent in rows if stated]
    median = f"{np.median(costs):.1f}" if costs else ""
    counts = len(rows), sum(row[0] for row in rows), sum(row[1] for row in rows)
    return (*cell[:4], *counts, median)


def complete(path: Path, cells: list[Cell], workers: int) -> None:
    """Compute the cells that are missing."""
    known = {tuple(row[name] for name in FIELDS[:4]) for row in kept(path)}
    missing = [cell for cell in cells if cell[:4] not in known]
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        if fresh:
            writer.writerow(FIELDS)
        for done, row in enumerate(in_processes(measure, missing, workers), start=1):
            writer.writerow(row)
            stream.flush()
            if done % 100 == 0:
                print(f"{done} of {len(missing)} cells", flush=True)


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

`python -m benchmarks.certificates.hard run --workers 16 --fresh`, then `… report`. (ε1, δ) =
(0.5, 0.1), ξ = mean |φ| (a hundredth of it for signs), at most 40 evaluations per player. A cell is
one game with one method and aim; it has as many runs as a few seconds allow, at most 200 (of auto
and adjusted 6 to 40). It is *above δ* when the exact lower bound (95 %) of its share of wrong
statements is. *Before* is version 0.2.0 (commit 36dab5b), with 40 runs a cell for mc and kernel and
10 for adjusted. Statements that are not made do not count: with doubts, nothing is stated.

"""


def main() -> None:
    """Compute the cells, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=200, help="at most so many runs a cell")
    parser.add_argument("--least", type=int, default=10, help="runs a cell has in any case")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a cell beyond --least")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--fresh", action="store_true", help="forget the cells so far")
    parser.add_argument("--runs", type=Path, default=RUNS)
    given = parser.parse_args()
    if given.what == "report":
        text = report(kept(given.runs), kept(BEFORE))
        (HERE / "HARD.md").write_text(f"{HEAD}{text}\n", encoding="utf-8")
        return
    if given.fresh:
        given.runs.unlink(missing_ok=True)
    limits = given.seeds, min(given.seeds, given.least), given.seconds
    cells = [
        Cell(kind, name, method, aim, *limits)
        for kind in given.sets
        for name in SETS[kind]
        for method in given.methods
        for aim in AIMS
    ]
    complete(given.runs, cells, given.workers)


if __name__ == "__main__":
    main()
