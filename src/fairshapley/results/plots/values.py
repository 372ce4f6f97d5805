"""Values with their intervals, the highest on top."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.text import visible
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.levels import DELTA
from fairshapley.results.plots.canvas import BLUE, GREY, literal, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairshapley.fairness.findings import Findings
    from fairshapley.results.result import Result

# Inches a player takes, so that names do not overlap.
ROW_HEIGHT = 0.22
# Letters in a line below the axis.
LINE = 80


def plot_values(
    result: Result,
    axes: Axes | None = None,
    *,
    most: int = 40,
    simultaneous: bool = False,
    delta: float = DELTA,
    bound: str = "normal",
) -> Axes:
    """The values with intervals at level 1 − δ, sorted; a hollow mark has no known interval.

    Parameters
    ----------
    result
        Whose values to draw.
    axes
        Where to draw; by default a new figure.
    most
        How many players to draw. Of more, those of the highest and of the lowest values are.
    simultaneous
        Whether the intervals hold for all players together, as in a certificate; by default each
        holds on its own.
    delta, bound
        The probability that an interval misses, and what it rests on when simultaneous.
    """
    shown, gap = _chosen(result, checks.whole("most", most, least=2))
    findings = result.findings(delta=delta, bound=bound)
    if simultaneous:
        decisions = result.decisions(delta, bound)
        widths = (decisions.upper - decisions.lower) / 2
    else:
        single = findings.single_widths(delta)
        widths = result.standard_errors if single is None else single
    widths = widths[shown]
    values, places = result.values[shown], np.arange(len(shown))
    axes = new_axes(axes, height=max(2.0, 1.2 + ROW_HEIGHT * len(shown)))
    known = np.isfinite(widths)
    axes.errorbar(
        values[known], places[known], xerr=widths[known], fmt="o", color=BLUE, markersize=4
    )
    if not known.all():
        axes.plot(values[~known], places[~known], "o", color=BLUE, markersize=5, fillstyle="none")
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    names = result.names()
    axes.set_yticks(places, [literal(names[player]) for player in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    if gap is not None:
        axes.axhline(gap - 0.5, color=GREY, linewidth=0.8, linestyle="--")
    axes.set_xlabel(_caption(result, findings, len(shown), simultaneous))
    return axes


def _chosen(result: Result, most: int) -> tuple[IntArray, int | None]:
    """The players to draw from the highest value on, and where those between are left out."""
    order = np.argsort(-result.values, kind="stable")
    order = order[np.isfinite(result.values[order])]
    if order.size == 0:
        raise InputError("no player has a value yet: give the run a larger budget")
    if order.size <= most:
        return order, None
    top = most - most // 2
    return np.concatenate([order[:top], order[order.size - most // 2 :]]), top


def _caption(result: Result, findings: Findings, drawn: int, simultaneous: bool) -> str:
    """What is drawn: the kind of value, its intervals, and who is left out."""
    label = "Shapley value" if result.semivalue == "shapley" else f"{result.semivalue} value"
    if result.exact:
        label += " (exact)"
    elif findings.doubts:
        why = fill(visible(f"no intervals: {'; '.join(findings.doubts)}"), LINE)
        label += ", ± 1 standard error\n" + why.replace("$", r"\$")
    else:
        together = "all together" if simultaneous else "each on its own"
        label += f", {100 * (1 - findings.delta):.4g} % intervals {together}"
    valued = int(np.isfinite(result.values).sum())
    if drawn < valued:
        label += f"\nhighest and lowest {drawn} of {valued:,} players"
    if valued < result.n_players:
        label += f"\n{result.n_players - valued} players have no value yet"
    return label
