"""Code lines and files against their limits: ``python -m tests.house.lines``.

A code line is one that is not blank, not a comment and not part of a docstring. The totals are
held once ENFORCED is True; the limits of the rooms are printed, to show where there is too much.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENFORCED = False

# What is counted, and the most of it.
TOTALS = {
    "code lines of the library": ("src/fairshapley", 22_000),
    "code lines of fairshapley_paper": ("src/fairshapley_paper", 3_500),
    "code lines of the tests": ("tests", 20_500),
}
MOST_FILES = 260
ROOMS = {
    "games": 5_000,
    "draws, estimators": 3_700,
    "evaluation": 2_000,
    "runs, stopping": 1_450,
    "fairness": 1_000,
    "results": 2_000,
    "tables": 1_000,
    "approximator, clean, closed_forms, comparison, demo, explanations, market, planning, "
    "verification": 2_200,
    "cli": 1_500,
    "testing": 600,
}
REST = "_basics, errors, public face", 700
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    r"""How many lines of a module are code.

    Examples
    --------
    >>> code_lines('"Title."\n\n# why\nx = 1\ny = [\n    2,\n]\n')
    4
    """
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        for inner in node.body if isinstance(getattr(node, "body", None), list) else ():
            value = inner.value if isinstance(inner, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def lines_of(files: Iterable[Path]) -> int:
    """The code lines of files together."""
    return sum(code_lines(file.read_text(encoding="utf-8")) for file in files)


def over(what: str, count: int, most: int) -> bool:
    """Print a line of the table; whether the limit is exceeded."""
    mark = "" if count <= most else f"  {count - most:,} too many"
    sys.stdout.write(f"{what:45}{count:8,} of {most:6,}{mark}\n")
    return count > most


def main() -> int:
    """Print the table; 1 where a total is exceeded that is enforced."""
    library = ROOT / "src" / "fairshapley"
    left = set(library.rglob("*.py"))
    for names, most in ROOMS.items():
        rooms = names.split(", ")
        files = {file for file in left if file.relative_to(library).parts[0].split(".")[0] in rooms}
        left -= files
        over(names[:45], lines_of(files), most)
    over(REST[0], lines_of(left), REST[1])
    exceeded = [
        over(what, lines_of((ROOT / folder).rglob("*.py")), most)
        for what, (folder, most) in TOTALS.items()
    ]
    exceeded.append(over("files in src", len(list((ROOT / "src").rglob("*.py"))), MOST_FILES))
    return int(ENFORCED and any(exceeded))


if __name__ == "__main__":
    sys.exit(main())
