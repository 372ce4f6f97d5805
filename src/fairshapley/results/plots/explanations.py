"""Explanations: what each feature or word adds to a prediction, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray
from fairshapley.results.plots.canvas import BLUE, GREY, ORANGE, literal, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches a player takes, and how many are drawn by default.
ROW_HEIGHT, MOST = 0.3, 12
# A bar of two standard errors to either side misses in about one case of twenty.
REACH = 2.0
# Words in a line of a text.
LINE = 10


def plot_waterfall(
    values: FloatArray,
    errors: FloatArray,
    names: list[str],
    base: float,
    axes: Axes | None = None,
    most: int = MOST,
) -> Axes:
    """Draw steps from the base value to the prediction, the largest on top; whiskers: 2 errors."""
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:most], order[most:]
    steps = np.append(values[shown], values[rest].sum() if len(rest) else [])
    widths = np.append(errors[shown], np.sqrt(np.square(errors[rest]).sum()) if len(rest) else [])
    labels = [names[player] for player in shown] + [f"{len(rest)} others"] * bool(len(rest))
    axes = new_axes(axes, height=max(2.0, 1.2 + ROW_HEIGHT * len(steps)))
    # The smallest comes first, at the bottom, so that the largest step ends at the prediction.
    starts = base + np.append(0.0, np.cumsum(steps[::-1])[:-1])[::-1]
    colours = [BLUE if step >= 0 else ORANGE for step in steps]
    places = np.arange(len(steps))
    axes.barh(places, steps, left=starts, color=colours)
    axes.errorbar(
        starts + steps, places, xerr=REACH * widths, fmt="none", ecolor="black", capsize=2
    )
    reach = REACH * widths + 0.02 * float(np.ptp([*starts, *(starts + steps)]) or 1.0)
    for place, (start, step) in enumerate(zip(starts, steps, strict=True)):
        side = 1 if step >= 0 else -1
        where = (start + step + side * reach[place], place)
        axes.annotate(f"{step:+.3g}", where, ha="left" if side > 0 else "right", va="center")
    prediction = base + float(values.sum())
    for x, y, text in ((base, len(steps), "base"), (prediction, -1, "prediction")):
        axes.axvline(x, color=GREY, linewidth=0.8, linestyle=":")
        axes.annotate(f"{text} {x:.4g}", (x, y), ha="center", va="center", weight="bold")
    axes.set_yticks(places, [literal(name) for name in labels])
    axes.set_ylim(len(steps) + 0.5, -1.5)
    ends = np.array([base, *starts, *(starts + steps)])
    room = 0.35 * float(np.ptp(ends) or 1.0)
    axes.set_xlim(ends.min() - room, ends.max() + room)
    axes.set_xlabel("prediction")
    axes.set_title("From the base value to the prediction")
    return axes


def plot_beeswarm(
    values: FloatArray,
    data: NDArray[Any],
    names: list[str],
    axes: Axes | None = None,
    most: int = MOST,
) -> Axes:
    """Draw a dot for each row and feature at its value, coloured by the rank of its content."""
    order = np.argsort(-np.nanmean(np.abs(values), axis=0), kind="stable")[:most]
    axes = new_axes(axes, height=max(2.0, 1.2 + ROW_HEIGHT * len(order)))
    for place, player in enumerate(order.tolist()):
        dots = values[:, player]
        # Dots that would overlap go up and down in turn, farther with each.
        bins = np.round(dots / max(float(np.ptp(values[:, order])), 1e-300) * 60)
        above = np.array([int((bins[:at] == one).sum()) for at, one in enumerate(bins)])
        offsets = (above + 1) // 2 * np.where(above % 2, 1, -1) * min(0.06, 0.8 / (above.max() + 1))
        ranks = np.unique(_numbers(data[:, player]), return_inverse=True)[1]
        shares = ranks / max(int(ranks.max(initial=0)), 1)
        drawn = axes.scatter(
            dots, place + offsets, s=10, c=shares, cmap="cividis", vmin=0.0, vmax=1.0
        )
    bar = axes.figure.colorbar(drawn, ax=axes, ticks=[0, 1], aspect=40, pad=0.01)
    bar.set_ticklabels(["low", "high"])
    bar.set_label("content of the feature", labelpad=-10)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_yticks(np.arange(len(order)), [literal(names[player]) for player in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel("value: what the feature adds to the prediction")
    axes.set_title(f"{len(values):,} rows, features by mean |value|")
    return axes


def _numbers(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of numbers as it is, any other one as texts."""
    try:
        return np.nan_to_num(column.astype(np.float64))
    except (TypeError, ValueError):
        return column.astype(str)


def plot_text(
    values: FloatArray, errors: FloatArray, words: list[str], axes: Axes | None = None
) -> Axes:
    """Draw the words of a text on their values; those within 2 errors of zero are grey."""
    axes = new_axes(axes, height=1.0 + 0.5 * (1 + len(words) // LINE))
    largest = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    for at, (word, value) in enumerate(zip(words, values.tolist(), strict=True)):
        line, place = divmod(at, LINE)
        sure = abs(value) > REACH * errors[at]
        colour = (BLUE if value > 0 else ORANGE) if sure else GREY
        box = {"facecolor": colour, "alpha": 0.15 + 0.7 * abs(value) / largest, "edgecolor": "none"}
        text = f"{literal(word)}\n{value:+.2g}"
        axes.text((place + 0.5) / LINE, -line, text, ha="center", va="center", bbox=box, fontsize=8)
    axes.set_ylim(-(len(words) - 1) // LINE - 0.6, 0.6)
    axes.set_axis_off()
    return axes
