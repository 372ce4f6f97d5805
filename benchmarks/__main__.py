"""Print the benchmarks; with ``--write`` renew their sections of RESULTS.md as well."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np
import scipy

import fairshapley as fs
from benchmarks import engines, exact, learners, overhead, scale

RESULTS = Path(__file__).with_name("RESULTS.md")
BENCHMARKS = {
    "overhead": overhead,
    "exact": exact,
    "scale": scale,
    "learners": learners,
    "engines": engines,
}
TITLE = "# Results"
OTHERS = """Further results: [the referee](referee/RESULTS.md), all methods on all kinds of games;
[efficiency at equal evaluations](efficiency/RESULTS.md) and calibration;
[time to fairness](time_to_fairness/RESULTS.md); [on a GPU](gpu/RESULTS.md),
[from draw to result there](gpu/whole_runs/RESULTS.md);
[rows, players and classes](../docs/large_games.md#what-an-evaluation-costs), swept."""


def section(name: str) -> str:
    """Run a benchmark; its table."""
    lines = ["| what | measured | against |", "|---|---|---|"]
    print("\n".join(lines))
    for row in BENCHMARKS[name].rows():
        lines.append(f"| {row.what} | {row.measured} | {row.against} |")
        print(lines[-1], flush=True)
    versions = (
        f"fairshapley {fs.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}, {platform.machine()}"
    )
    command = f"`python -m benchmarks --only {name} --write`"
    return f"{command} — {versions}; medians of repeated runs.\n\n" + "\n".join(lines)


def write(sections: dict[str, str]) -> None:
    """Put sections into RESULTS.md; those that were not run stay."""
    kept = RESULTS.read_text(encoding="utf-8").split("\n## ")[1:] if RESULTS.exists() else []
    known = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in kept}
    known |= sections
    parts = [f"## {name}\n\n{known[name]}" for name in BENCHMARKS if name in known]
    text = "\n\n".join([TITLE, OTHERS, *parts]) + "\n"
    RESULTS.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=[*BENCHMARKS], help="default: all")
    parser.add_argument("--write", action="store_true", help="renew benchmarks/RESULTS.md")
    options = parser.parse_args()
    sections = {name: section(name) for name in options.only or BENCHMARKS}
    if options.write:
        write(sections)


if __name__ == "__main__":
    main()
