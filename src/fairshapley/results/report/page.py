"""The page: data and sentences put into the templates, and written as one file."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.extras import extra
from fairshapley._basics.files import page_marks, with_page_digest
from fairshapley._basics.text import duration, several, visible
from fairshapley.errors import InputError
from fairshapley.estimators.exact import MAX_EXACT_PLAYERS
from fairshapley.fairness.certificate import cost_text, rounded_up
from fairshapley.fairness.guarantees import lower_fidelity
from fairshapley.results.console import heat_map_html, money
from fairshapley.results.origin import now
from fairshapley.results.pairs import pair_sentences
from fairshapley.results.payouts import Money
from fairshapley.results.payouts.amounts import shown
from fairshapley.results.report.drawing import Chart, charts
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.provenance import limits_text, readable_time, snippet
from fairshapley.results.serialising import result_digest
from fairshapley.results.test_set import another_set, both_errors
from fairshapley.results.wording import isolated, number, percent, unbroken

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# Significant digits of the numbers in the page; a saved result has them all.
DIGITS = 7
# More labels than this are searched for rather than chosen from a list.
MOST_LABELS = 50
# Rows of a table that is printed or read without scripts; payouts have a row for each player.
MOST_ROWS = 10_000


def report_html(
    result: Result,
    *,
    title: str | None = None,
    epsilon1: float | None = None,
    delta: float | None = None,
    labels: Sequence[Any] | None = None,
    pool: Money | None = None,
) -> str:
    """Return the report as a string; see `Result.report`."""
    if title is not None and not isinstance(title, str):
        raise InputError(f"title must be a string, not {title!r:.40}")
    asked = epsilon1 is not None or "epsilon1" in result.run.asked
    original, written = result, now()
    if "xi" in result.run.asked:  # all of the page is at the tolerance that was asked for
        result = replace(result, xi=result.run.asked["xi"])
    findings = result.findings(epsilon1, delta)
    stated = findings.certificate
    epsilon1, delta, smallest = stated.epsilon1, stated.delta, stated.tightest
    table = PlayerTable(result, epsilon1=epsilon1, delta=delta, labels=labels)
    drawn = charts(result, table, epsilon1, delta)
    scripts = [_plotly(), *(source(name) for name in ("common.js", "table.js", "charts.js"))]
    distinct = sorted(set(table.labels or ()))
    data = json.dumps(_data(result, table, drawn), allow_nan=False, separators=(",", ":"))
    for letter in "<>&":  # no text inside can end the script
        data = data.replace(letter, f"\\u{ord(letter):04x}")
    page: str = (
        environment()
        .get_template("page.html")
        .render(
            result=result,
            table=table,
            most_rows=MOST_ROWS,
            title=visible(title) if title else "",
            policy=policy(scripts),
            marks=page_marks(result_digest(original)),
            style=source("style.css"),
            scripts=scripts,
            data=data,
            written=written,
            findings=findings,
            asked=asked,
            cost=cost_text(stated.needed, result.evidence.coalitions),
            unknown=int(np.isnan(result.standard_errors).sum()),
            computable=result.n_players <= MAX_EXACT_PLAYERS,
            smallest=rounded_up(smallest) if 0 < smallest < 1 else None,
            charts=drawn,
            reach=None
            if result.run.replicates is None
            else another_set(result.run.replicates, delta),
            test_set=both_errors(result, delta),
            heat=heat_map_html(result),
            pairs=_heat_map(result, table),
            replacing=pair_sentences(result),
            **_payments(result, pool, epsilon1, delta),
            gains=[part.endpoints[1] - part.endpoints[0] for part in result.run.parts],
            label_choice=distinct if 1 < len(distinct) <= MOST_LABELS else [],
            limits=limits_text(result.run.limits),
            snippet=snippet(original),
            epsilon1=epsilon1,
            delta=delta,
        )
    )
    return with_page_digest(page)


def environment() -> Any:
    """Return the templates of pages, with the filters that they use."""
    with extra("report", "a report needs jinja2 and plotly", "saved results need neither"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    found = Environment(
        loader=PackageLoader("fairshapley.results.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (duration, isolated, number, percent, readable_time, shown, visible)
    found.filters |= {one.__name__: one for one in filters} | {"whole": unbroken}
    found.globals["infinity"] = math.inf
    found.globals |= {one.__name__: one for one in (several, money, lower_fidelity, result_digest)}
    return found


def _plotly() -> str:
    """Return Plotly's script, or raise an error that names the extra."""
    with extra("report", "a report needs jinja2 and plotly", "saved results need neither"):
        from plotly.offline import get_plotlyjs
    return str(get_plotlyjs())


def _payments(result: Result, pool: Money | None, epsilon1: float, delta: float) -> dict[str, Any]:
    """Return a sum divided by the values, or why it cannot be divided."""
    if pool is None:
        return {"paid": None, "unpaid": ""}
    try:
        return {"paid": result.payout(pool, epsilon1=epsilon1, delta=delta), "unpaid": ""}
    except InputError as error:
        return {"paid": None, "unpaid": str(error)}


def _heat_map(result: Result, table: PlayerTable) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return a row per player of a heat map: its name, and the colour and text of each pair."""
    found = result.run.pairs
    if found is None:
        return []
    reach, order = float(np.abs(found).max()) or 1.0, table.order.tolist()

    def cell(one: int, other: int) -> tuple[str, str]:
        size = float(found[one, other])
        hue = "27, 92, 184" if size > 0 else "230, 159, 0"
        text = "" if one == other else number(size, 2)
        return f"rgba({hue}, {0.75 * abs(size) / reach:.2f})", text

    return [(table.names[one], [cell(one, other) for other in order]) for one in order]


def source(name: str) -> str:
    """Return a style or a script of the pages."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def policy(scripts: Iterable[str]) -> str:
    """Return a policy by which only these scripts run, and nothing is fetched.

    Plotly sets styles of elements.
    """
    digests = [hashlib.sha256(script.encode("utf-8")).digest() for script in scripts]
    sources = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _plain(value: Any) -> Any:
    """Round numbers for JSON: null stands for NaN, a word for what is infinite."""
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        rounded = float(f"{value:.{DIGITS}g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
    return value


def _data(result: Result, table: PlayerTable, drawn: dict[str, Chart]) -> dict[str, Any]:
    """Return what the scripts of the page read."""
    columns = {
        "name": table.names,
        "label": table.labels,
        "rows": table.row_counts,
        "value": result.values,
        "lower": table.lower,
        "upper": table.upper,
        "error": result.standard_errors,
        "fidelity": table.fidelity,
        "count": result.counts,
        "sign": table.signs,
        "group": table.group_numbers,
        "null": table.nulls.astype(np.int64),
        "found": table.found,
    }
    data = {key: chart.data for key, chart in drawn.items()}
    return {"players": _plain(columns), "exact": result.exact, "charts": _plain(data)}
