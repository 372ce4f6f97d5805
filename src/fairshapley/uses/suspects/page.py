"""The page on suspects: one HTML file without scripts, which fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import visible
from fairshapley._basics.types import FloatArray
from fairshapley.uses.suspects.found import Removal

if TYPE_CHECKING:
    from fairshapley.uses.suspects.found import Suspects

MOST_ROWS = 200
WIDTH, HEIGHT, EDGE = 640, 260, 48
LINES = (
    ("removed", "suspects removed", "#1b6ca8", ""),
    ("relabelled", "suspects relabelled", "#2e8b57", "6 3"),
    ("at_random", "as many removed at random", "#777777", "2 3"),
)
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:.9rem}th,td{padding:.2rem .6rem;text-align:left;
border-bottom:1px solid #ddd;overflow-wrap:anywhere}figure{margin:1rem 0}
"""


def page(found: Suspects, title: str) -> str:
    """The page as a text; everything from the data is escaped."""
    parts = [f"<h1>{_safe(title)}</h1>", *(f"<p>{_safe(said)}.</p>" for said in found.sentences())]
    if found.removal is not None:
        parts += _chart(found.removal)
    headings, rows = found.shown(MOST_ROWS)
    parts += [
        f"<h2>The first {len(rows):,} suspects</h2>",
        "<p>wrong: the probability that the label is wrong; agree: the share of the ten nearest "
        "rows with the same label; value: what the row adds to a nearest-neighbour model.</p>",
        _table(headings, rows),
        "<h2>How it was done</h2>",
        _table(
            ["model", "weight"],
            [[name, f"{weight:.2f}"] for name, weight in found.weights.items()],
        ),
        *(f"<p>{_safe(note)}.</p>" for note in found.notes),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_safe(title)}</title><style>{STYLE}</style></head><body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _safe(text: str) -> str:
    return escape(visible(text))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{_safe(one)}</th>' for one in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _chart(removal: Removal) -> list[str]:
    """The curve as a picture, and as a table for those who cannot see it."""
    scores: dict[str, FloatArray] = {key: getattr(removal, key) for key, *_ in LINES}
    low = min(float(one.min()) for one in scores.values())
    high = max(float(one.max()) for one in scores.values())
    span = (high - low) or 1.0
    x = EDGE + removal.counts / max(int(removal.counts[-1]), 1) * (WIDTH - 2 * EDGE)
    drawn = []
    for key, _, colour, dashes in LINES:
        y = HEIGHT - EDGE - (scores[key] - low) / span * (HEIGHT - 2 * EDGE)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in np.column_stack([x, y]))
        drawn.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/>'
        )
    words = "; ".join(f'<span style="color:{colour}">{name}</span>' for _, name, colour, _ in LINES)
    rows = [
        [f"{count:,}", *(f"{scores[key][place]:.4g}" for key, *_ in LINES)]
        for place, count in enumerate(removal.counts.tolist())
    ]
    return [
        "<h2>A model without them</h2>",
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="scores by rows removed; the table below has the numbers">'
        f'<text x="4" y="{EDGE}">{high:.3g}</text><text x="4" y="{HEIGHT - EDGE}">{low:.3g}</text>'
        f"{''.join(drawn)}</svg><figcaption>{_safe(removal.metric)}: {words}</figcaption></figure>",
        _table(["rows", *(name for _, name, *_ in LINES)], rows),
    ]
