"""Methods side by side: fidelity, errors or coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.results.plots.canvas import BLUE, ORANGE, literal, log_scale, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairshapley.comparison.audits import Audit, Comparison


def plot_comparison(
    comparison: Comparison, kind: str = "fidelity", axes: Axes | None = None
) -> Axes:
    """One row per method.

    Parameters
    ----------
    comparison
        What `fairshapley.compare` gives.
    kind
        "fidelity": the true and the reported minimum fidelity. "errors": the root mean squared
        error of every player, as a box.
    axes
        Where to draw; by default a new figure.
    """
    kinds = {"fidelity": _draw_fidelity, "errors": _draw_errors}
    draw = kinds[checks.choice("kind", kind, tuple(kinds))]
    axes = new_axes(axes)
    audits = list(comparison.audits.values())
    draw(axes, audits, np.arange(len(audits)))
    axes.set_ylim(-0.5, len(audits) - 0.5)
    axes.set_yticks(np.arange(len(audits)), [literal(name) for name in comparison.audits])
    axes.invert_yaxis()
    return axes


def _evaluations(audits: Sequence[Audit]) -> str:
    return f"{audits[0].evaluations:,.0f} evaluations"


def _draw_fidelity(axes: Axes, audits: Sequence[Audit], places: IntArray) -> None:
    scores = np.array([[one.min_true_fidelity, one.min_reported_fidelity] for one in audits])
    finite = scores[np.isfinite(scores) & (scores > 0)]
    # An infinite score (exact values) is drawn beyond all others, as a triangle.
    beyond = 10 * float(finite.max(initial=1.0))
    rows = (("true", BLUE, "full"), ("reported", ORANGE, "none"))
    for column, (label, colour, fill) in enumerate(rows):
        known = np.where(scores[:, column] > 0, scores[:, column], np.nan)
        style: dict[str, Any] = {"color": colour, "fillstyle": fill, "markersize": 8}
        axes.plot(known, places, "o", label=label, **style)
        proven = np.isinf(known)
        if proven.any():
            away = np.full(int(proven.sum()), beyond)
            axes.plot(away, places[proven], ">", label=f"{label}, infinite", **style)
    errors = np.array([one.min_true_fidelity_error for one in audits])
    drawn = np.isfinite(errors) & (scores[:, 0] > 0)
    # A bar of one standard error; on a logarithmic axis it must end above 0.
    reach = [np.minimum(errors, 0.9 * scores[:, 0])[drawn], errors[drawn]]
    axes.errorbar(scores[drawn, 0], places[drawn], xerr=reach, fmt="none", ecolor=BLUE)
    log_scale(axes, "x")
    axes.set_xlabel(
        f"minimum fidelity ± standard error, ξ = {audits[0].xi:g}, {_evaluations(audits)}"
    )
    axes.legend()


def _draw_errors(axes: Axes, audits: Sequence[Audit], places: IntArray) -> None:
    errors: list[FloatArray] = [np.sqrt(one.mse) for one in audits]
    style: dict[str, Any] = {"orientation": "horizontal", "medianprops": {"color": BLUE}}
    axes.boxplot(errors, positions=places, whis=(0, 100), **style)
    if all((one > 0).all() for one in errors):  # methods often differ by orders of magnitude
        log_scale(axes, "x")
    axes.set_xlabel(f"root mean squared error of each player, {_evaluations(audits)}")
