"""Verdicts: every published number beside ours, and what a stated rule makes of them."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from scipy.stats import spearmanr

from fairshapley.errors import InputError
from fairshapley_paper.catalogue import EXPERIMENTS
from fairshapley_paper.experiment import Experiment, Reading, Scenario
from fairshapley_paper.experiments import small_games
from fairshapley_paper.methods import METHODS
from fairshapley_paper.report import Valued, published_numbers
from fairshapley_paper.tables import digits, table_row, with_error

AGREES = 2.0
"""The largest |z| of a number that agrees"""
FACTOR = 2.0
"""Within which a number that does not agree is near"""
SEEN = (1 - 1 / FACTOR) / AGREES
"""The largest error of ours, as a share of the published number, that shows a factor of 2"""
ENOUGH = 0.75
"""The share of its numbers that must agree where a column is reproduced"""
ORDER = 0.7
"""The least rank correlation of a column that is reproduced in order only"""
FEWEST_ROWS = 5
"""The fewest rows of a column that can have an order"""

BIASED = ("owen", "sobol", "stratified")
LESS = "without Owen, Sobol and stratified, which are biased in the program"
MARKS = {"agrees": "🟩", "undecided": "⬜", "near": "🟨", "off": "🟥"}
Verdict: TypeAlias = Literal["reproduced", "in order only", "not"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "in order only", "not")
READINGS: dict[Reading, str] = {
    "text": "as the text says",
    "program": "as the authors' program does it",
    "guess": "a guess",
}

RULE = (
    "**The rule.** z = (ours − published) / √(our standard error² + the published one² + d²/12), "
    "where d is the last digit that was printed. A number "
    f"*agrees* ({MARKS['agrees']}) when z is at most ±{AGREES:g} and our error is small enough to "
    f"have seen a factor of {FACTOR:g}: at most {SEEN:.0%} of the published number. It is "
    f"*undecided* ({MARKS['undecided']}) when z is at most ±{AGREES:g} and our error is larger. It "
    f"is *near* ({MARKS['near']}) when z is larger but the two are within a factor of {FACTOR:g}, "
    f"and else *off* ({MARKS['off']}). A column of a table is **reproduced** when at least "
    f"{ENOUGH:.0%} of its numbers agree. It is reproduced **in order only** when they do not, but "
    f"it has at least {FEWEST_ROWS} rows whose order has a Spearman coefficient of at least "
    f"{ORDER:g}. Else it is **not** reproduced. Published errors come from five to twenty trials, "
    "so that of numbers that are all right about one in ten has a larger z. Where a row has "
    "several forms here, the one closest to the paper's is compared; the reports of the "
    "experiments have them all."
)


Key: TypeAlias = tuple[str, str, str, str, float | None]
"""Scenario, method, accounting, measure, x"""


def read_numbers(path: Path) -> dict[Key, Valued]:
    """Return the numbers of a results file."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}; `fairshapley paper run` writes it"
        ) from None
    return {
        (
            row["scenario"],
            row["method"],
            row["accounting"],
            row["measure"],
            float(row["x"]) if row["x"] else None,
        ): Valued(*(float(row[name] or "nan") for name in ("value", "standard_error")))
        for row in rows
    }


@dataclass(frozen=True)
class Cell:
    """A published number, and ours."""

    scenario: Scenario
    row: str
    measure: str
    x: float | None
    published: Valued
    ours: Valued

    @property
    def z(self) -> float:
        """The difference in standard errors; an error that is not given counts as 0."""
        errors = [one.error for one in (self.ours, self.published) if not math.isnan(one.error)]
        error = math.hypot(*errors, self.published.rounding)
        difference = self.ours.value - self.published.value
        if error == 0:
            return 0.0 if difference == 0 else math.copysign(math.inf, difference)
        return difference / error

    @property
    def ratio(self) -> float:
        """Ours over the published one; NaN where that is 0."""
        published = self.published.value
        return self.ours.value / published if published else math.nan

    @property
    def mark(self) -> str:
        """Whether it agrees, is undecided, near, or off."""
        if abs(self.z) <= AGREES:
            error = 0.0 if math.isnan(self.ours.error) else self.ours.error
            return "agrees" if error <= SEEN * abs(self.published.value) else "undecided"
        return "near" if 1 / FACTOR <= self.ratio <= FACTOR else "off"

    def __str__(self) -> str:
        ratio = "–" if math.isnan(self.ratio) else digits(self.ratio, 2)
        return (
            f"{with_error(self.published)} → {with_error(self.ours)}; z {digits(self.z, 2)}, "
            f"× {ratio} {MARKS[self.mark]}"
        )


@dataclass(frozen=True)
class Column:
    """The numbers that get one verdict: a column of a table, or the numbers of a figure."""

    experiment: Experiment
    scenario: Scenario | None
    """None where the rows are scenarios"""
    measure: str
    cells: tuple[Cell, ...]

    @property
    def verdict(self) -> Verdict:
        """What the rule says."""
        if sum(cell.mark == "agrees" for cell in self.cells) >= ENOUGH * len(self.cells):
            return "reproduced"
        pairs = [(cell.published.value, cell.ours.value) for cell in self.cells]
        if len(pairs) >= FEWEST_ROWS and spearmanr(pairs).statistic >= ORDER:
            return "in order only"
        return "not"


def columns(results: Path) -> list[Column]:
    """Return all columns of the published tables, in all readings, beside the numbers in a folder.

    Parameters
    ----------
    results
        The folder with one subfolder for each experiment.
    """
    found = []
    for experiment in EXPERIMENTS.values():
        path = results / experiment.name / "numbers.csv"
        repeated = experiment.reading == "text" and experiment.reads
        known = published_numbers(experiment.reads or experiment.name)
        if repeated or not known or not path.exists():
            continue
        cells = _cells(experiment, read_numbers(path))
        groups: dict[tuple[Scenario | None, str], list[Cell]] = {}
        several = len({(cell.row, cell.x) for cell in cells}) > 1
        for cell in cells:
            groups.setdefault((cell.scenario if several else None, cell.measure), []).append(cell)
        found += [Column(experiment, *key, tuple(group)) for key, group in groups.items()]
    return found


def _cells(experiment: Experiment, numbers: dict[Key, Valued]) -> list[Cell]:
    scenarios = {one.name: one for one in experiment.scenarios}
    cells = []
    known = published_numbers(experiment.reads or experiment.name)
    for (name, row, measure, x), published in known.items():
        if name not in scenarios:
            continue
        forms = [method.name for method in METHODS.values() if method.row == row]
        ours = [
            numbers[name, form, "paper", measure, x]
            for form in forms
            if (name, form, "paper", measure, x) in numbers
        ]
        if not ours:
            raise InputError(f"{experiment.name} has no {measure} of {row} on {name}: run it again")
        cells.append(Cell(scenarios[name], row, measure, x, published, ours[-1]))
    return cells


def page(results: Path) -> str:
    """Return the page of all verdicts, as Markdown."""
    found = columns(results)
    lines = ["# Every published number beside ours", "", RULE, "", *counts(found), ""]
    lines += ["## By table", "", *_overview(found), "", "## Number by number", ""]
    lines += ["Each cell: published → ours; z, and ours as a multiple of the published.", ""]
    for experiment in dict.fromkeys(column.experiment.name for column in found):
        for own in _by(lambda one: one.scenario, _of(found, experiment)).values():
            lines += _details(own)
    return "\n".join(lines).rstrip() + "\n"


def _of(found: Iterable[Column], experiment: str) -> list[Column]:
    return [column for column in found if column.experiment.name == experiment]


def _by(key: Callable[[Column], object], found: Iterable[Column]) -> dict[object, list[Column]]:
    groups: dict[object, list[Column]] = {}
    for column in found:
        groups.setdefault(key(column), []).append(column)
    return groups


def counts(found: Sequence[Column]) -> list[str]:
    """Numbers and columns by reading; an experiment with the text's alone counts in the other too.

    Once more without the rows whose published forms are biased.
    """
    programmed = {one.experiment.reads for one in found if one.experiment.reading == "program"}
    heads = ["reading", "numbers", *MARKS, "columns", *VERDICTS]
    lines = [table_row(heads), table_row(["---", *["---:"] * (len(heads) - 1)])]
    texts = [one for one in found if one.experiment.reading == "text"]
    programs = [one for one in texts if one.experiment.name not in programmed]
    programs += [one for one in found if one.experiment.reading == "program"]
    for own, title in ((texts, READINGS["text"]), (programs, READINGS["program"])):
        lines.append(_count_line(own, title))
        fair = [
            replace(one, cells=tuple(c for c in one.cells if c.row not in BIASED)) for one in own
        ]
        lines.append(_count_line([one for one in fair if one.cells], f"{title}; {LESS}"))
    return lines


def by_table(found: Sequence[Column]) -> list[str]:
    """Return numbers and columns of each table of P2–P4, as the authors' program does it."""
    heads = ["table", "numbers", *MARKS, "columns", *VERDICTS]
    lines = [table_row(heads), table_row(["---", *["---:"] * (len(heads) - 1)])]
    small = {one.name for one in small_games.EXPERIMENTS if one.reading == "program"}
    own = [one for one in found if one.experiment.name in small]
    for group in _by(lambda one: one.scenario, own).values():
        scenario = group[0].scenario
        lines.append(_count_line(group, scenario.title if scenario else ""))
    return [*lines, _count_line(own, "**all**")]


def _count_line(own: Sequence[Column], title: str) -> str:
    cells = [cell for column in own for cell in column.cells]
    marks = Counter(cell.mark for cell in cells)
    verdicts = Counter(column.verdict for column in own)
    counts = [len(cells), *(marks[mark] for mark in MARKS)]
    counts += [len(own), *(verdicts[one] for one in VERDICTS)]
    return table_row([title, *map(str, counts)])


def _overview(found: Sequence[Column]) -> list[str]:
    lines = [table_row(["table or figure", "reading", *VERDICTS]), table_row(["---"] * 5)]
    for own in _by(lambda one: (one.experiment.name, one.scenario), found).values():
        scenario = own[0].scenario
        shows = scenario.shows if scenario else ", ".join(own[0].experiment.shows)
        named = {
            verdict: ", ".join(_label(one) for one in own if one.verdict == verdict)
            for verdict in VERDICTS
        }
        link = f"[{own[0].experiment.reading}](results/{own[0].experiment.name}/README.md)"
        title = f"`{shows}`" + (f" {scenario.title}" if scenario else "")
        lines.append(table_row([title, link, *(named[one] or "–" for one in VERDICTS)]))
    return lines


def _label(column: Column) -> str:
    label = next(one.label for one in column.experiment.measures if one.name == column.measure)
    agree = sum(cell.mark == "agrees" for cell in column.cells)
    return f"{label} ({agree}/{len(column.cells)})"


def _details(own: Sequence[Column]) -> list[str]:
    """Return the table of one scenario, or of a figure."""
    first, scenario = own[0], own[0].scenario
    title = scenario.title if scenario else first.experiment.title
    heading = f"### {title}: {READINGS[first.experiment.reading]}"
    places = [_place(cell, first) for cell in first.cells]
    cells = {(column.measure, _place(cell, first)): cell for column in own for cell in column.cells}
    lines = [heading, "", table_row(["", *(_label(column) for column in own)])]
    lines.append(table_row(["---"] * (1 + len(own))))
    lines += [
        table_row([place, *(str(cells[column.measure, place]) for column in own)])
        for place in places
    ]
    return [*lines, ""]


def _place(cell: Cell, column: Column) -> str:
    """Return the name of a row."""
    if column.scenario is None:
        return cell.scenario.title
    return METHODS[cell.row].label if cell.x is None else f"ξ = {cell.x:g}"
