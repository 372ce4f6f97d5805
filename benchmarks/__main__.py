"""Print all benchmarks; with ``--write`` renew RESULTS.md as well."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np
import scipy

import fairshapley as fs
from benchmarks import engines, exact, learners, overhead, scale

RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew benchmarks/RESULTS.md")
    write = parser.parse_args().write
    lines = ["| what | measured | against |", "|---|---|---|"]
    print("\n".join(lines))
    for benchmark in (overhead, exact, scale, learners, engines):
        for row in benchmark.rows():
            lines.append(f"| {row.what} | {row.measured} | {row.against} |")
            print(lines[-1], flush=True)
    if write:
        versions = (
            f"fairshapley {fs.__version__}, Python {platform.python_version()}, "
            f"numpy {np.__version__}, scipy {scipy.__version__}, {platform.machine()}"
        )
        head = f"# Results\n\n`python -m benchmarks --write` — {versions}; medians of 3 runs.\n\n"
        RESULTS.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
