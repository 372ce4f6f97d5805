"""Numbers in prose, tied to the files of results.

Between ``<!--= xi:diabetes-ridge:mc:mse -->`` and ``<!--/-->`` stands a number that
`refresh` writes: experiment, scenario, method, measure, and x where it is a curve, then where they
are not the usual ones ``@honest``, ``@published`` or ``@error``. Two of them with " / " between
them are a ratio. ``*`` for a scenario, or ``gae-*`` for methods, is the range over all there are.
``counts`` is the table of how many published numbers and columns were reproduced, ``tables`` the
same for each table of P2–P4. ``accuracy NAME`` is the accuracy of a federation's whole model in the
first and in the last valued round.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from benchmarks.paper.verdicts import Key, by_table, columns, counts, read_numbers
from fairshapley.errors import InputError
from fairshapley_paper.report import Valued, published_numbers
from fairshapley_paper.tables import digits

TIE = re.compile(r"(<!--= *(?P<what>[^>]+?) *-->)(?P<said>.*?)(<!--/-->)", re.DOTALL)
WRITTEN = {"counts": counts, "tables": by_table}
_PART = re.compile(r"(?P<path>[^@]+)(?:@(?P<kind>honest|published|error))?")


def refresh(text: str, results: Path) -> str:
    """Return the text with all tied numbers as the results have them."""
    return TIE.sub(lambda found: f"{found[1]}{tied(found['what'], results)}{found[4]}", text)


def tied(what: str, results: Path) -> str:
    """Return the number, or the range of numbers, that a tie stands for."""
    if what in WRITTEN:
        return "\n\n" + "\n".join(WRITTEN[what](columns(results))) + "\n\n"
    if what.startswith("accuracy "):
        file = files("fairshapley_paper") / "trained" / f"{what.split()[1]}.npz"
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as table:
            shares = table["correct"][:, -1] / table["tested"]
        return f"{shares[0]:.2f} to {shares[-1]:.2f}"
    top, _, bottom = what.partition(" / ")
    values = dict(_values(top, results))
    if bottom:
        below = dict(_values(bottom, results))
        one = next(iter(below.values())) if len(below) == 1 else math.nan
        values = {key: value / below.get(key, one) for key, value in values.items()}
    known = sorted(value for value in values.values() if not math.isnan(value))
    if not known:
        raise InputError(f"there is no number {what!r} in {results}: name one of its numbers.csv")
    ends = list(dict.fromkeys(digits(value, 2) for value in (known[0], known[-1])))
    return " to ".join(ends)


def _values(path: str, results: Path) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a path, by scenario where there are several of those."""
    found = _PART.fullmatch(path.strip())
    parts = [] if found is None else found["path"].split(":")
    if found is None or len(parts) not in (4, 5):
        raise InputError(f"a tie is experiment:scenario:method:measure, not {path!r}")
    experiment, scenario, method, measure = parts[:4]
    x = float(parts[4]) if len(parts) == 5 else None
    accounting = "honest" if found["kind"] == "honest" else "paper"
    for name, form, number in _matching(experiment, found["kind"], accounting, measure, x, results):
        if fnmatch(name, scenario) and fnmatch(form, method):
            yield f"{name} {form}" if "*" in method else name, number


def _matching(
    experiment: str, kind: str | None, accounting: str, measure: str, x: float | None, results: Path
) -> Iterator[tuple[str, str, float]]:
    if kind == "published":
        for (name, row, what, at), published in published_numbers(experiment).items():
            if (what, at) == (measure, x):
                yield name, row, published.value
        return
    for (name, form, counted, what, at), one in _numbers(results / experiment / "numbers.csv"):
        if (counted, what, at) == (accounting, measure, x):
            yield name, form, one.error if kind == "error" else one.value


@lru_cache
def _numbers(path: Path) -> tuple[tuple[Key, Valued], ...]:
    return tuple(read_numbers(path).items())
