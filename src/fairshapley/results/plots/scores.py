"""Fidelity, of all players and as a run went on, and marginals by coalition size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairshapley.errors import InputError
from fairshapley.fairness.guarantees import required_fidelity
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.results.plots.canvas import BLUE, ORANGE, log_scale, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairshapley.results.result import Result


def plot_fidelity(
    result: Result,
    axes: Axes | None = None,
    *,
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
    bound: str = "normal",
) -> Axes:
    """The scores from the lowest to the highest, with the one needed for (ε1, ξ·ε1, δ)-fairness.

    Infinite scores, of proven values, are drawn above all others, as triangles.

    Parameters
    ----------
    result
        Whose scores to draw.
    axes
        Where to draw; by default a new figure.
    epsilon1, delta, bound
        The fairness asked for; see `fairshapley.fairness.required_fidelity`.
    """
    scores = np.sort(result.fidelity())
    if np.isnan(scores).any():
        raise InputError(
            f"the fidelity of {int(np.isnan(scores).sum())} players is not known yet: give the run "
            "a larger budget"
        )
    needed = _required(result, epsilon1, delta, bound)
    axes = new_axes(axes)
    places, finite = np.arange(1, scores.size + 1), np.isfinite(scores)
    mark = "o" if scores.size <= 100 else "."
    # A score of 0 has no place on a logarithmic axis.
    drawn = np.where(scores > 0, scores, np.nan)
    if finite.any():
        axes.plot(places[finite], drawn[finite], mark, color=BLUE, markersize=4, label="fidelity")
    if not finite.all():
        highest = max(needed, float(scores[finite].max(initial=0.0)))
        above = np.full(int((~finite).sum()), 10 * highest)
        axes.plot(places[~finite], above, "^", color=BLUE, markersize=4, label="infinite (proven)")
    axes.set_xlabel("players, from the lowest fidelity to the highest")
    axes.set_ylabel(f"fidelity, ξ = {result.xi:g}")
    _draw_required(axes, needed, f"ε1 = {epsilon1:g}, δ = {delta:g} ({bound})")
    return axes


def plot_convergence(
    result: Result,
    axes: Axes | None = None,
    *,
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
    bound: str = "normal",
) -> Axes:
    """The minimum fidelity against the evaluations, with the one that fairness asks for.

    Parameters
    ----------
    result
        A result whose `history` was recorded.
    axes
        Where to draw; by default a new figure.
    epsilon1, delta, bound
        The fairness asked for; see `fairshapley.fairness.required_fidelity`.
    """
    points = [point for point in result.run.history if np.isfinite(point.min_fidelity)]
    if not points:
        why = "the result holds no history; estimate it again, or with a larger budget"
        why = "the values are exact" if result.exact else why
        raise InputError(f"there is no convergence to draw: {why}")
    needed = _required(result, epsilon1, delta, bound)
    axes = new_axes(axes)
    spent = [point.evaluations for point in points]
    for label, style, scores in (
        ("minimum fidelity", "-", [point.min_fidelity for point in points]),
        ("cautious estimate", ":", [point.lower_fidelity for point in points]),
    ):
        # A score of 0 has no place on a logarithmic axis.
        drawn = np.where(np.array(scores) > 0, scores, np.nan)
        axes.plot(spent, drawn, style, marker="o", markersize=3, color=BLUE, label=label)
    log_scale(axes, "x")
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"minimum fidelity, ξ = {result.xi:g}")
    _draw_required(axes, needed, f"ε1 = {epsilon1:g}, δ = {delta:g} ({bound})")
    return axes


def _required(result: Result, epsilon1: float, delta: float, bound: str) -> float:
    """The minimum fidelity with which the players of a result are fair."""
    return required_fidelity(
        result.n_players, epsilon1, delta, independent=result.evidence.independent, bound=bound
    )


def _draw_required(axes: Axes, needed: float, aim: str) -> None:
    axes.axhline(needed, color=ORANGE, linestyle="--", label=f"needed for {aim}")
    log_scale(axes, "y")
    axes.legend()
