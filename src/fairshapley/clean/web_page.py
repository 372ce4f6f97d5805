"""The page on suspects: one HTML file without scripts, which fetches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.types import IntArray
from fairshapley.clean.suspect_rows import as_lines
from fairshapley.results.report.page import environment, source

if TYPE_CHECKING:
    from fairshapley.clean.suspect_rows import Suspects

MOST_ROWS = 200
BARS = 20


def suspects_page(found: Suspects, title: str, rows: IntArray | None, by: str | None) -> str:
    """Return the page as a text; the template escapes everything from the data."""
    probability = found.probability[~np.isnan(found.probability)]
    bars = np.histogram(probability, BARS, (0, 1))[0].tolist()
    headings, lines = found.shown(MOST_ROWS)
    sources: Any = None if by is None else as_lines(found.by(by, rows))
    page: str = (
        environment()
        .get_template("suspects.html")
        .render(
            title=title,
            sentences=found.sentences(rows),
            bars=bars,
            tenths=[] if found.checks is None else found.checks.tenths.tolist(),
            headings=headings,
            lines=lines,
            sources=sources,
            models=as_lines({"model": [*found.weights], "weight": [*found.weights.values()]}),
            style=source("style.css"),
        )
    )
    return page
