"""The charts of a report: their data, a sentence for those who cannot see them, and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.text import several
from fairshapley._basics.types import FloatArray
from fairshapley.results.checkpoints import SizeBin
from fairshapley.results.report.fairness import LARGEST_TOLERANCE, ToleranceCurves, target_fidelity
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# A phone's chart has room for names of this many letters, as in charts.js.
NARROW_NAME = 14
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
    caption = f"From the highest to the lowest. {table.intervals.meaning}"
    if max(map(len, table.names)) > NARROW_NAME:
        caption += " Where a name is too long for the chart, the table below has it in full."
    return Chart(
        "values",
        "Values" if table.exact else "Values with intervals",
        caption,
        f"Values of {several(len(table.names), 'player')}, sorted: the highest is {number(high)}, "
        f"the median {number(middle)}, the lowest {number(low)}. The table of players lists all.",
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
        "A squared signal-to-noise ratio: the higher it is, the more certain the value. The dashed "
        "line is the lowest score that Proposition 1 of the paper allows at the requested "
        "tolerance, with normally distributed errors.",
        f"Fidelity scores from {number(known.min())} to {number(known.max())}. "
        f"{several(below, 'player')} below the required score of {number(target)}.",
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
        "Each value is the average of this many sampled contributions.",
        f"From {int(counts.min()):,} to {int(counts.max()):,} contributions per player.",
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
        "Coalitions requested, by size",
        "A coalition that was requested again is counted again, but was evaluated only once.",
        f"The most coalitions, {most.coalitions:,}, were requested at size {_sizes(most)}.",
        ("coalition size", "coalitions requested"),
        rows,
        _size_data(profile) | {"y": [item.coalitions for item in profile]},
    )


def _convergence(result: Result, target: float) -> Chart | None:
    points = [point for point in result.history if math.isfinite(point.min_fidelity)]
    if len(points) < 2:
        return None
    first, last = points[0], points[-1]
    rows = tuple(
        (f"{point.evaluations:,}", number(point.min_fidelity), number(point.lower_fidelity))
        for point in points
    )
    return Chart(
        "convergence",
        "Minimum fidelity over the course of the run",
        "The cautious estimate allows for values that are overestimated by chance. The dashed "
        "line is the required score.",
        f"The minimum fidelity rose from {number(first.min_fidelity)} after "
        f"{first.evaluations:,} evaluations to {number(last.min_fidelity)} after "
        f"{last.evaluations:,}. The required score is {number(target)}."
        if last.min_fidelity > first.min_fidelity
        else f"After {last.evaluations:,} evaluations the minimum fidelity was "
        f"{number(last.min_fidelity)}. The required score is {number(target)}.",
        ("evaluations", "minimum fidelity", "cautious estimate"),
        rows,
        {
            "x": [point.evaluations for point in points],
            "lowest": [point.min_fidelity for point in points],
            "low": [point.lower_fidelity for point in points],
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
        "The mean utility of the requested coalitions of each size, with one standard deviation to "
        "each side.",
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
        "The average change of the utility when one more player joins a coalition of each size, "
        "from the mean utilities of the sizes.",
        f"One more player adds {number(steps[0][1])} on average to the smallest coalitions and "
        f"{number(steps[-1][1])} to the largest. The most, {number(best[1])}, is added at size "
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
        "Probability of failure δ against tolerance ε1",
        "A tolerance ε1 holds with a probability of failure δ at every point above and to the "
        "right of a line. The line of the certificate rests on the intervals alone; the lines of "
        "Proposition 1 treat the estimated fidelity as the true one.",
        "The smallest certified tolerance ε1 is "
        + (", ".join(certified) if certified else f"above {LARGEST_TOLERANCE:g} at every level")
        + f". The star marks ε1 = {number(epsilon1)} at δ = {number(delta)}.",
        ("source", "ε1", "δ"),
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
