"""The charts of a report: their data, a sentence for those who cannot see them, and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._types import FloatArray
from fairshapley.recording import SizeBin
from fairshapley.report.fairness import LARGEST_TOLERANCE, ToleranceCurves, target_fidelity
from fairshapley.report.players import PlayerTable
from fairshapley.report.wording import number, several

if TYPE_CHECKING:
    from fairshapley.result import Result

QUANTILES = (
    ("lowest", 0.0),
    ("5 %", 0.05),
    ("25 %", 0.25),
    ("median", 0.5),
    ("75 %", 0.75),
    ("95 %", 0.95),
    ("highest", 1.0),
)


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart: what is drawn, and its alternative in text."""

    key: str
    """What the page's script draws, from `data` or from the table of players"""
    title: str
    caption: str
    summary: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: dict[str, Any] = field(default_factory=dict)


def charts(
    result: Result, table: PlayerTable, curves: ToleranceCurves, epsilon1: float, delta: float
) -> dict[str, Chart]:
    """The charts that a result has the numbers for, by key."""
    target = target_fidelity(result, epsilon1, delta)
    found = [
        _values(table),
        _fidelity(table, target),
        _contributions(result),
        _requests(result.profile),
        _convergence(result, target),
        _utilities(result.profile),
        _marginals(result.profile),
        _tolerance(curves, epsilon1, delta),
    ]
    return {chart.key: chart for chart in found if chart is not None}


def _values(table: PlayerTable) -> Chart | None:
    known = table.values[~np.isnan(table.values)]
    if not known.size:
        return None
    low, middle, high = np.quantile(known, [0, 0.5, 1])
    return Chart(
        "values",
        "Values with intervals",
        f"From the highest to the lowest. {table.intervals.meaning}",
        f"Values of {several(len(table.names), 'player')}, sorted: the highest is {number(high)}, "
        f"the median {number(middle)}, the lowest {number(low)}. The table of players has all.",
        ("share of players below", "value"),
        _quantile_rows(known),
    )


def _fidelity(table: PlayerTable, target: float) -> Chart | None:
    known = table.fidelity[np.isfinite(table.fidelity) & (table.fidelity > 0)]
    if not known.size:
        return None
    below = int((table.fidelity < target).sum())
    return Chart(
        "fidelity",
        "Fidelity of each player",
        "A squared signal-to-noise ratio: the higher, the surer the value. The line is what the "
        "paper's Proposition 1 asks of the lowest, with normal errors.",
        f"Fidelity scores from the lowest, {number(known.min())}, to the highest, "
        f"{number(known.max())}; {several(below, 'player')} below the {number(target)} asked for.",
        ("share of players below", "fidelity"),
        _quantile_rows(known),
        {"target": target},
    )


def _contributions(result: Result) -> Chart | None:
    counts = result.counts
    if counts.min() == counts.max():
        return None
    return Chart(
        "contributions",
        "Contributions behind each value",
        "How many sampled contributions each player's value is the mean of.",
        f"From {int(counts.min()):,} to {int(counts.max()):,} contributions a player.",
        ("share of players below", "contributions"),
        _quantile_rows(counts.astype(np.float64)),
    )


def _requests(profile: Sequence[SizeBin]) -> Chart | None:
    if not profile:
        return None
    most = max(profile, key=lambda item: item.coalitions)
    rows = tuple((_sizes(item), f"{item.coalitions:,}") for item in profile)
    return Chart(
        "requests",
        "Coalitions asked for, by size",
        "A coalition that was known already is counted too, but cost nothing.",
        f"Coalitions asked for by size; the most, {most.coalitions:,}, at size {_sizes(most)}.",
        ("coalition size", "coalitions asked for"),
        rows,
        _size_data(profile) | {"y": [item.coalitions for item in profile]},
    )


def _convergence(result: Result, target: float) -> Chart | None:
    looks = [look for look in result.history if math.isfinite(look.min_fidelity)]
    if len(looks) < 2:
        return None
    rows = tuple(
        (f"{look.evaluations:,}", number(look.min_fidelity), number(look.lower_fidelity))
        for look in looks
    )
    return Chart(
        "convergence",
        "The minimum fidelity as evaluations grew",
        "The low reading allows for values that are overestimated by chance. The dashed line is "
        "what is asked for.",
        f"The minimum fidelity went from {number(looks[0].min_fidelity)} after "
        f"{looks[0].evaluations:,} evaluations to {number(looks[-1].min_fidelity)} after "
        f"{looks[-1].evaluations:,}; asked for is {number(target)}.",
        ("evaluations", "minimum fidelity", "low reading"),
        rows,
        {
            "x": [look.evaluations for look in looks],
            "lowest": [look.min_fidelity for look in looks],
            "low": [look.lower_fidelity for look in looks],
            "target": target,
        },
    )


def _utilities(profile: Sequence[SizeBin]) -> Chart | None:
    if len(profile) < 2:
        return None
    first, last = profile[0], profile[-1]
    rows = tuple((_sizes(item), number(item.mean), number(item.deviation)) for item in profile)
    return Chart(
        "utilities",
        "Utility by coalition size",
        "The mean utility of the coalitions of each size that were evaluated, with one standard "
        "deviation to each side.",
        f"The mean utility goes from {number(first.mean)} at size {_sizes(first)} to "
        f"{number(last.mean)} at size {_sizes(last)}.",
        ("coalition size", "mean utility", "standard deviation"),
        rows,
        _size_data(profile)
        | {
            "y": [item.mean for item in profile],
            "spread": [item.deviation for item in profile],
        },
    )


def _marginals(profile: Sequence[SizeBin]) -> Chart | None:
    """What one more player adds on average: differences of the mean utilities of sizes."""
    if len(profile) < 3:
        return None
    steps = [
        (one, (other.mean - one.mean) / (other.size - one.size)) for one, other in pairwise(profile)
    ]
    best = max(steps, key=lambda step: step[1])
    return Chart(
        "marginals",
        "What one more player adds, by coalition size",
        "The mean marginal contribution at each size, from the mean utilities above: where the "
        "value comes from.",
        f"The mean marginal contribution is {number(steps[0][1])} at the smallest coalitions, "
        f"{number(steps[-1][1])} at the largest, and highest, {number(best[1])}, at size "
        f"{_sizes(best[0])}.",
        ("coalition size", "mean marginal contribution"),
        tuple((_sizes(item), number(step)) for item, step in steps),
        _size_data([item for item, _ in steps]) | {"y": [step for _, step in steps]},
    )


def _tolerance(curves: ToleranceCurves, epsilon1: float, delta: float) -> Chart | None:
    if not curves.certified and not any(curves.guaranteed.values()):
        return None
    names = {
        "certified": "certificate",
        "normal": "Proposition 1, normal",
        "chebyshev": "Proposition 1, Chebyshev",
    }
    lines = {"certified": curves.certified, **curves.guaranteed}
    rows = [
        (names[key], number(x), number(y))
        for key, points in lines.items()
        for x, y in (points if key == "certified" else points[::4])
    ]
    certified = [f"{number(x)} at δ = {number(y)}" for x, y in curves.certified if y in (0.1, 0.01)]
    return Chart(
        "tolerance",
        "The probability of failure δ against the tolerance ε1",
        "Above and to the right of a line the claim holds: a tolerance ε1 with a probability of "
        "failure δ. The certificate needs no true fidelity; the lines of Proposition 1 plug in the "
        "estimated one.",
        "The smallest certified tolerance ε1 is "
        + (", ".join(certified) if certified else f"above {LARGEST_TOLERANCE:g} at every level")
        + f"; asked for was ε1 = {number(epsilon1)} at δ = {number(delta)}.",
        ("by", "ε1", "δ"),
        tuple(rows),
        {
            "lines": [
                {"name": names[key], "x": [x for x, _ in points], "y": [y for _, y in points]}
                for key, points in lines.items()
                if points
            ],
            "asked": [epsilon1, delta],
        },
    )


def _quantile_rows(values: FloatArray) -> tuple[tuple[str, ...], ...]:
    levels = np.quantile(values, [level for _, level in QUANTILES]).tolist()
    rows = zip(QUANTILES, levels, strict=True)
    return tuple((name, number(value)) for (name, _), value in rows)


def _sizes(item: SizeBin) -> str:
    return f"{item.first:,}" if item.first == item.last else f"{item.first:,} to {item.last:,}"


def _size_data(profile: Sequence[SizeBin]) -> dict[str, Any]:
    return {
        "x": [item.size for item in profile],
        "label": [_sizes(item) for item in profile],
        "width": [item.last - item.first + 1 for item in profile],
    }
