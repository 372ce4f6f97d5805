"""The report of the efficiency benchmark: Markdown tables and one figure, from the CSV files."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks.efficiency.cases import CASES
from benchmarks.efficiency.runner import REFERENCE, Line, read

mpl.use("Agg")
import matplotlib.pyplot as plt

NOTES = Path(__file__).with_name("NOTES.md")
FIGURE = "mse.png"
RESULTS = "benchmarks/efficiency/results"
CALIBRATION = "calibration"
"""The folder of CSV files with many repeats of `adjusted` alone"""
CLOSER = "closer"
"""That of games where thirty repeats do not tell, with the methods that come near"""


def main(folder: Path) -> None:
    """Write RESULTS.md and the figure beside the folder of CSV files."""
    lines = [line for name in CASES for line in _lines(folder / f"{name}.csv")]
    target = folder.parent
    plot(lines, target / FIGURE)
    parts = [_head(), verdict(lines), f"![MSE against evaluations per player]({FIGURE})"]
    for part, table in ((CALIBRATION, calibration), (CLOSER, closer)):
        if found := [line for name in CASES for line in _lines(folder / part / f"{name}.csv")]:
            parts.append(table(found))
    parts += [_table(name, lines) for name in CASES if any(one.case == name for one in lines)]
    parts.append(NOTES.read_text(encoding="utf-8"))
    (target / "RESULTS.md").write_text("\n\n".join(parts).rstrip() + "\n", encoding="utf-8")


def _lines(path: Path) -> list[Line]:
    return read(path) if path.exists() else []


def _head() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("fairshapley", "numpy", "scipy"))
    return f"""# Efficiency at equal distinct evaluations

Every method gets the same number of distinct utility evaluations (v(∅) and v(N) included) and the
same seeds; it is held against the truth. MSE is divided by the mean φ², the worst error by the mean
|φ|; *true min f* is the audited minimum fidelity, (|φ_i| + ξ)²/MSE_i; *× MSE* is the method's MSE
over that of `adjusted` and *÷ min f* the minimum fidelity of `adjusted` over the method's, both
with paired 95 % bootstrap intervals: above 1, `adjusted` is better. *own time* is the method's time
without the game's, in units of that of `adjusted`. ξ = 1e−3 for accuracies, a tenth of the mean |φ|
elsewhere. Nobody is told that players are identical, but for the row that says so: it is what
`fs.estimate` gives on a data game by default.
Peers run their own code (shapiq 1.4.1, pyDVL 0.10.0) in environments of their own; their nominal
budget is chosen so that they come as close as they can to the distinct evaluations allowed.

`python -m benchmarks.efficiency run`, then `python -m benchmarks.efficiency report` — {versions},
Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores."""


def _at(lines: list[Line], name: str) -> list[Line]:
    """The lines of a case at 60 evaluations per player, or the largest budget below that fits."""
    own = [line for line in lines if line.case == name and line.repeats]
    budgets = [line.per_player for line in own if line.per_player <= 60]
    return [line for line in own if line.per_player == max(budgets, default=0)]


def _is_peer(line: Line) -> bool:
    return line.method.startswith(("shapiq ", "pydvl "))


def verdict(lines: list[Line]) -> str:
    """For each case the best peer, and whoever is significantly better than `adjusted`."""
    rows = [
        "## Verdict at 60 evaluations per player, or the most below a quarter of all coalitions",
        "",
        "| game | per player | MSE | best peer in MSE | its × MSE | × MSE of KernelSHAP paired | "
        "true min f | best peer in min f | its ÷ min f | coverage | reported/true f | "
        "significantly better than `adjusted` |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, case in CASES.items():
        here = _at(lines, name)
        own = [line for line in here if line.method == REFERENCE]
        peers = [line for line in here if _is_peer(line)]
        if not own or not peers:
            continue
        best = min(peers, key=lambda line: line.mse)
        fairest = max(peers, key=lambda line: line.min_fidelity)
        kernel = [line for line in peers if line.method == "shapiq KernelSHAP paired"]
        better = [
            line.method
            for line in here
            if (line.mse_ratio_high < 1 or line.fidelity_ratio_high < 1)
            and not line.method.startswith(REFERENCE)  # other forms of the same
        ]
        rows.append(
            f"| {case.title} | {own[0].per_player} | {own[0].mse:.3g} | {best.method} | "
            f"{_mse_ratio(best)} | "
            f"{kernel[0].mse_ratio if kernel else math.nan:.2f} | {own[0].min_fidelity:.3g} | "
            f"{fairest.method} | {_fidelity_ratio(fairest)} | {own[0].coverage:.3f} | "
            f"{own[0].reported_over_true:.2f} | "
            f"{', '.join(better) or 'nobody'} |"
        )
    return "\n".join(rows)


def calibration(lines: list[Line]) -> str:
    """Coverage and reported fidelity of `adjusted` with enough repeats to tell."""
    return _at_length(
        "Calibration of `adjusted` at length",
        "Thirty repeats leave reported/true f uncertain by a quarter. With more of them",
        f"run --method adjusted --repeats 300 --no-peers --out {RESULTS}/{CALIBRATION}",
        {
            "coverage of 95 % intervals": lambda line: f"{line.coverage:.3f}",
            "reported/true f": lambda line: f"{line.reported_over_true:.2f}",
        },
        lines,
    )


def closer(lines: list[Line]) -> str:
    """Return the methods that come near, with more repeats."""
    return _at_length(
        "A closer look",
        "The methods that come near where thirty repeats do not tell, with more of them",
        f"run --repeats 200 --case … --method … --out {RESULTS}/{CLOSER}",
        {
            "method": lambda line: line.method,
            "× MSE": _mse_ratio,
            "÷ min f": _fidelity_ratio,
        },
        [line for line in sorted(lines, key=_order) if line.method != REFERENCE],
    )


def _at_length(
    title: str,
    text: str,
    command: str,
    columns: dict[str, Callable[[Line], str]],
    lines: list[Line],
) -> str:
    """Return a table of some columns of lines that were repeated more often than the others."""
    rows = [
        f"## {title}",
        "",
        f"{text} (`python -m benchmarks.efficiency {command}`):",
        "",
        f"| game | per player | repeats | {' | '.join(columns)} |",
        "|---|---|---|" + "---|" * len(columns),
    ]
    for line in lines:
        if line.repeats:
            cells = " | ".join(cell(line) for cell in columns.values())
            game = CASES[line.case].title
            rows.append(f"| {game} | {line.per_player} | {line.repeats} | {cells} |")
    return "\n".join(rows)


def _mse_ratio(line: Line) -> str:
    return f"{line.mse_ratio:.2f} ({line.mse_ratio_low:.2f}–{line.mse_ratio_high:.2f})"


def _fidelity_ratio(line: Line) -> str:
    low, high = line.fidelity_ratio_low, line.fidelity_ratio_high
    return f"{line.fidelity_ratio:.2f} ({low:.2f}–{high:.2f})"


def _table(name: str, lines: list[Line]) -> str:
    own = [line for line in lines if line.case == name]
    rows = [f"## {CASES[name].title}"]
    for per in sorted({line.per_player for line in own}):
        here = [line for line in own if line.per_player == per]
        repeats = max(line.repeats for line in here)
        rows += [
            "",
            f"### {per} evaluations per player, {repeats} repeats",
            "",
            "| method | evaluations | MSE | × MSE | worst | true min f | ÷ min f | coverage | "
            "reported/true f | own time | |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        rows += [_row(line) for line in sorted(here, key=_order)]
    return "\n".join(rows)


def _order(line: Line) -> tuple[bool, float]:
    return not line.repeats, line.mse if line.repeats else 0.0


def _row(line: Line) -> str:
    if not line.repeats:
        return f"| {line.method} | | | | | | | | | | {_short(line.note)} |"
    return (
        f"| {line.method} | {line.evaluations:,.0f} | {line.mse:.3g} | "
        f"{_mse_ratio(line)} | {line.worst:.3g} | {line.min_fidelity:.3g} | "
        f"{_fidelity_ratio(line)} | "
        f"{_known(line.coverage, '.3f')} | {_known(line.reported_over_true, '.2f')} | "
        f"{line.seconds:.2g} | {_short(line.note)} |"
    )


def _short(note: str) -> str:
    return note.replace("|", "/").replace("\n", " ")[:100]


def _known(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def plot(lines: list[Line], path: Path) -> None:
    """MSE against evaluations per player, one panel for each case with several budgets."""
    names = [
        name
        for name in CASES
        if len({line.per_player for line in lines if line.case == name and line.repeats}) > 1
    ]
    shown = {
        "adjusted": ("C3", "o"),
        "mc": ("C7", "v"),
        "gae": ("C5", "x"),
        "shapiq KernelSHAP paired": ("C1", "D"),
        "shapiq SVARM": ("C4", "P"),
        "pydvl antithetic": ("C8", "*"),
    }
    columns = 3
    rows = max(1, math.ceil(len(names) / columns))
    figure, axes = plt.subplots(
        rows, columns, figsize=(11, 3.2 * rows), layout="constrained", squeeze=False
    )
    for place, name in zip(axes.flat, names, strict=False):
        for method, (colour, marker) in shown.items():
            points = sorted(
                (line.per_player, line.mse)
                for line in lines
                if line.case == name and line.method == method and line.repeats
            )
            if points:
                place.loglog(
                    *np.array(points).T, color=colour, marker=marker, markersize=4, label=method
                )
        place.set_title(CASES[name].title, fontsize=8)
        place.set_xlabel("evaluations per player", fontsize=8)
    for place in axes.flat[len(names) :]:
        place.axis("off")
    if names:
        axes.flat[0].set_ylabel("MSE / mean φ²", fontsize=8)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
