"""The pictures of a report: curves and, for the first of the plain numbers, dots."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairshapley._basics.files import write_whole
from fairshapley_paper.experiment import Accounting, Measure
from fairshapley_paper.methods import METHODS
from fairshapley_paper.report import Number, Report, published_beside

DOTS_PER_INCH = 80
COLUMNS = 4
FIGURE_1 = "figure_1.png"
# The paper's methods in hues, GAE in blues, ours in black and grey; the forms of one share a hue.
COLOURS = {
    "mc": "#d95f02",
    "owen": "#e7298a",
    "sobol": "#66a61e",
    "stratified": "#e6ab02",
    "kernel": "#a6761d",
    "gae-0": "#9ecae1",
    "gae-2": "#6baed6",
    "gae-5": "#2171b5",
    "gae-100": "#08306b",
    "adjusted": "#000000",
    "exact": "#525252",
    "own": "#e41a1c",
}


def _colour(method: str) -> str:
    method = "own" if ":" in method else method
    names = [name for name in COLOURS if method == name or method.startswith(f"{name}-")]
    return COLOURS[names[-1]] if names and method != "mc-walks" else "#969696"


def shown_measures(report: Report) -> list[Measure]:
    """Return the measures that have a picture: all curves, and the first plain number."""
    measures = report.experiment.measures
    plain = [measure for measure in measures if not measure.x][:1]
    return [*plain, *(measure for measure in measures if measure.x)]


def picture_names(report: Report) -> list[str]:
    """Return the files that `draw` writes."""
    names = [f"{measure.name}.png" for measure in shown_measures(report)]
    return [FIGURE_1, *names] if "ranked_fidelity.png" in names else names


def draw(report: Report) -> list[Path]:
    """Write the pictures; none where matplotlib is not installed."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        return []
    paths = []
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        for measure in shown_measures(report):
            chosen = [number for number in report.numbers if number.measure == measure.name]
            panels = [
                (scenario, accounting)
                for accounting in measure.accountings
                for scenario in report.experiment.scenarios
                if any((n.scenario, n.accounting) == (scenario.name, accounting) for n in chosen)
            ]
            if not panels:
                continue
            width = min(COLUMNS, max(1, len(panels) // len(measure.accountings)))
            rows = -(-len(panels) // width)
            figure = Figure(figsize=(3.6 * width + 1.4, 2.9 * rows), layout="constrained")
            grid = figure.subplots(rows, width, squeeze=False).ravel()
            for axes in grid[len(panels) :]:
                axes.set_axis_off()
            for axes, (scenario, accounting) in zip(grid, panels, strict=False):
                drawn = [
                    number
                    for number in chosen
                    if number.scenario == scenario.name and number.accounting == accounting
                ]
                axes.set_title(f"{scenario.title}\n({accounting} accounting)", fontsize=8)
                if measure.x:
                    _curves(axes, measure, drawn)
                else:
                    _dots(axes, report, measure, drawn, accounting)
            if measure.x:
                handles, labels = grid[0].get_legend_handles_labels()
                figure.legend(handles, labels, loc="outside right upper", fontsize=7)
            paths.append(_written(figure, report.folder / f"{measure.name}.png"))
        if FIGURE_1 in picture_names(report):
            paths.append(_written(_figure_1(report, Figure), report.folder / FIGURE_1))
    return paths


def _written(figure: Any, path: Path) -> Path:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    write_whole(path, picture.getvalue())
    return path


def _figure_1(report: Report, make: Any) -> Any:
    """Figure 1 and the appendix scatter as the paper draws them: MC, f with the true φ.

    A method of your own is drawn in the place of MC.
    """
    method = next((number.method for number in report.numbers if ":" in number.method), "mc")
    names = dict.fromkeys(number.scenario for number in report.numbers)
    figure = make(figsize=(8.0, 2.9 * len(names)), layout="constrained")
    grid = figure.subplots(len(names), 2, squeeze=False)
    for (left, right), name in zip(grid, names, strict=True):
        bands = []
        for what in ("fidelity", "accuracy"):
            wanted = f"ranked_{what}", name, method
            chosen = [
                number
                for number in report.numbers
                if (number.measure, number.scenario, number.method) == wanted
            ]
            bands.append(np.array([(number.value, number.error) for number in chosen]).T)
        scenario = next(part for part in report.experiment.scenarios if part.name == name)
        left.set_title(f"{scenario.title}, {METHODS[method].label}", fontsize=8)
        for axes, (y, error), label, colour in zip(
            (left, left.twinx()), bands, ("f", "APE^−½"), ("#1f77b4", "#ff7f0e"), strict=True
        ):
            axes.plot(y, color=colour)
            axes.fill_between(np.arange(len(y)), y - error, y + error, color=colour, alpha=0.3)
            axes.set_ylabel(label, color=colour)
        left.set_xlabel("training example, by APE^−½")
        right.plot(bands[1][0], bands[0][0], "o", ms=3, color="#1f77b4")
        right.set_xlabel("APE^−½")
        right.set_ylabel("f")
    return figure


def _curves(axes: Any, measure: Measure, numbers: Sequence[Number]) -> None:
    for method in METHODS:
        chosen = sorted(
            (number for number in numbers if number.method == method and number.x is not None),
            key=lambda number: number.x or 0.0,
        )
        if not chosen:
            continue
        x = np.array([number.x for number in chosen], dtype=np.float64)
        y = np.array([number.value for number in chosen])
        error = np.nan_to_num([number.error for number in chosen])
        colour = _colour(method)
        axes.plot(x, y, color=colour, lw=1.2, label=METHODS[method].label)
        axes.fill_between(x, y - error, y + error, color=colour, alpha=0.15, lw=0)
        if len(x) > 1 and x[0] > 0 and x[-1] / x[0] > 1000:
            axes.set_xscale("log")
    positive = [number.value for number in numbers if number.value > 0]
    if measure.name.startswith("ranked_") or (measure.name.endswith("fidelity_path") and positive):
        axes.set_yscale("log")
    axes.set_xlabel(measure.x)
    axes.set_ylabel(measure.label, fontsize=7)


def _dots(
    axes: Any, report: Report, measure: Measure, numbers: Sequence[Number], accounting: Accounting
) -> None:
    known = published_beside(report)
    by_method = {number.method: number for number in numbers}
    methods = [method for method in METHODS if method in by_method]
    for place, method in enumerate(methods):
        number = by_method[method]
        error = 0.0 if np.isnan(number.error) else number.error
        if np.isfinite(number.value):
            axes.errorbar(number.value, place, xerr=error, fmt="o", color=_colour(method), ms=4)
        old = known.get((number.scenario, method, measure.name, None))
        if old is not None and accounting == "paper":
            axes.plot(old.value, place, "d", mfc="none", mec="#b2182b", ms=7)
    axes.set_yticks(range(len(methods)), [METHODS[method].label for method in methods], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel(measure.label + (" (diamonds: published)" if accounting == "paper" else ""))
