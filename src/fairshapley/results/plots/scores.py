"""The fidelity scores of all players, and the score that fairness asks for."""

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
        The fairness asked for; see `fairshapley.required_fidelity`.
    """
    scores = np.sort(result.fidelity())
    if np.isnan(scores).any():
        raise InputError(
            f"the fidelity of {int(np.isnan(scores).sum())} players is not known yet: give the run "
            "a larger budget"
        )
    needed = required_line(result, epsilon1, delta, bound)
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
    axes.axhline(needed, color=ORANGE, linestyle="--", label=required_label(epsilon1, delta, bound))
    log_scale(axes, "y")
    axes.set_xlabel("players, from the lowest fidelity to the highest")
    axes.set_ylabel(f"fidelity, ξ = {result.xi:g}")
    axes.legend()
    return axes


def required_line(result: Result, epsilon1: float, delta: float, bound: str) -> float:
    """The minimum fidelity with which the players of a result are fair."""
    return required_fidelity(
        result.n_players, epsilon1, delta, independent=result.independent, bound=bound
    )


def required_label(epsilon1: float, delta: float, bound: str) -> str:
    """What a legend calls that score."""
    return f"needed for ε1 = {epsilon1:g}, δ = {delta:g} ({bound})"
