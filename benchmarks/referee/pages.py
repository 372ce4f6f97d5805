"""The parts of the documentation that the referee writes, between their markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.referee.methods import DEFAULT, Method
from benchmarks.referee.scores import Score
from benchmarks.referee.wording import (
    CLOSE,
    at,
    best_of,
    budgets_of,
    factor,
    is_close,
    names_of,
    number,
    of_default,
    per,
    table,
)

BEGIN, END = "<!-- written by python -m benchmarks.referee report -->", "<!-- end of that -->"


def put(page: Path, text: str) -> None:
    """Write the generated part of a page, between its markers; a page without them stays."""
    if not page.exists():
        return
    before, mark, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if mark and end:
        page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def which_method(
    found: Sequence[Score], known: Mapping[str, Method], title: Mapping[str, str]
) -> str:
    """Of our methods: where the default is the one to take, and where another is better."""
    own = [DEFAULT, *names_of(known, "ours")]
    budgets = budgets_of(found)
    rows = []
    for family in dict.fromkeys(one.family for one in found):
        cells = []
        for budget in budgets:
            here = [one for one in at(found, budget, family) if one.method in own]
            if of_default(here) is None:
                cells.append("")
            elif is_close(here):
                cells.append("default")
            else:
                best = min(here, key=lambda one: one.mse)
                cells.append(
                    f"`{best.method}` (× {np.exp(best.ratio.mean):.2f})" if best.ratio else ""
                )
        rows.append((title[family], *cells))
    return (
        "Measured by [the referee](../benchmarks/referee/RESULTS.md): *default* where its error is "
        f"within {CLOSE} ×\nof the smallest of our methods; elsewhere the method to name, with its "
        "error over the default's.\n\n"
        + table(("game", *(f"{per(budget)} per player" for budget in budgets)), rows)
    )


def comparison(
    everywhere: Sequence[Score],
    others: Sequence[Score],
    known: Mapping[str, Method],
    title: Mapping[str, str],
) -> str:
    """The table of the page on comparisons: our default's errors and the best peer's."""
    source = "[the referee](../benchmarks/referee/RESULTS.md)"
    theirs = names_of(known, "shapiq", "pydvl")
    rows = []
    for budget in budgets_of(everywhere):
        best = best_of(at(everywhere, budget), theirs)
        if best is not None and best.ratio is not None:
            what = f"mean squared error, exact tables, {per(budget)} evaluations per player"
            rows.append((what, "1", f"{factor(best.ratio)}: {best.method}", source))
    for budget in budgets_of(others):
        families = dict.fromkeys(one.family for one in others)
        bests = [best_of(at(others, budget, family), theirs) for family in families]
        ratios = [float(np.exp(one.ratio.mean)) for one in bests if one and one.ratio]
        if ratios:
            what = f"the same, {len(ratios)} games of other kinds, {per(budget)} per player"
            cell = f"the best on each game: {number(min(ratios))} to {number(max(ratios))}"
            rows.append((what, "1", cell, source))
    ahead = [
        f"{one.method} ({title[one.family]}, {per(one.per_player)} per player)"
        for one in (*everywhere, *others)
        if one.better and one.method in theirs
    ]
    heading = ("what", "fairshapley", "the best of the peers", "measured in")
    verdict = f"Significantly better than the default: {', '.join(ahead) or 'none of theirs'}."
    return f"{table(heading, rows)}\n\n{verdict}"
