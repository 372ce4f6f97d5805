"""The charts of a report: what the page's script draws, and the same as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.fairness.guarantees import failure_probabilities, required_fidelity
from fairshapley.fairness.levels import joint_failure
from fairshapley.results.records import SizeBin
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result

QUANTILES = {
    "lowest": 0.0,
    "5 %": 0.05,
    "25 %": 0.25,
    "median": 0.5,
    "75 %": 0.75,
    "95 %": 0.95,
    "highest": 1.0,
}
# The tolerances ε1 of a curve, and the probabilities of failure at which certificates are tried.
TOLERANCES = tuple(10 ** (place / 16) for place in range(-32, 9))
LEVELS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6)
# A tolerance above this is not worth a certificate.
LARGEST_TOLERANCE = 3.0
LINES = {
    "certified": "certificate",
    "normal": "Proposition 1, normal",
    "chebyshev": "Proposition 1, Chebyshev",
}


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart; its words are in the template."""

    rows: Sequence[tuple[str, ...]]
    """The alternative for those who cannot see it"""
    data: dict[str, Any]
    """What is drawn, beside the table of players"""


def charts(result: Result, table: PlayerTable, epsilon1: float, delta: float) -> dict[str, Chart]:
    """Return the charts that a result has the numbers for, by the name the script knows."""
    target = required_fidelity(
        result.n_players, epsilon1, delta, independent=result.evidence.independent, bound="normal"
    )
    values, fidelity, counts = result.values, table.fidelity, result.counts.astype(np.float64)
    profile = result.run.profile
    # What one more player adds on average: differences of the mean utilities of sizes.
    steps = [(other.mean - one.mean) / (other.size - one.size) for one, other in pairwise(profile)]
    spread = [item.deviation for item in profile]
    found = {
        "values": _quantiles(values[~np.isnan(values)]),
        "fidelity": _quantiles(fidelity[np.isfinite(fidelity) & (fidelity > 0)], target=target),
        "contributions": _quantiles(counts if np.ptp(counts) > 0 else counts[:0]),
        "requests": _by_size(profile, y=[item.coalitions for item in profile]),
        "convergence": _convergence(result, target),
        "utilities": _by_size(profile, 2, y=[item.mean for item in profile], spread=spread),
        "marginals": _by_size(profile[:-1], 2, y=steps),
        "tolerance": _tolerance(tolerance_curves(result), epsilon1, delta),
    }
    return {key: chart for key, chart in found.items() if chart.rows}


def _quantiles(values: FloatArray, **data: float) -> Chart:
    if not values.size:
        return Chart([], {})
    levels = np.quantile(values, list(QUANTILES.values())).tolist()
    return Chart([*zip(QUANTILES, map(number, levels), strict=True)], data)


def _by_size(bins: Sequence[SizeBin], least: int = 1, **columns: Sequence[float]) -> Chart:
    """Chart numbers of each size; nothing with fewer sizes than `least`."""
    if len(bins) < least:
        return Chart([], {})
    sizes = [
        f"{item.first:,}" if item.first == item.last else f"{item.first:,} to {item.last:,}"
        for item in bins
    ]
    cells = [
        [f"{cell:,}" if isinstance(cell, int) else number(cell) for cell in column]
        for column in columns.values()
    ]
    data = {
        "x": [item.size for item in bins],
        "label": sizes,
        "width": [item.last - item.first + 1 for item in bins],
    }
    return Chart([*zip(sizes, *cells, strict=True)], data | columns)


def _convergence(result: Result, target: float) -> Chart:
    points = [point for point in result.run.history if math.isfinite(point.min_fidelity)]
    if len(points) < 2:
        return Chart([], {})
    x, lowest, low = zip(*points, strict=True)
    rows = [(f"{at:,}", number(one), number(other)) for at, one, other in points]
    return Chart(rows, {"x": x, "lowest": lowest, "low": low, "target": target})


def tolerance_curves(result: Result) -> dict[str, list[tuple[float, float]]]:
    """Return pairs (ε1, δ) that the certificate and Proposition 1 state; none where doubts are."""
    if result.exact or result.findings().doubts:
        return {}
    certified = [(result.findings(delta=delta).certificate.tightest, delta) for delta in LEVELS]
    lines = {"certified": [pair for pair in certified if pair[0] <= LARGEST_TOLERANCE]}
    scores, independent = result.fidelity(), result.evidence.independent
    for bound in ("normal", "chebyshev"):
        failures = [failure_probabilities(scores, e, bound) for e in TOLERANCES]
        deltas = [joint_failure(each, independent=independent) for each in failures]
        # Certainty of failure says nothing; nor do probabilities beyond any experiment.
        lines[bound] = [(e, d) for e, d in zip(TOLERANCES, deltas, strict=True) if 1e-9 < d < 1]
    return lines


def _tolerance(lines: dict[str, list[tuple[float, float]]], epsilon1: float, delta: float) -> Chart:
    rows = [
        (LINES[key], number(x), number(y))
        for key, points in lines.items()
        for x, y in (points if key == "certified" else points[::4])
    ]
    drawn = [
        {"name": LINES[key], "x": [x for x, _ in points], "y": [y for _, y in points]}
        for key, points in lines.items()
        if points
    ]
    return Chart(rows, {"lines": drawn, "asked": [epsilon1, delta]})
