"""An explanation in sentences, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import one_line, several
from fairshapley._basics.types import FloatArray

if TYPE_CHECKING:
    from fairshapley.explanations.attributions import Attributions

# What is printed: the first rows, in each the players that matter most, names cut to a length.
SHOWN_ROWS, SHOWN_PLAYERS, SHOWN_LETTERS = 10, 5, 40


def sentences(found: Attributions) -> tuple[str, list[str]]:
    """Return a title, and for each output a line per row, of the first rows, and one for all."""
    how = "exact" if all(result.exact for row in found.results for result in row) else "estimated"
    if not found.complete:
        how += "; interrupted, the rows are those that were finished"
    rows, players = several(len(found.rows), "row"), several(len(found.player_names), "player")
    named: list[tuple[str, int | None]] = [("", None)]
    if found.values.ndim == 3:
        names = (one_line(name, SHOWN_LETTERS) for name in found.output_names)
        named = [(f", output {name}", at) for at, name in enumerate(names)]
    lines = [
        f"row {row}{name}: {row_sum(found, place, at)}"
        for place, row in enumerate(found.rows[:SHOWN_ROWS])
        for name, at in named
    ]
    overall = []
    if len(found.rows) > SHOWN_ROWS:
        lines.append(f"… {several(len(found.rows) - SHOWN_ROWS, 'more row')}")
    if len(found.rows) > 1 and found.kind == "columns":
        for name, at in named:
            means = found.importance()[found.index(at)]
            shown = [f"{who} {means[player]:.3g}" for player, who in _largest(found, 0, means)]
            overall.append(f"mean |value| over the rows{name}: {', '.join(shown)}")
    if how == "estimated":
        lines.append("± are standard errors; precision=0.05 asks for a twentieth of each value")
    return f"values of {players} for the predictions of {rows}, {how}", [*overall, *lines]


def _largest(found: Attributions, place: int, values: FloatArray) -> list[tuple[int, str]]:
    """Return the players of a row whose values are the largest, with their names."""
    order = np.argsort(-np.abs(values), kind="stable")[:SHOWN_PLAYERS].tolist()
    names = found.names(place)
    return [(player, one_line(names[player], SHOWN_LETTERS)) for player in order]


def row_sum(found: Attributions, place: int, output: int | None) -> str:
    """Return a prediction as the sum of the base value and the players' values."""
    values, errors = found.row_values(place, output)
    largest = _largest(found, place, values)
    shown = [f"{name} {_with_error(values[at], errors[at])}" for at, name in largest]
    if len(values) > len(shown):
        rest = np.delete(values, [player for player, _ in largest])
        shown.append(f"{several(len(rest), 'other')} {rest.sum():+.3g}")
    at = found.index(output)
    base, prediction = found.base_values[at][place], found.predictions[at][place]
    return f"{prediction:.4g} = {base:.4g} on average, {', '.join(shown)}"


def _with_error(value: float, error: float) -> str:
    known = value if abs(value) > error / 1000 else 0.0  # rounding is no news
    return f"{known:+.3g}" + (f" ± {error:.1g}" if error > 0 else "")
