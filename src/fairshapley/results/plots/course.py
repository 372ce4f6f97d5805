"""What a run recorded of its course: the fidelity as it grew, and marginals by coalition size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairshapley.errors import InputError
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.results.plots.canvas import BLUE, GREY, ORANGE, log_scale, new_axes
from fairshapley.results.plots.scores import required_label, required_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairshapley.results.result import Result


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
        The fairness asked for; see `fairshapley.required_fidelity`.
    """
    points = [point for point in result.history if np.isfinite(point.min_fidelity)]
    if not points:
        raise InputError(
            "there is no convergence to draw: "
            + (
                "the values are exact"
                if result.exact
                else "the result holds no history; estimate it again, or with a larger budget"
            )
        )
    needed = required_line(result, epsilon1, delta, bound)
    axes = new_axes(axes)
    spent = [point.evaluations for point in points]
    for label, style, scores in (
        ("minimum fidelity", "-", [point.min_fidelity for point in points]),
        ("cautious estimate", ":", [point.lower_fidelity for point in points]),
    ):
        # A score of 0 has no place on a logarithmic axis.
        drawn = np.where(np.array(scores) > 0, scores, np.nan)
        axes.plot(spent, drawn, style, marker="o", markersize=3, color=BLUE, label=label)
    axes.axhline(needed, color=ORANGE, linestyle="--", label=required_label(epsilon1, delta, bound))
    log_scale(axes, "x")
    log_scale(axes, "y")
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"minimum fidelity, ξ = {result.xi:g}")
    axes.legend()
    return axes


def plot_sizes(result: Result, axes: Axes | None = None) -> Axes:
    """What a player adds on average to a coalition of each size.

    The difference of the mean utilities of neighbouring sizes, from the coalitions that the run
    asked for.

    Parameters
    ----------
    result
        A result whose `profile` was recorded.
    axes
        Where to draw; by default a new figure.
    """
    if len(result.profile) < 2:
        raise InputError(
            "there are no marginals by size to draw: the result holds no profile; estimate it again"
        )
    sizes = np.array([one.size for one in result.profile])
    means = np.array([one.mean for one in result.profile])
    marginals = np.diff(means) / np.diff(sizes)
    axes = new_axes(axes)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    mark = "o" if marginals.size <= 50 else ""
    axes.plot(sizes[:-1], marginals, marker=mark, markersize=4, color=BLUE)
    axes.set_xlabel("size of the coalition that a player joins")
    axes.set_ylabel("mean marginal contribution")
    return axes
