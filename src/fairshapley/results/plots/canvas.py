"""Axes to draw on, and texts that matplotlib shows as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fairshapley._basics.extras import extra
from fairshapley._basics.text import one_line
from fairshapley.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#7F7F7F"
LONGEST_NAME = 40


def new_axes(axes: Axes | None, *, height: float | None = None) -> Axes:
    """Return the axes given, or the axes of a new figure of this height in inches."""
    with extra("report", "plot needs matplotlib"):
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes as AnyAxes
    if axes is None:
        size = None if height is None else (plt.rcParams["figure.figsize"][0], height)
        return plt.subplots(layout="constrained", figsize=size)[1]
    if not isinstance(axes, AnyAxes):
        raise InputError(
            f"axes must be matplotlib axes, not {type(axes).__name__}: give one of plt.subplots()"
        )
    return axes


def log_scale(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with ticks that can be read over any range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if high < 1000 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def literal(text: str) -> str:
    r"""Return a text for matplotlib: no mathematics, one line, not too long.

    Examples
    --------
    >>> print(literal("$x$"))
    \$x\$
    """
    return one_line(text, LONGEST_NAME).replace("$", r"\$")


def legend_label(text: str) -> str:
    """Return a literal text for a legend, which leaves out what begins with an underscore."""
    shown = literal(text)
    return f" {shown}" if shown.startswith("_") else shown
