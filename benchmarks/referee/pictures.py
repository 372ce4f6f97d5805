"""Pictures of the referee's findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

from benchmarks.referee.methods import DEFAULT, PROCESS
from benchmarks.referee.scores import Score

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

SHOWN = {
    DEFAULT: ("C3", "o"),
    PROCESS: ("k", "x"),
    "mc": ("C7", "v"),
    "shapiq KernelSHAP paired": ("C1", "D"),
    "shapiq OddSHAP": ("C4", "P"),
    "shapiq ProxySHAP": ("C2", "^"),
    "shapiq RegressionMSR": ("C5", "<"),
    "shapiq RegressionMSR 10 folds": ("C6", ">"),
    "shapiq SVARM": ("C8", "*"),
}
# In the README's picture: what is used most, and whatever is the best of the peers at a budget.
PEERS = (
    "shapiq UnbiasedKernelSHAP paired",
    "shapiq SVARM",
    "shapiq KernelSHAP paired",
    "shapiq Permutation",
)
COLUMNS = 4
# Small files: these are committed.
DPI = 80


def tables(found: Sequence[Score], path: Path) -> None:
    """Errors against evaluations per player, over all families of tables."""
    if not found:
        return
    figure, place = plt.subplots(figsize=(7, 4.5), layout="constrained")
    _lines(place, found)
    place.set_ylabel("MSE / mean φ²")
    place.set_xlabel("evaluations per player")
    figure.legend(loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def headline(found: Sequence[Score], path: Path) -> None:
    """Errors of the default and of the peers against evaluations: the README's picture."""
    if not path.parent.exists():
        return
    figure, place = plt.subplots(figsize=(8, 4), layout="constrained")
    for method in (DEFAULT, *PEERS):
        points = sorted((one.per_player, one.mse) for one in found if one.method == method)
        if not points:
            continue
        ours = method == DEFAULT
        across, up = zip(*[point for point in points if point[0] <= 30], strict=True)
        colour, name = ("#00796b", "fairshapley") if ours else ("0.55", method)
        place.loglog(across, up, color=colour, marker="o", markersize=4, lw=2.5 if ours else 1)
        place.annotate(
            f" {name}", (across[-1], up[-1]), color=colour, va="center", fontsize=9,
            weight="bold" if ours else "normal",
        )  # fmt: skip
    place.set_xlim(right=80)
    ticks = sorted({one.per_player for one in found if one.per_player <= 30})
    place.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    place.minorticks_off()
    place.set_xlabel("distinct utility evaluations per player")
    place.set_ylabel("mean squared error / mean φ²")
    place.set_title(
        "Error of the values against evaluations, 19 families of games (smaller is better)",
        fontsize=10,
    )
    place.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def others(found: Sequence[Score], title: Mapping[str, str], path: Path) -> None:
    """The same, a panel for each game."""
    names = list(dict.fromkeys(one.family for one in found))
    if not names:
        return
    rows = math.ceil(len(names) / COLUMNS)
    figure, axes = plt.subplots(
        rows, COLUMNS, figsize=(12, 2.8 * rows), layout="constrained", squeeze=False
    )
    for place, name in zip(axes.flat, names, strict=False):
        _lines(place, [one for one in found if one.family == name])
        place.set_title(title[name], fontsize=8)
    for place in axes.flat[len(names) :]:
        place.axis("off")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def _lines(place: Axes, found: Sequence[Score]) -> None:
    for method, (colour, marker) in SHOWN.items():
        points = sorted((one.per_player, one.mse) for one in found if one.method == method)
        if points:
            across, up = zip(*points, strict=True)
            place.loglog(across, up, color=colour, marker=marker, markersize=4, label=method)
