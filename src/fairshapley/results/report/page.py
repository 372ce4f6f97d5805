"""The page: data and sentences put into the templates, and written as one file."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.digests import page_marks, with_page_digest
from fairshapley._basics.extras import extra
from fairshapley._basics.files import write_whole
from fairshapley._basics.text import duration, several, visible
from fairshapley.errors import InputError
from fairshapley.fairness.certificate import rounded_up
from fairshapley.fairness.levels import DELTA, EPSILON1, check_delta, check_epsilon1
from fairshapley.results.origin import now
from fairshapley.results.payouts import Money
from fairshapley.results.report.drawing import Chart, charts
from fairshapley.results.report.fairness import (
    ToleranceCurves,
    limits,
    smallest_epsilon1,
    verdict,
)
from fairshapley.results.report.findings import callouts, label_rows
from fairshapley.results.report.money import payments
from fairshapley.results.report.other_test_sets import section_of
from fairshapley.results.report.parts import by_part
from fairshapley.results.report.players import Labels, PlayerTable
from fairshapley.results.report.provenance import facts, readable_time, snippet
from fairshapley.results.report.wording import number, percent, unbroken

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# Rows of the table for print and for browsers without scripts.
PLAIN_ROWS = 200
# Significant digits of the numbers in the page; a saved result has them all.
DIGITS = 7
# More labels than this are searched for rather than chosen from a list.
MOST_LABELS = 50


def write_report(
    result: Result,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    epsilon1: float | None = None,
    delta: float = DELTA,
    labels: Labels | None = None,
    pool: Money | None = None,
) -> Path:
    """Write the report of a result as one HTML file; see `Result.report`."""
    target = Path(path)
    text = report_html(
        result, title=title, epsilon1=epsilon1, delta=delta, labels=labels, pool=pool
    )
    write_whole(target, text.encode("utf-8"))
    return target


def report_html(
    result: Result,
    *,
    title: str | None = None,
    epsilon1: float | None = None,
    delta: float = DELTA,
    labels: Labels | None = None,
    pool: Money | None = None,
) -> str:
    """The report as a string."""
    if title is not None and not isinstance(title, str):
        raise InputError(f"title must be a string, not {title!r:.40}")
    asked = epsilon1 is not None or "epsilon1" in result.asked
    wanted = result.asked.get("epsilon1", EPSILON1) if epsilon1 is None else epsilon1
    epsilon1, delta = check_epsilon1(wanted), check_delta(delta)
    template, plotly = _tools()
    written = now()
    table = PlayerTable.of(result, epsilon1=epsilon1, delta=delta, labels=labels)
    curves = ToleranceCurves.of(result)
    smallest = smallest_epsilon1(result, delta)
    drawn = charts(result, table, curves, epsilon1, delta)
    scripts = [plotly, *(_source(name) for name in ("common.js", "table.js", "charts.js"))]
    page: str = template.render(
        title=visible(title) if title else f"{_kind(result)} of {_players(result)}",
        policy=_policy(scripts),
        marks=page_marks(result.digest, result.journal_digest),
        style=_source("style.css"),
        scripts=scripts,
        data=_embedded(_data(result, table, drawn)),
        dates=[
            ("Run finished", readable_time(result.created)),
            ("report written", readable_time(written)),
        ],
        limits=limits(result),
        warnings=[visible(said) for said in result.warnings],
        verdict=verdict(result, table, epsilon1, delta, smallest, asked=asked),
        numbers=_numbers(result, table, delta, smallest),
        meaning=table.intervals.meaning,
        charts=drawn,
        equal_counts=int(result.counts[0]) if "contributions" not in drawn else None,
        test_set=section_of(result, table, delta),
        payments=None if pool is None else payments(result, table, pool, epsilon1, delta),
        parts=by_part(result, table),
        callouts=callouts(result, table, epsilon1, delta),
        label_rows=label_rows(table),
        label_choice=_label_choice(table),
        has_labels=table.labels is not None,
        has_rows=table.row_counts is not None,
        plain_rows=list(_plain_rows(table)),
        n_players=result.n_players,
        facts=facts(result, written),
        notes=[visible(note) for note in result.notes],
        unit=visible(result.unit),
        snippet=snippet(result),
        epsilon1=number(epsilon1, 6),
        delta=number(delta, 6),
        xi=number(result.xi, 6),
        exact=result.exact,
    )
    return with_page_digest(page)


def _tools() -> tuple[Any, str]:
    """The page's template and plotly's script, or an error that names the extra."""
    with extra(
        "report", "a report needs jinja2 and plotly", "Result.save and Result.to_dict need neither"
    ):
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from plotly.offline import get_plotlyjs
    environment = Environment(
        loader=PackageLoader("fairshapley.results.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["whole"] = unbroken
    return environment.get_template("page.html"), str(get_plotlyjs())


def _source(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _policy(scripts: Iterable[str]) -> str:
    """Only these very scripts run, and nothing is fetched; plotly sets styles of elements."""
    digests = [hashlib.sha256(script.encode("utf-8")).digest() for script in scripts]
    sources = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _embedded(data: dict[str, Any]) -> str:
    """JSON that no text inside can end: ASCII only, and without <, > and &."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _plain(value: Any) -> Any:
    """Rounded numbers for JSON; null for NaN, a word for what is infinite."""
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
    """What the scripts of the page read."""
    columns: dict[str, Any] = {
        "name": list(table.names),
        "label": None if table.labels is None else list(table.labels),
        "rows": None if table.row_counts is None else list(table.row_counts),
        "value": table.values,
        "lower": table.intervals.lower,
        "upper": table.intervals.upper,
        "error": table.errors,
        "fidelity": table.fidelity,
        "count": table.counts,
        "sign": table.signs,
        "group": table.group_numbers(),
        "null": table.nulls.astype(np.int64),
    }
    data = {
        "players": columns,
        "exact": result.exact,
        "charts": {key: chart.data for key, chart in drawn.items()},
    }
    plain: dict[str, Any] = _plain(data)
    return plain


def _kind(result: Result) -> str:
    name = result.semivalue
    return f"{name.capitalize()} values"


def _players(result: Result) -> str:
    return several(result.n_players, "player")


def _numbers(
    result: Result, table: PlayerTable, delta: float, smallest: float | None
) -> list[tuple[str, str, str]]:
    """The headline numbers: name, number, and what it means."""
    above, below = int((table.signs > 0).sum()), int((table.signs < 0).sum())
    open_signs = result.n_players - above - below
    signs = f"{above:,} above zero, {below:,} below zero"
    if result.exact:
        signs += f", {open_signs:,} equal to zero" if open_signs else ""
    elif open_signs:
        signs += f", {open_signs:,} undecided"
    found = [
        ("Players", f"{result.n_players:,}", "with a value each"),
        ("Sum of values", number(float(result.values.sum()), 4), _sum_words(result)),
        ("Utility evaluations", f"{result.evaluations:,}", f"in {duration(result.seconds)}"),
        ("Signs decided", f"{result.n_players if result.exact else above + below:,}", signs),
    ]
    if result.exact:
        return found
    low = float(result.lower_fidelity().min())
    words = "could not be estimated"
    if not math.isnan(low):
        words = f"cautious estimate {number(low)}"
    found.append(("Minimum fidelity", number(result.min_fidelity), words))
    if not table.intervals.joint:
        reach, words = "none", "no confidence statement is possible"
    elif smallest is None or smallest >= 1:
        reach, words = "none", f"below 100 % with {percent(1 - delta)} confidence"
    else:
        reach = percent(rounded_up(smallest))
        words = (
            f"of each true value’s size plus {number(result.xi * rounded_up(smallest), 6)}, "
            f"with {percent(1 - delta)} confidence"
        )
    found.append(("Smallest certified tolerance", reach, words))
    return found


def _sum_words(result: Result) -> str:
    ends = result.endpoints
    if ends is None:
        return "over all players"
    return f"utility {number(ends[0])} without players, {number(ends[1])} with all"


def _label_choice(table: PlayerTable) -> list[str]:
    distinct = sorted(set(table.labels)) if table.labels is not None else []
    return distinct if 1 < len(distinct) <= MOST_LABELS else []


def _plain_rows(table: PlayerTable) -> Iterable[dict[str, str]]:
    groups = table.group_numbers()
    for rank, player in enumerate(table.order[:PLAIN_ROWS].tolist(), start=1):
        remarks = []
        if groups[player] >= 0:
            remarks.append(f"identical (group {groups[player] + 1})")
        if table.signs[player] < 0:
            remarks.append("below zero")
        if table.nulls[player]:
            remarks.append("near zero")
        yield {
            "rank": f"{rank:,}",
            "name": table.names[player],
            "label": table.labels[player] if table.labels is not None else "",
            "rows": "" if table.row_counts is None else f"{table.row_counts[player]:,}",
            "value": number(table.values[player], 4),
            "interval": table.interval_text(player),
            "error": number(table.errors[player]),
            "fidelity": number(table.fidelity[player]),
            "count": f"{table.counts[player]:,}",
            "remarks": ", ".join(remarks),
        }
