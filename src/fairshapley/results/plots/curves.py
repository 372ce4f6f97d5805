"""The curve of adding or removing players."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairshapley.results.plots.canvas import legend_label, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairshapley.uses.curves import Curve


def plot_curve(curve: Curve, axes: Axes | None = None, *, label: str | None = None) -> Axes:
    """Utility against the number of players added or removed.

    Parameters
    ----------
    curve
        What `fairshapley.curve` gives.
    axes
        Where to draw; by default a new figure.
    label
        What the legend calls the curve; by default which values came first.
    """
    axes = new_axes(axes)
    # With many points marks would hide the line.
    mark = "o" if len(curve.counts) <= 50 else ""
    name = f"{curve.first}est value first" if label is None else legend_label(label)
    axes.plot(curve.counts, curve.utilities, marker=mark, markersize=4, label=name)
    axes.set_xlabel("players added" if curve.action == "add" else "players removed")
    axes.set_ylabel("utility")
    axes.legend()
    return axes
