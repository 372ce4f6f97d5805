"""What notebooks show of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.markup import block_html, escaped, sentences_html, table_html
from fairshapley.results.payouts.amounts import shown
from fairshapley.results.repeated_runs import LOWEST_OF_NOISY

if TYPE_CHECKING:
    from fairshapley.results.payouts import Payout
    from fairshapley.results.repeated_runs import Comparison
    from fairshapley.results.result import Result

# Rows from the top and from the bottom of a long table.
TOP_ROWS, BOTTOM_ROWS = 10, 5


def result_html(result: Result) -> str:
    """The highest and the lowest values, after what the run was."""
    title, *summary = str(result).splitlines()
    # NaN, a value not known yet, comes last.
    order = np.argsort(-result.values, kind="stable").tolist()
    names, scores = result.names(), result.fidelity()
    columns: tuple[str, ...] = ("player", "value", "standard error", "fidelity", "contributions")
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
    if result.exact:  # there is no error to be told
        columns, rows = columns[:2], [row[:2] for row in rows]
    return block_html(title, sentences_html(summary), table_html(columns, _shortened(rows)))


def _shortened(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows, or the first and the last with a row that says what is left out."""
    left_out = len(rows) - TOP_ROWS - BOTTOM_ROWS
    if left_out <= 1:
        return rows
    gap = (f"… {left_out:,} more …", *[""] * (len(rows[0]) - 1))
    return [*rows[:TOP_ROWS], gap, *rows[-BOTTOM_ROWS:]]


def comparison_html(comparison: Comparison) -> str:
    """One row per method."""
    columns = ["method", "evaluations", "mean squared error", "worst error", "fidelity, true"]
    columns += ["fidelity, reported", "coverage", "A0 held", "fair runs (A1–A3)"]
    rows = [
        (
            escaped(name),
            f"{one.evaluations:,.0f}",
            f"{float(one.mse.mean()):.3g}",
            f"{float(np.sqrt(one.mse.max())):.3g}",
            one.min_true_fidelity_text,
            f"{one.min_reported_fidelity:.3g}",
            f"{one.coverage:.1%}",
            f"{one.within_share:.0%}",
            one.fair_text,
        )
        for name, one in comparison.audits.items()
    ]
    cases = next(iter(comparison.audits.values())).premises
    said = sentences_html([f"Cases for A1–A3: {cases}.", LOWEST_OF_NOISY])
    return block_html("Methods on one game at equal cost", said, table_html(columns, rows))


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
