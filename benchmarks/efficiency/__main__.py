"""Run the efficiency benchmark, one CSV for each case, or write the report of what is there.

Examples
--------
``python -m benchmarks.efficiency run --case unanimity --repeats 30``
``python -m benchmarks.efficiency report``
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.efficiency import report
from benchmarks.efficiency.cases import CASES
from benchmarks.efficiency.methods import participants
from benchmarks.efficiency.runner import run_case, write

RESULTS = Path(__file__).with_name("results")
# For scale, three methods: ours, walks, and the best regression of the peers.
SCALE = ("adjusted", "mc", "shapiq KernelSHAP paired")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.efficiency", description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--case", action="append", choices=[*CASES], help="default: all")
    parser.add_argument("--method", action="append", help="default: all")
    parser.add_argument("--per-player", type=int, action="append", help="evaluations per player")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--limit", type=float, default=450.0, help="seconds for a method")
    parser.add_argument("--renew", action="append", default=[], help="methods to run again")
    parser.add_argument("--kept-only", action="store_true", help="compare the runs there are")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.what == "report":
        report.main(options.out)
        return
    with participants(peers=not options.no_peers) as solvers:
        for name in options.case or CASES:
            wanted = options.method or (SCALE if name == "logistic-1000" else solvers)
            chosen = {one: solvers[one] for one in wanted if one in solvers}
            lines = list(
                run_case(
                    CASES[name],
                    chosen,
                    repeats=options.repeats,
                    limit=options.limit,
                    per_player=options.per_player,
                    renew=options.renew,
                    kept_only=options.kept_only,
                )
            )
            write(lines, options.out / f"{name}.csv")


if __name__ == "__main__":
    main()
