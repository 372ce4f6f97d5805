"""What runs state, audited: fixed budgets, `Fair`, `Decided`, and runs that were resumed.

Every statement is compared with the truth: a certificate is wrong when A0 does not hold for some
player, a decision when two players that differ by more than ξ are the wrong way round, or a sign
of a value beyond ξ. Games are the tables of ``$FAIRSHAPLEY_DATA/games`` and those of the efficiency
benchmark. Finished runs are kept in `audits.csv`; ``report`` writes AUDITS.md.

``python -m benchmarks.certificates.audits run --games 2 --seeds 2``, then ``… report``
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fairshapley as fs
from benchmarks.certificates.__main__ import DELTA, EPSILON1, tables, upper_bound
from benchmarks.efficiency.cases import CASES
from benchmarks.efficiency.truths import truth_of
from fairshapley.games import Game
from fairshapley.stopping import Rule

HERE = Path(__file__).parent
RUNS = HERE / "audits.csv"
FIELDS = ("aim", "family", "game", "seed", "players", "evaluations", "stated", "wrong")
# Evaluations for each player: the most, those of a fixed budget, and those before a run is resumed.
MOST, FIXED, FIRST = 40, 10, 5
# Of the efficiency benchmark, those of which thousands of utilities take seconds.
EFFICIENCY = ("logistic-gaussian", "logistic-covertype", "knn-breast-cancer", "unanimity")
DECISIONS = {
    "signs": fs.Decided(signs=True, delta=DELTA),
    "top": fs.Decided(top=3, delta=DELTA),
    "bottom": fs.Decided(bottom=3, delta=DELTA),
    "order": fs.Decided(order=True, delta=DELTA),
}
AIMS = ("fixed", "fair", "resumed", *DECISIONS)


def games(most: int) -> Iterator[tuple[str, int, Game, NDArray[np.float64]]]:
    """Family, number, game and truth."""
    for family, number, table in tables():
        if number < most:
            known = fs.games.TableGame(table)
            yield family, number, known, fs.exact(known).values
    for name in EFFICIENCY:
        game = CASES[name].make()
        yield name, 0, game, truth_of(CASES[name], game).values


def run(aim: str, game: Game, phi: NDArray[np.float64], seed: int) -> dict[str, int]:
    """One run, whether it states something, and whether that is wrong."""
    n_players = len(phi)
    coalitions = 2.0**n_players - 1
    xi = float(np.abs(phi).mean())
    fair = fs.Fair(epsilon1=EPSILON1, delta=DELTA)

    def spend(per_player: int, rule: Rule | None, journal: Path | None) -> fs.Result:
        budget = int(min(per_player * n_players, coalitions))
        return fs.estimate(
            game,
            "adjusted",
            budget=budget,
            until=rule,
            xi=xi,
            seed=seed,
            journal=journal,
            progress=False,
        )

    if aim == "resumed":
        with tempfile.TemporaryDirectory() as folder:
            result = spend(FIRST, fair, Path(folder) / "run.db")
            if not result.certificate(EPSILON1, DELTA).holds:
                result = spend(MOST, fair, Path(folder) / "run.db")
    else:
        rule = DECISIONS.get(aim, fair if aim == "fair" else None)
        result = spend(FIXED if aim == "fixed" else MOST, rule, None)
    if aim in DECISIONS:
        stated = result.stopped.startswith("decided")
        wrong = stated and undecided(aim, result.values, phi, xi)
    else:
        stated = result.certificate(EPSILON1, DELTA).holds
        wrong = stated and not fs.fairness.within_tolerance(result.values, phi, EPSILON1, xi).all()
    return {
        "players": n_players,
        "evaluations": result.evaluations,
        "stated": int(stated),
        "wrong": int(wrong),
    }


def undecided(aim: str, values: NDArray[np.float64], phi: NDArray[np.float64], xi: float) -> bool:
    """Whether the truth contradicts a decision by more than ξ."""
    if aim == "signs":
        return bool(((np.sign(values) != np.sign(phi)) & (np.abs(phi) > xi)).any())
    falling = phi[np.argsort(-values, kind="stable")]
    if aim == "order":
        # Nobody later is more than ξ above somebody earlier.
        return bool((np.maximum.accumulate(falling[::-1])[::-1] > falling + xi).any())
    chosen = DECISIONS[aim].top or len(phi) - (DECISIONS[aim].bottom or 0)
    return bool(falling[chosen:].max() > falling[:chosen].min() + xi)


def complete(path: Path, most: int, seeds: int) -> None:
    """Compute the runs that are missing."""
    known = {tuple(row[name] for name in FIELDS[:4]) for row in kept(path)}
    with path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not known:
            writer.writeheader()
        for family, number, game, phi in games(most):
            for aim in AIMS:
                for seed in range(seeds):
                    about = (aim, family, str(number), str(seed))
                    if about not in known:
                        row = run(aim, game, phi, seed)
                        writer.writerow(dict(zip(FIELDS, about, strict=False)) | row)
            stream.flush()


def kept(path: Path) -> list[dict[str, str]]:
    """The runs so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def report(rows: list[dict[str, str]]) -> str:
    """The tables, in Markdown."""
    lines = ["| aim | runs | stated | wrong | at most | median per player |", "|---" * 6 + "|"]
    by_aim: dict[str, list[dict[str, str]]] = defaultdict(list)
    by_game: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_aim[row["aim"]].append(row)
        by_game[row["family"], row["aim"]].append(row)
    for aim, some in by_aim.items():
        stated, wrong = (sum(int(row[name]) for row in some) for name in ("stated", "wrong"))
        bound = f"{upper_bound(wrong, stated):.1%}" if stated else "–"
        lines.append(f"| {aim} | {len(some)} | {stated} | {wrong} | {bound} | {cost(some)} |")
    lines += ["", "Stated of all runs (wrong), and the median cost, by game:", ""]
    lines += ["| game | " + " | ".join(AIMS) + " |", "|---" * (len(AIMS) + 1) + "|"]
    for family in dict.fromkeys(row["family"] for row in rows):
        cells = []
        for aim in AIMS:
            some = by_game[family, aim]
            stated, wrong = (sum(int(row[name]) for row in some) for name in ("stated", "wrong"))
            cells.append(f"{stated}/{len(some)} ({wrong}), {cost(some)}")
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cost(rows: list[dict[str, str]]) -> str:
    """The median of evaluations per player; a run that states nothing counts as dearer."""
    costs = [
        int(row["evaluations"]) / int(row["players"]) if int(row["stated"]) else np.inf
        for row in rows
    ]
    middle = float(np.quantile(costs, 0.5, method="inverted_cdf")) if costs else np.inf
    return f"{middle:.1f}" if middle < np.inf else f"> {MOST}"


HEAD = """# Statements of runs, audited

`python -m benchmarks.certificates.audits run --games 2 --seeds 2`, then `… report`. Method
adjusted, (ε1, δ) = (0.5, 0.1), ξ = mean |φ|.

- *fixed*: a certificate after 10 evaluations per player
- *fair*: `until=fs.Fair(…)`, at most 40 per player
- *resumed*: the same with a budget of 5 per player, and where it ends without a certificate,
  continued from its journal
- *signs*, *top* (3), *bottom* (3), *order*: `until=fs.Decided(…)`, at most 40 per player

*At most* is the exact binomial bound (95 %) of the share of wrong statements; δ allows 10 %.

"""


def main() -> None:
    """Compute the runs, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--games", type=int, default=2, help="games of each family")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--runs", type=Path, default=RUNS)
    given = parser.parse_args()
    if given.what == "run":
        complete(given.runs, given.games, given.seeds)
        return
    text = report(kept(given.runs))
    (HERE / "AUDITS.md").write_text(f"{HEAD}{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
