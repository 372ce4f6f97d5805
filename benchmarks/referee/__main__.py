"""Judge all methods on all games, and write what was found.

Examples
--------
``python -m benchmarks.referee run --families tables --workers 2``
``python -m benchmarks.referee run --methods ours --only airport --repeats 100``
``python -m benchmarks.referee report``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.referee import runner
from benchmarks.referee.games import BUDGETS, OTHERS, TABLES, Family, families
from benchmarks.referee.methods import Method, methods

# A table's family has up to eight games; the others are one game each.
REPEATS = {TABLES: 3, OTHERS: 8}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.referee", description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--families", choices=[TABLES, OTHERS], help="default: both")
    parser.add_argument("--only", action="append", help="families, by any part of their names")
    parser.add_argument(
        "--methods", action="append", help="ours, shapiq, pydvl, process, or a method's own name"
    )
    parser.add_argument("--budgets", type=float, action="append", help="evaluations per player")
    parser.add_argument("--repeats", type=int, help="default: 3 for each table, 8 for other games")
    parser.add_argument("--games", type=int, help="of a family; default: all, up to eight")
    parser.add_argument(
        "--limit", type=float, default=30.0, help="seconds for a method on a game at a budget"
    )
    parser.add_argument("--renew", action="append", default=[], help="methods to run again")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--kept", type=Path, default=runner.KEPT, help="where runs are kept")
    options = parser.parse_args(arguments)
    chosen = [
        family
        for family in families()
        if options.families in (None, family.part)
        and (options.only is None or any(part in family.name for part in options.only))
    ]
    if options.what == "report":
        from benchmarks.referee.report import main as report  # matplotlib takes its time

        report(chosen, kept=options.kept)
        return
    for part in (TABLES, OTHERS):
        plan = runner.Plan(
            methods=tuple(one.name for one in _chosen(options.methods)),
            repeats=options.repeats or REPEATS[part],
            limit=options.limit,
            budgets=tuple(options.budgets or BUDGETS),
            renew=tuple(options.renew),
            kept=options.kept,
            games=options.games,
        )
        runner.run(_of(chosen, part), plan, workers=options.workers)


def _of(chosen: Sequence[Family], part: str) -> list[Family]:
    return [family for family in chosen if family.part == part]


def _chosen(wanted: Sequence[str] | None) -> list[Method]:
    found = [
        one
        for one in methods().values()
        if wanted is None or one.group in wanted or one.name in wanted
    ]
    if not found:
        raise SystemExit(f"no such method; there are: {', '.join(methods())}")
    return found


if __name__ == "__main__":
    main()
