"""The page on suspects: one HTML file without scripts, which fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from fairshapley._basics.text import visible

if TYPE_CHECKING:
    from fairshapley.clean.suspect_rows import Suspects

MOST_ROWS = 200
HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><style>
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ddd;overflow-wrap:anywhere}
</style>"""
MEANING = (
    "probability wrong: that the label is wrong; held out probability: of the label, by models "
    "that have not seen the row; neighbours: the ten nearest rows; value: what the row adds to a "
    "nearest-neighbour model; distance: to its neighbours, 1 is usual"
)


def page(found: Suspects, title: str) -> str:
    """The page as a text; everything from the data is escaped."""
    headings, rows = found.shown(MOST_ROWS)
    parts = [f"<title>{_safe(title)}</title></head><body><h1>{_safe(title)}</h1>"]
    parts += [f"<p>{_safe(sentence)}.</p>" for sentence in found.sentences()]
    if found.checks is not None:
        scores = zip(
            found.checks.counts, found.checks.removed, found.checks.relabelled, strict=True
        )
        lines = [
            [f"{count:,}", f"{removed:.4g}", f"{relabelled:.4g}"]
            for count, removed, relabelled in scores
        ]
        heads = ["first suspects", "score when removed", "score when relabelled"]
        parts += ["<h2>A model without them</h2>", _table(heads, lines)]
    weights = [[name, f"{weight:.2f}"] for name, weight in found.weights.items()]
    parts += [f"<h2>The first {len(rows):,} suspects</h2><p>{MEANING}.</p>", _table(headings, rows)]
    parts += ["<h2>How it was done</h2>", _table(["model", "weight"], weights)]
    parts += [f"<p>{_safe(note)}.</p>" for note in found.notes]
    return "\n".join([HEAD, *parts, "</body></html>\n"])


def _safe(text: str) -> str:
    return escape(visible(text))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{_safe(heading)}</th>' for heading in headings)
    cells = ("".join(f"<td>{_safe(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
