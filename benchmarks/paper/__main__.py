"""Write the pages of docs/paper again: ``python -m benchmarks.paper``."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.paper.ties import refresh
from benchmarks.paper.verdicts import page

PAPER = Path(__file__).parents[2] / "docs" / "paper"
PAGES = (PAPER / "README.md", PAPER / "details.md", PAPER / "theory.md")


def main() -> int:
    results = PAPER / "results"
    (PAPER / "verdicts.md").write_text(page(results), encoding="utf-8")
    for path in PAGES:
        if path.exists():
            path.write_text(refresh(path.read_text(encoding="utf-8"), results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
