"""A report as Markdown: both accountings, the published numbers beside ours, and who wins."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairshapley.paper.experiment import Accounting, Measure, Scenario
from fairshapley.paper.methods import METHODS
from fairshapley.paper.published_numbers import Published, published_numbers
from fairshapley.paper.report import Number, Report

# A curve of so few points is a table as well.
FEW_POINTS = 8

TITLES: dict[Accounting, str] = {
    "paper": "The paper's accounting: marginals counted, scores as reported",
    "honest": "The honest accounting: equal distinct utility evaluations, scores audited",
}


def markdown(report: Report) -> str:
    """The whole report."""
    experiment, setting = report.experiment, report.setting
    lines = [
        f"# {experiment.title}",
        "",
        f"Recomputes {', '.join(f'`{label}`' for label in experiment.shows)} of the paper.",
        "",
        f"- command: `{report.command}`",
        f"- {setting.trials} trials, {_budget(report)}, ξ = {experiment.xi:g}, seed {report.seed}",
        f"- {report.seconds:.0f} s for this run; {report.computing:.0f} s of CPU time in all",
        "- ours ± standard error over the trials; the paper's number in brackets where it has one; "
        "the best of a column is bold (a tie by rounding is broken by the digits behind)",
        *(f"- {note}" for note in report.notes),
        "",
    ]
    numbers = {
        (one.scenario, one.method, one.accounting, one.measure, one.x): one
        for one in report.numbers
    }
    known = published_numbers(experiment.name)
    names = {one.scenario for one in report.numbers}
    for scenario in experiment.scenarios:
        if scenario.name in names:
            lines += _scenario(report, scenario, numbers, known)
    lines += _pictures(report)
    return "\n".join(lines).rstrip() + "\n"


Numbers = dict[tuple[str, str, Accounting, str, float | None], Number]


def _budget(report: Report) -> str:
    setting = report.setting
    bootstrap = (
        f"a bootstrap of {setting.bootstrap} permutations"
        if setting.bootstrap_marginals is None
        else f"a bootstrap of {setting.bootstrap_marginals} marginals"
    )
    honest = "what these cost at most"
    if setting.evaluations is not None:
        honest = f"{setting.evaluations:,} evaluations"
    elif setting.share is not None:
        honest = f"{setting.share:.0%} of all coalitions"
    return f"{bootstrap} and {setting.marginals:,} marginals (honest: {honest})"


def _scenario(
    report: Report,
    scenario: Scenario,
    numbers: Numbers,
    known: dict[tuple[str, str, str, float | None], Published],
) -> list[str]:
    lines = [f"## {scenario.title}", "", f"`{scenario.shows}`", ""]
    methods = [
        name for name in METHODS if (scenario.name, name, "paper", "evaluations", None) in numbers
    ]
    for accounting, title in TITLES.items():
        columns = [
            measure
            for measure in report.experiment.measures
            if accounting in measure.accountings and not measure.x
        ]
        lines += [f"### {title}", ""]
        lines += _table(scenario, accounting, columns, methods, numbers, known)
        for measure in report.experiment.measures:
            if measure.x and accounting in measure.accountings:
                lines += _curve_table(scenario, accounting, measure, methods, numbers, known)
    return lines + _winners(report, scenario, methods, numbers)


def _table(
    scenario: Scenario,
    accounting: Accounting,
    columns: Sequence[Measure],
    methods: Sequence[str],
    numbers: Numbers,
    known: dict[tuple[str, str, str, float | None], Published],
) -> list[str]:
    heads = ["method", "marginals", "evaluations", *(measure.label for measure in columns)]
    lines = [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]
    best = {
        measure.name: _best(scenario, accounting, measure, methods, numbers) for measure in columns
    }
    for method in methods:
        cells = [METHODS[method].label]
        for cost in ("marginals", "evaluations"):
            one = numbers[scenario.name, method, accounting, cost, None]
            cells.append("–" if math.isnan(one.value) else f"{one.value:,.0f}")
        for measure in columns:
            found = numbers.get((scenario.name, method, accounting, measure.name, None))
            text = "–" if found is None else _value(found.value, found.error)
            if method == best[measure.name]:
                text = f"**{text}**"
            old = known.get((scenario.name, method, measure.name, None))
            if old is not None and accounting == "paper":
                text += f" [{_value(old.value, old.error)}]"
            cells.append(text)
        lines.append(_row(cells))
    return [*lines, ""]


def _curve_table(
    scenario: Scenario,
    accounting: Accounting,
    measure: Measure,
    methods: Sequence[str],
    numbers: Numbers,
    known: dict[tuple[str, str, str, float | None], Published],
) -> list[str]:
    """A curve of few points, a column for each."""
    keys = [
        key for key in numbers if key[0] == scenario.name and key[2:4] == (accounting, measure.name)
    ]
    places = sorted({key[4] for key in keys if key[4] is not None})
    if not 0 < len(places) <= FEW_POINTS:
        return []
    heads = [f"{measure.label}, by {measure.x}", *(f"{place:g}" for place in places)]
    lines = [_row(heads), _row(["---", *["---:"] * len(places)])]
    for method in methods:
        cells = [METHODS[method].label]
        for place in places:
            found = numbers.get((scenario.name, method, accounting, measure.name, place))
            text = "–" if found is None else _value(found.value, found.error)
            old = known.get((scenario.name, method, measure.name, place))
            if old is not None and accounting == "paper":
                text += f" [{_value(old.value, old.error)}]"
            cells.append(text)
        lines.append(_row(cells))
    return [*lines, ""]


def _best(
    scenario: Scenario,
    accounting: Accounting,
    measure: Measure,
    methods: Sequence[str],
    numbers: Numbers,
) -> str | None:
    """The method with the best number; enumeration does not compete."""
    values = {
        method: numbers[key].value
        for method in methods
        if (key := (scenario.name, method, accounting, measure.name, None)) in numbers
        and not math.isnan(numbers[key].value)
        and method != "exact"
    }
    if not measure.better or not values:
        return None
    pick = max if measure.better == "higher" else min
    return pick(values, key=lambda method: values[method])


def _winners(
    report: Report, scenario: Scenario, methods: Sequence[str], numbers: Numbers
) -> list[str]:
    """At equal evaluations, the best by every measure, and the best of the paper's own."""
    lines = []
    for measure in report.experiment.measures:
        if measure.x or "honest" not in measure.accountings or not measure.better:
            continue
        best = _best(scenario, "honest", measure, methods, numbers)
        old = [method for method in methods if METHODS[method].published]
        theirs = _best(scenario, "honest", measure, old, numbers)
        if best is None or theirs is None:
            continue
        value = numbers[scenario.name, best, "honest", measure.name, None].value
        said = f"- {measure.label}: {METHODS[best].label} ({_digits(value)})"
        if best != theirs:
            other = numbers[scenario.name, theirs, "honest", measure.name, None].value
            said += f"; of the paper's methods {METHODS[theirs].label} ({_digits(other)})"
        lines.append(said)
    return ["Who wins at equal evaluations:", "", *lines, ""] if lines else []


def _pictures(report: Report) -> list[str]:
    from fairshapley.paper.figures import picture_names

    names = [name for name in picture_names(report) if (report.folder / name).exists()]
    return [f"![{name}]({name})" for name in names]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _value(value: float, error: float) -> str:
    if math.isnan(error):
        return _digits(value)
    return f"{_digits(value)} ± {_digits(error, 2)}"


def _digits(value: float, digits: int = 3) -> str:
    """A number with a few digits, as the paper's tables have them."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if 0.01 <= abs(value) < 10_000:
        return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.{digits - 1}e}"
