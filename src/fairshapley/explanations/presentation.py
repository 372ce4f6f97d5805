"""An explanation as people read it: sentences, and a view in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.markup import block_html, escaped, sentences_html, table_html
from fairshapley._basics.text import one_line, several
from fairshapley._basics.types import FloatArray

if TYPE_CHECKING:
    from fairshapley.explanations.attributions import Attributions

# What is printed: the first rows, in each the players that matter most, names cut to a length.
SHOWN_ROWS, SHOWN_PLAYERS, SHOWN_LETTERS = 10, 5, 40
# Players of a table in a notebook.
SHOWN_COLUMNS = 10
# Blue adds and orange takes away; the more, the denser, on light and dark grounds alike.
ADDS, TAKES = "0,114,178", "230,159,0"


def outputs(found: Attributions) -> list[tuple[str, int | None]]:
    """Return the names and numbers of the outputs, where there are several."""
    if found.values.ndim == 2:
        return [("", None)]
    return [(one_line(name, SHOWN_LETTERS), at) for at, name in enumerate(found.output_names)]


def sentences(found: Attributions) -> tuple[str, list[str]]:
    """Return a title, and for each output a line per row, of the first rows, and one for all."""
    how = "exact" if all(result.exact for row in found.results for result in row) else "estimated"
    if not found.complete:
        how += "; interrupted, the rows are those that were finished"
    rows, players = several(len(found.rows), "row"), several(len(found.player_names), "player")
    named = [(f", output {name}" if name else "", at) for name, at in outputs(found)]
    lines = [
        f"row {row}{name}: {row_sum(found, place, at)}"
        for place, row in enumerate(found.rows[:SHOWN_ROWS])
        for name, at in named
    ]
    if len(found.rows) > SHOWN_ROWS:
        lines.append(f"… {several(len(found.rows) - SHOWN_ROWS, 'more row')}")
    if len(found.rows) > 1 and found.kind == "columns":
        for name, at in named:
            means = found.importance()[found.index(at)]
            shown = [f"{who} {means[player]:.3g}" for player, who in _largest(found, 0, means)]
            lines.append(f"mean |value| over the rows{name}: {', '.join(shown)}")
    return f"values of {players} for the predictions of {rows}, {how}", lines


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


def notebook_html(found: Attributions) -> str:
    """Return a table of the players that matter most in the first rows, or coloured words."""
    title, lines = sentences(found)
    texts, parts = found.kind == "texts", []
    names = [one_line(name, SHOWN_LETTERS) for name in found.player_names]
    for name, output in outputs(found):
        at = found.index(output)
        order = np.argsort(-np.abs(found.values[at]).mean(axis=0), kind="stable")[:SHOWN_COLUMNS]
        heads = ["words"] if texts else [names[player] for player in order]
        rows = []
        for place, row in enumerate(found.rows[:SHOWN_ROWS]):
            shown = [_with_error(*it) for it in zip(*found.row_values(place, output), strict=True)]
            cells = (
                [_coloured(found, place, output)] if texts else [shown[player] for player in order]
            )
            ends = [f"{part[at][place]:.4g}" for part in (found.predictions, found.base_values)]
            rows.append([str(row), *ends, *cells])
        parts += [sentences_html([f"output {name}"])] if name else []
        parts.append(table_html(["row", "prediction", "on average", *heads], rows))
    return block_html(title, *parts, sentences_html(line for line in lines if line[:4] != "row "))


def _coloured(found: Attributions, place: int, output: int | None) -> str:
    """Return the words of a text, each on the colour of its value."""
    values, errors = found.row_values(place, output)
    largest = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    return " ".join(
        f'<span title="{_with_error(value, error)}" style="background:rgba('
        f'{ADDS if value > 0 else TAKES},{0.6 * abs(value) / largest:.2f})">{escaped(word)}</span>'
        for word, value, error in zip(found.names(place), values, errors, strict=False)
    )
