"""Figures of results: values, fidelity of all players and during a run, methods compared."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.text import visible
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.guarantees import required_fidelity
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.results.plots.canvas import BLUE, GREY, ORANGE, literal, log_scale, new_axes
from fairshapley.results.test_set import another_set

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairshapley.comparison.audits import Audit, Comparison
    from fairshapley.fairness.findings import Findings
    from fairshapley.results.result import Result

# Inches a player takes, so that names do not overlap.
ROW_HEIGHT = 0.22
# Letters in a line below the axis.
LINE = 80


def plot_values(
    result: Result,
    axes: Axes | None = None,
    *,
    most: int = 40,
    simultaneous: bool = False,
    delta: float = DELTA,
) -> Axes:
    """Draw the values with intervals at level 1 − δ, sorted; a hollow mark has no known interval.

    Values below zero are orange. A grey bar is what another test set of the same size may change.

    Parameters
    ----------
    result
        Whose values to draw.
    axes
        Where to draw; by default a new figure.
    most
        How many players to draw: with more, the highest and the lowest values.
    simultaneous
        Whether the intervals hold for all players together, as in a certificate; by default each
        holds on its own.
    delta
        The probability that an interval misses.
    """
    shown, gap = _chosen(result, checks.whole("most", most, least=2))
    findings = result.findings(delta=delta)
    if simultaneous:
        decisions = result.decisions(delta)
        widths = (decisions.upper - decisions.lower) / 2
    else:
        single = findings.single_widths(delta)
        widths = result.standard_errors if single is None else single
    widths = widths[shown]
    values, places = result.values[shown], np.arange(len(shown))
    axes = new_axes(axes, height=max(2.0, 1.2 + ROW_HEIGHT * len(shown)))
    known = np.isfinite(widths)
    colours = np.where(values < 0, ORANGE, BLUE)
    if result.run.replicates is not None:
        reach = another_set(result.run.replicates[shown], delta * len(shown))
        axes.hlines(
            places, values - reach, values + reach, color=GREY, alpha=0.3, lw=5, label="test set"
        )
    axes.errorbar(
        values[known], places[known], xerr=widths[known], fmt="o", color=BLUE, markersize=4,
        ecolor=colours[known].tolist(), label="estimation",
    )  # fmt: skip
    below = known & (values < 0)
    axes.plot(values[below], places[below], "o", color=ORANGE, markersize=4, zorder=3)
    if result.run.replicates is not None:
        axes.legend(title=f"{100 * (1 - delta):g} % intervals", fontsize="small")
    if not known.all():
        axes.plot(values[~known], places[~known], "o", color=BLUE, markersize=5, fillstyle="none")
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    names = result.names()
    axes.set_yticks(places, [literal(names[player]) for player in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    if gap is not None:
        axes.axhline(gap - 0.5, color=GREY, linewidth=0.8, linestyle="--")
    axes.set_xlabel(_caption(result, findings, len(shown), simultaneous))
    axes.set_title(
        f"What each player adds: {visible(result.game.unit or 'utility')}".replace("$", r"\$")
    )
    return axes


def _chosen(result: Result, most: int) -> tuple[IntArray, int | None]:
    """Return the players to draw, the highest first, and the place of those left out."""
    order = np.argsort(-result.values, kind="stable")
    order = order[np.isfinite(result.values[order])]
    if order.size == 0:
        raise InputError("no player has a value yet: give the run a larger budget")
    if order.size <= most:
        return order, None
    top = most - most // 2
    return np.concatenate([order[:top], order[order.size - most // 2 :]]), top


def _caption(result: Result, findings: Findings, drawn: int, simultaneous: bool) -> str:
    """Return what is drawn: the kind of value, its intervals, and who is left out."""
    label = "Shapley value" if result.semivalue == "shapley" else f"{result.semivalue} value"
    if result.exact:
        label += " (exact)"
    elif findings.doubts:
        why = fill(visible(f"no intervals: {'; '.join(findings.doubts)}"), LINE)
        label += ", ± 1 standard error\n" + why.replace("$", r"\$")
    else:
        together = "all together" if simultaneous else "each on its own"
        label += f", {100 * (1 - findings.certificate.delta):.4g} % intervals {together}"
    valued = int(np.isfinite(result.values).sum())
    if drawn < valued:
        label += f"\nhighest and lowest {drawn} of {valued:,} players"
    if valued < result.n_players:
        label += f"\n{result.n_players - valued} players have no value yet"
    return label


def plot_fidelity(
    result: Result,
    axes: Axes | None = None,
    *,
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
) -> Axes:
    """Draw the sorted scores, with the score needed for (ε1, ξ·ε1, δ)-fairness.

    Infinite scores, of proven values, are drawn above all others, as triangles.

    Parameters
    ----------
    result
        Whose scores to draw.
    axes
        Where to draw; by default a new figure.
    epsilon1, delta
        The fairness asked for; see `fairshapley.fairness.required_fidelity`.
    """
    scores = np.sort(result.fidelity())
    if np.isnan(scores).any():
        raise InputError(
            f"the fidelity of {int(np.isnan(scores).sum())} players is not known yet: give the run "
            "a larger budget"
        )
    axes = new_axes(axes)
    places, finite = np.arange(1, scores.size + 1), np.isfinite(scores)
    mark = "o" if scores.size <= 100 else "."
    # A score of 0 has no place on a logarithmic axis.
    drawn = np.where(scores > 0, scores, np.nan)
    if finite.any():
        axes.plot(places[finite], drawn[finite], mark, color=BLUE, markersize=4, label="fidelity")
    if not finite.all():
        highest = float(scores[finite].max(initial=1.0))
        above = np.full(int((~finite).sum()), 10 * highest)
        axes.plot(places[~finite], above, "^", color=BLUE, markersize=4, label="infinite (proven)")
    axes.set_xlabel("players, from the lowest fidelity to the highest")
    axes.set_ylabel(f"fidelity, ξ = {result.xi:g}")
    _draw_required(axes, result, epsilon1, delta)
    return axes


def plot_convergence(
    result: Result,
    axes: Axes | None = None,
    *,
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
) -> Axes:
    """Draw the minimum fidelity against the evaluations, with the one that fairness asks for.

    Parameters
    ----------
    result
        A result whose `history` was recorded.
    axes
        Where to draw; by default a new figure.
    epsilon1, delta
        The fairness asked for; see `fairshapley.fairness.required_fidelity`.
    """
    points = [point for point in result.run.history if np.isfinite(point.min_fidelity)]
    if not points:
        why = "the result holds no history; estimate it again, or with a larger budget"
        why = "the values are exact" if result.exact else why
        raise InputError(f"there is no convergence to draw: {why}")
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
    axes.set_title("Minimum fidelity against evaluations")
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"minimum fidelity, ξ = {result.xi:g}")
    _draw_required(axes, result, epsilon1, delta)
    return axes


def plot_pairs(result: Result, axes: Axes | None = None, *, most: int = 40) -> Axes:
    """Draw a heat map of pairs: orange where players replace each other, blue otherwise.

    Parameters
    ----------
    result
        A result of a run with ``pairs=True``.
    axes
        Where to draw; by default a new figure.
    most
        How many players to draw, as in `plot_values`.
    """
    if result.run.pairs is None:
        raise InputError("the pairs of this result are not known: estimate it with pairs=True")
    from matplotlib.colors import LinearSegmentedColormap

    shown, _ = _chosen(result, checks.whole("most", most, least=2))
    found = result.run.pairs[np.ix_(shown, shown)]
    axes = new_axes(axes, height=max(3.0, 1.6 + ROW_HEIGHT * len(shown)))
    reach = float(np.abs(found).max()) or 1.0
    colours = LinearSegmentedColormap.from_list("pairs", [ORANGE, "white", BLUE])
    drawn = axes.imshow(found, cmap=colours, vmin=-reach, vmax=reach)
    names = [literal(result.names()[player]) for player in shown]
    axes.set_xticks(np.arange(len(shown)), names, rotation=90)
    axes.set_yticks(np.arange(len(shown)), names)
    label = "below zero: they replace each other; above zero: they complete each other"
    axes.figure.colorbar(drawn, ax=axes).set_label(fill(label, LINE // 2))
    return axes


def _draw_required(axes: Axes, result: Result, epsilon1: float, delta: float) -> None:
    """Draw the minimum fidelity that fairness asks for, with normally distributed errors."""
    independent = result.evidence.independent
    needed = required_fidelity(result.n_players, epsilon1, delta, independent, bound="normal")
    label = f"needed for ε1 = {epsilon1:g}, δ = {delta:g}"
    axes.axhline(needed, color=ORANGE, linestyle="--", label=label)
    log_scale(axes, "y")
    axes.legend()


def plot_comparison(comparison: Comparison, axes: Axes | None = None) -> Axes:
    """Draw a line per method: the error of all games, MSE / mean φ², against the evaluations.

    A point is the geometric mean over games, with one standard error to each side.

    Parameters
    ----------
    comparison
        What `fairshapley.compare` gives.
    axes
        Where to draw; by default a new figure.
    """
    axes = new_axes(axes)
    groups: dict[str, dict[str, list[Audit]]] = {}
    for case, audit in comparison.audits.items():
        groups.setdefault(case.method, {}).setdefault(case.budget, []).append(audit)
    for method, by_budget in groups.items():
        points = []
        for audits in by_budget.values():
            errors = np.array([[one.row()["mse"], one.row()["mse_error"]] for one in audits])
            units = [np.square(one.truth).mean() for one in audits]
            middle = np.exp(np.log(np.maximum(errors[:, 0], 1e-30) / units).mean())
            reach = np.sqrt(np.square(errors[:, 1] / np.maximum(errors[:, 0], 1e-30)).sum())
            cost = np.mean([one.evaluations for one in audits])
            points.append([cost, middle, middle * min(0.9, reach / len(audits))])
        evaluations, middles, reaches = np.array(points).T
        axes.errorbar(evaluations, middles, yerr=reaches, marker="o", label=literal(method))
    log_scale(axes, "x")
    log_scale(axes, "y")
    axes.set_xlabel("evaluations")
    axes.set_ylabel("mean squared error / mean φ²")
    axes.legend()
    return axes
