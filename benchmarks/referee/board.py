"""The referee as one page, with an estimator of your own: ``python -m benchmarks.referee.board``.

Put your estimator into one file, ``mine.py`` in this folder, and give its place. It and the default
run on the same games with the same seeds, and it stands on the page beside all methods::

    python -m benchmarks.referee.board --own mine:estimator --only unanimity --out board.html

Without ``--own`` the page is made of `results.csv` alone, in a second.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee import methods as contenders
from benchmarks.referee import runner
from benchmarks.referee.games import families
from benchmarks.referee.scores import collect, scores
from fairshapley.tables.models import imported_object

HERE = Path(__file__).parent
ALL = "all families"
Row = list[Any]
"""Method, group, family, evaluations per player, error, ratio to the default, its ends, runs"""


def published(path: Path) -> list[Row]:
    """The rows of `results.csv`."""
    known = contenders.methods()
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            _row(
                one["method"],
                known[one["method"]].group if one["method"] in known else "earlier",
                *(one[name] for name in ("family", "per_player", "mse", "ratio", "low", "high")),
                one["runs"],
            )
            for one in csv.DictReader(stream)
        ]


def own(place: str, only: Sequence[str], repeats: int, per_player: Sequence[float]) -> list[Row]:
    """The rows of an estimator, run now beside the default.

    Parameters
    ----------
    place
        Where it is, as "module:estimator".
    only
        Parts of the names of the families; all of them where it is empty.
    repeats
        The runs of each game and budget.
    per_player
        The budgets, in evaluations per player.
    """
    chosen = [one for one in families() if not only or any(part in one.name for part in only)]
    contenders.OURS[place] = imported_object(place, "estimator")
    try:
        with tempfile.TemporaryDirectory() as folder:
            names = (contenders.DEFAULT, place)
            plan = runner.Plan(names, repeats, 60.0, tuple(per_player), kept=Path(folder))
            runner.run(chosen, plan)
            board, _ = collect(chosen, contenders.methods(), kept=plan.kept, budgets=per_player)
    finally:
        del contenders.OURS[place]
    found = []
    for one in scores(board):
        if one.method == place:
            ends = [one.ratio.mean, *one.ratio.interval()] if one.ratio else [math.nan] * 3
            numbers = (one.family, one.per_player, one.mse, *np.exp(ends), one.runs)
            found.append(_row(place, "yours", *numbers))
    return found


def _row(method: str, group: str, family: str, *numbers: Any) -> Row:
    values = [float(number) for number in numbers]
    if method == contenders.DEFAULT:
        values[2:5] = [1.0, 1.0, 1.0]
    rounded = [float(f"{one:.4g}") if math.isfinite(one) else None for one in values]
    return [method, group, family, *rounded]


def averaged(rows: Sequence[Row]) -> list[Row]:
    """A row for each method and budget over all families: the geometric mean of its ratios."""
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        if row[5]:
            groups.setdefault((row[0], row[1], row[3]), []).append(row)
    found = []
    for (method, group, per_player), same in groups.items():
        means = [math.exp(np.mean([math.log(row[at]) for row in same])) for at in (4, 5)]
        title = f"{ALL} ({len(same)})"
        found.append(_row(method, group, title, per_player, *means, math.nan, math.nan, 0))
        found[-1][-1] = sum(row[-1] for row in same)
    return found


def page(rows: Sequence[Row]) -> str:
    """The page: a table that is sorted by a click, and filtered by family and budget."""
    content = json.dumps([*averaged(rows), *rows], ensure_ascii=True).replace("<", "\\u003c")
    return (HERE / "board_template.html").read_text(encoding="utf-8").replace("ROWS", content, 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", action="append", default=[], help="module:estimator")
    parser.add_argument("--only", action="append", default=[], help="families, by parts of names")
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--budgets", type=float, action="append", help="evaluations per player")
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--out", type=Path, default=HERE / "board.html")
    given = parser.parse_args(arguments)
    rows = published(given.results)
    for place in given.own:
        rows += own(place, given.only, given.repeats, given.budgets or (10.0, 30.0))
    given.out.write_text(page(rows), encoding="utf-8")
    print(f"written: {given.out}")


if __name__ == "__main__":
    main()
