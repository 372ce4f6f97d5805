"""A report as Markdown: both accountings, the published numbers beside ours, and who wins."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairshapley_paper.experiment import Accounting, Measure, Scenario, Setting
from fairshapley_paper.figures import picture_names
from fairshapley_paper.methods import METHODS
from fairshapley_paper.report import Number, Report, Valued, published_beside

# A curve of so few points is a table as well.
FEW_POINTS = 8

TITLES: dict[Accounting, str] = {
    "paper": "The paper's accounting: marginals counted, scores as reported",
    "honest": "The honest accounting: equal distinct utility evaluations, scores audited",
}


def markdown(report: Report) -> str:
    """Return the whole report."""
    experiment, setting = report.experiment, report.setting
    lines = [
        f"# {experiment.title}",
        "",
        f"Recomputes {', '.join(f'`{label}`' for label in experiment.shows) or 'a table of it'}.",
        "",
        f"- command: `{report.command}`",
        f"- {setting.trials} trials, {_budget(setting)}, ξ = {experiment.xi:g}, seed {report.seed}",
        f"- {report.seconds:.0f} s for this run; {report.computing:.0f} s of CPU time in all",
        "- ours ± standard error over the trials; the paper's number in brackets where it has one; "
        "the best of a column is bold (a tie by rounding is broken by the digits behind)",
        *(f"- {note}" for note in report.notes),
        "",
    ]
    names = {number.scenario for number in report.numbers}
    for scenario in experiment.scenarios:
        if scenario.name in names:
            lines += _Section(report, scenario).lines()
    pictures = [name for name in picture_names(report) if (report.folder / name).exists()]
    lines += [f"![{name}]({name})" for name in pictures]
    return "\n".join(lines).rstrip() + "\n"


def _budget(setting: Setting) -> str:
    honest = "what these cost at most"
    if setting.evaluations is not None:
        honest = f"{setting.evaluations:,} evaluations"
    elif setting.share is not None:
        honest = f"{setting.share:.0%} of all coalitions"
    return (
        f"a bootstrap of {setting.bootstrap} permutations and {setting.marginals:,} marginals "
        f"(honest: {honest})"
    )


class _Section:
    """The tables of one scenario."""

    def __init__(self, report: Report, scenario: Scenario) -> None:
        self.scenario = scenario
        self.measures = report.experiment.measures
        self.numbers = {
            (number.method, number.accounting, number.measure, number.x): number
            for number in report.numbers
            if number.scenario == scenario.name
        }
        self.published = published_beside(report)
        self.methods = [
            name for name in METHODS if (name, "paper", "evaluations", None) in self.numbers
        ]

    def _of(self, accounting: Accounting) -> list[str]:
        """Return the methods with numbers in one of the accountings."""
        return [
            name for name in self.methods if (name, accounting, "evaluations", None) in self.numbers
        ]

    def lines(self) -> list[str]:
        """Return the tables of both accountings, the curves of few points, and the winners."""
        lines = [f"## {self.scenario.title}", ""]
        lines += [f"`{self.scenario.shows}`", ""] if self.scenario.shows else []
        for accounting, title in TITLES.items():
            if not self._of(accounting):
                continue
            shown = [measure for measure in self.measures if accounting in measure.accountings]
            lines += [f"### {title}", ""]
            lines += self._table(accounting, [measure for measure in shown if not measure.x])
            for measure in shown:
                lines += self._curve_table(accounting, measure) if measure.x else []
        return lines + self._winners()

    def _table(self, accounting: Accounting, measures: Sequence[Measure]) -> list[str]:
        best = [self._best(accounting, measure, self.methods) for measure in measures]
        rows = []
        methods = self._of(accounting)
        for method in methods:
            costs = [
                self.numbers[method, accounting, cost, None].value
                for cost in ("marginals", "evaluations")
            ]
            cells = [
                self._cell(method, accounting, measure, bold=method == winner)
                for measure, winner in zip(measures, best, strict=True)
            ]
            rows.append(["–" if math.isnan(cost) else f"{cost:,.0f}" for cost in costs] + cells)
        heads = ["marginals", "evaluations", *(measure.label for measure in measures)]
        return self._grid("method", methods, heads, rows)

    def _curve_table(self, accounting: Accounting, measure: Measure) -> list[str]:
        """Return a curve of few points, a column for each."""
        wanted = (accounting, measure.name)
        places = sorted(
            {x for _, *key, x in self.numbers if tuple(key) == wanted and x is not None}
        )
        if not 0 < len(places) <= FEW_POINTS:
            return []
        methods = self._of(accounting)
        rows = [[self._cell(method, accounting, measure, x) for x in places] for method in methods]
        corner = f"{measure.label}, by {measure.x}"
        return self._grid(corner, methods, [f"{x:g}" for x in places], rows)

    def _grid(
        self,
        corner: str,
        methods: Sequence[str],
        heads: Sequence[str],
        rows: Sequence[Sequence[str]],
    ) -> list[str]:
        """Return a table with a row for each method."""
        labels = [METHODS[method].label for method in methods]
        body = [table_row([label, *cells]) for label, cells in zip(labels, rows, strict=True)]
        return [table_row([corner, *heads]), table_row(["---", *["---:"] * len(heads)]), *body, ""]

    def _cell(
        self,
        method: str,
        accounting: Accounting,
        measure: Measure,
        x: float | None = None,
        *,
        bold: bool = False,
    ) -> str:
        """Our number, with the published one in brackets."""
        text = with_error(self.numbers.get((method, accounting, measure.name, x)))
        if bold:
            text = f"**{text}**"
        old = self.published.get((self.scenario.name, method, measure.name, x))
        return f"{text} [{with_error(old)}]" if old is not None and accounting == "paper" else text

    def _best(self, accounting: Accounting, measure: Measure, methods: Sequence[str]) -> str | None:
        """Return the method with the best number; enumeration does not compete."""
        keys = {
            method: (method, accounting, measure.name, None)
            for method in methods
            if method != "exact"
        }
        values = {
            method: self.numbers[key].value for method, key in keys.items() if key in self.numbers
        }
        known = [method for method, value in values.items() if not math.isnan(value)]
        if not measure.better or not known:
            return None
        return (max if measure.better == "higher" else min)(
            known, key=lambda method: values[method]
        )

    def _winners(self) -> list[str]:
        """At equal evaluations, the best by every measure, and the best of the paper's own."""
        published = [method for method in self.methods if METHODS[method].row == method]
        lines = []
        for measure in self.measures:
            if measure.x or "honest" not in measure.accountings:
                continue
            best = self._best("honest", measure, self.methods)
            theirs = self._best("honest", measure, published)
            if best is None or theirs is None:
                continue
            sentence = f"- {measure.label}: {self._named(best, measure)}"
            if best != theirs:
                sentence += f"; of the paper's methods {self._named(theirs, measure)}"
            lines.append(sentence)
        return ["Who wins at equal evaluations:", "", *lines, ""] if lines else []

    def _named(self, method: str, measure: Measure) -> str:
        value = self.numbers[method, "honest", measure.name, None].value
        return f"{METHODS[method].label} ({digits(value)})"


def table_row(cells: Sequence[str]) -> str:
    """Return a line of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_error(number: Number | Valued | None) -> str:
    """Return a number with its standard error, where it has one."""
    if number is None:
        return "–"
    if math.isnan(number.error):
        return digits(number.value)
    return f"{digits(number.value)} ± {digits(number.error, 2)}"


def digits(value: float, digits: int = 3) -> str:
    """Return a number with a few digits, as the paper's tables have them."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if 0.01 <= abs(value) < 10_000:
        return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.{digits - 1}e}"
