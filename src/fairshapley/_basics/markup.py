"""HTML for notebooks: compact tables that follow a light or a dark theme.

No colours are set, texts from the data are escaped, and nothing is loaded from anywhere.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from fairshapley._basics.text import one_line

LONGEST_TEXT = 80

_CELL = "padding:0.15em 0.8em;text-align:right;font-variant-numeric:tabular-nums"
_FIRST = "padding:0.15em 0.8em 0.15em 0;text-align:left"


def escaped(text: str) -> str:
    """A text from the data: it stays text, is not too long, and turns no neighbour's direction.

    Examples
    --------
    >>> escaped("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return f"<bdi>{html.escape(one_line(text, LONGEST_TEXT))}</bdi>"


def table_html(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of which the first column is the header of its row; all cells are HTML already.

    Without names of columns it has no head.
    """
    head = "".join(
        f'<th scope="col" style="{_CELL if place else _FIRST}">{html.escape(column)}</th>'
        for place, column in enumerate(columns)
    )
    body = "".join(
        f'<tr><th scope="row" style="{_FIRST};font-weight:normal">{first}</th>'
        + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    # Some pages let tables keep black text where all else is light.
    style = "border-collapse:collapse;color:inherit;font-size:inherit;margin:0.3em 0"
    return f'<table style="{style}">{head}<tbody>{body}</tbody></table>'


def names_table_html(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first cells are names from the data."""
    return table_html(columns, [(escaped(name), *cells) for name, *cells in rows])


def block_html(title: str, *parts: str) -> str:
    """A title over parts, which are HTML already."""
    heading = f'<p style="margin:0.3em 0"><strong>{html.escape(title)}</strong></p>'
    return f'<div class="fairshapley">{heading}{"".join(parts)}</div>'


def sentences_html(sentences: Iterable[str]) -> str:
    """Each sentence in a line of its own."""
    lines = "<br>".join(html.escape(sentence) for sentence in sentences)
    return f'<p style="margin:0.3em 0;max-width:60em">{lines}</p>' if lines else ""
