"""What notebooks show of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairshapley._basics.markup import block_html, escaped, sentences_html, table_html
from fairshapley.results.tables import shortened, shown_table

if TYPE_CHECKING:
    from fairshapley.results.payouts import Payout
    from fairshapley.results.repeated_runs import Comparison
    from fairshapley.results.result import Result

# Rows from the top and from the bottom of a long table.
TOP_ROWS, BOTTOM_ROWS = 10, 5


def result_html(result: Result) -> str:
    """The highest and the lowest values, after what the run was."""
    title, *summary = str(result).splitlines()
    return block_html(
        title, sentences_html(summary), _table(*shown_table(result, TOP_ROWS, BOTTOM_ROWS))
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first cells are names from the data."""
    return table_html(headings, [(escaped(name), *cells) for name, *cells in rows])


def comparison_html(comparison: Comparison) -> str:
    """One row per method."""
    headings, rows, said = comparison.shown()
    table = _table(headings, rows)
    return block_html("Methods on one game at equal cost", sentences_html(said), table)


def payout_html(payout: Payout) -> str:
    """The amounts, the largest first, with their band."""
    headings, rows = payout.shown()
    table = _table(headings, shortened(rows, TOP_ROWS, BOTTOM_ROWS))
    return block_html(payout.headline(), table, sentences_html([*payout.notes, *payout.standing]))
