"""What notebooks show of results: compact tables in HTML that follow a light or a dark theme.

No colours are set, texts from the data are escaped, and nothing is loaded from anywhere.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairshapley.results.payouts.amounts import shown

if TYPE_CHECKING:
    from fairshapley.fairness.certificate import Certificate
    from fairshapley.fairness.guarantees import Guarantee
    from fairshapley.results.payouts import Payout
    from fairshapley.results.result import Result
    from fairshapley.uses.audits import Comparison

# Rows from the top and from the bottom of a long table.
TOP_ROWS, BOTTOM_ROWS = 10, 5
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
    visible = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    if len(visible) > LONGEST_TEXT:
        visible = visible[: LONGEST_TEXT - 1] + "…"
    return f"<bdi>{html.escape(visible)}</bdi>"


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


def block_html(title: str, *parts: str) -> str:
    """A title over parts, which are HTML already."""
    heading = f'<p style="margin:0.3em 0"><strong>{html.escape(title)}</strong></p>'
    return f'<div class="fairshapley">{heading}{"".join(parts)}</div>'


def sentences_html(sentences: Iterable[str]) -> str:
    """Each sentence in a line of its own."""
    lines = "<br>".join(html.escape(sentence) for sentence in sentences)
    return f'<p style="margin:0.3em 0;max-width:60em">{lines}</p>' if lines else ""


def result_html(result: Result) -> str:
    """The highest and the lowest values, after what the run was."""
    title, *summary = str(result).splitlines()
    # NaN, a value not known yet, comes last.
    order = np.argsort(-result.values, kind="stable").tolist()
    names, scores = result.names(), result.fidelity()
    rows: list[tuple[str, ...]] = [
        (
            escaped(names[player]),
            f"{result.values[player]:.4g}",
            f"{result.standard_errors[player]:.2g}",
            f"{scores[player]:.3g}",
            f"{result.counts[player]:,}",
        )
        for player in order
    ]
    columns = ("player", "value", "standard error", "fidelity", "contributions")
    return block_html(title, sentences_html(summary), table_html(columns, _shortened(rows)))


def _shortened(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows, or the first and the last with a row that says what is left out."""
    left_out = len(rows) - TOP_ROWS - BOTTOM_ROWS
    if left_out <= 1:
        return rows
    gap = (f"… {left_out:,} more …", *[""] * (len(rows[0]) - 1))
    return [*rows[:TOP_ROWS], gap, *rows[-BOTTOM_ROWS:]]


def certificate_html(certificate: Certificate) -> str:
    """The verdict, the sentences, and the players that stand in its way."""
    verdict = "Certified" if certificate.holds else "Not certified"
    title = f"{verdict}: ε1 = {certificate.epsilon1:g}, δ = {certificate.delta:g}"
    said = [certificate.statement, *(f"Warning: {text}" for text in certificate.warnings)]
    parts = [sentences_html(said)]
    worst = certificate.worst_players[:BOTTOM_ROWS].tolist()
    # Without any interval there is nothing to say of single players.
    if worst and np.isfinite(certificate.half_widths[worst]).any():
        rows = [
            (
                f"{player}",
                f"{certificate.values[player]:.4g}",
                f"{certificate.half_widths[player]:.3g}",
                f"{certificate.allowed[player]:.3g}",
            )
            for player in worst
        ]
        parts.append(table_html(("player", "value", "known to ±", "needed ±"), rows))
    return block_html(title, *parts)


def guarantee_html(guarantee: Guarantee) -> str:
    """The sentence, with the numbers behind it."""
    rows = [
        ("probability of failure δ", f"{guarantee.delta:.4g}"),
        ("δ from the minimum fidelity alone", f"{guarantee.delta_from_minimum:.4g}"),
        ("minimum fidelity", f"{guarantee.min_fidelity:.4g}"),
        ("most uncertain player", f"{int(np.argmax(guarantee.failures))}"),
    ]
    return block_html(str(guarantee), table_html((), rows))


def comparison_html(comparison: Comparison) -> str:
    """One row per method."""
    columns = ["method", "evaluations", "mean squared error", "worst error", "fidelity, true"]
    columns += ["fidelity, reported", "coverage", "fair runs"]
    rows = [
        (
            escaped(name),
            f"{one.evaluations:,.0f}",
            f"{float(one.mse.mean()):.3g}",
            f"{float(np.sqrt(one.mse.max())):.3g}",
            f"{one.min_true_fidelity:.3g}",
            f"{one.min_reported_fidelity:.3g}",
            f"{one.coverage:.1%}",
            f"{one.fair_share:.0%}",
        )
        for name, one in comparison.audits.items()
    ]
    return block_html("Methods on one game at equal cost", table_html(columns, rows))


def payout_html(payout: Payout) -> str:
    """The amounts, the largest first, with their band."""
    columns = ["player", "value", "share", "amount"]
    if payout.lower is not None:
        columns += ["at least", "at most"]
    rows = []
    for player in payout.order():
        row = [
            escaped(payout.names[player]),
            f"{payout.values[player]:.4g}",
            f"{payout.shares[player]:.2%}",
            shown(payout.amounts[player]),
        ]
        if payout.lower is not None and payout.upper is not None:
            row += [shown(payout.lower[player]), shown(payout.upper[player])]
        rows.append(tuple(row))
    table = table_html(columns, _shortened(rows))
    return block_html(payout.headline(), table, sentences_html(payout.notes))
