"""Tables that fit their terminal without cutting a number."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import LONGEST
from fairshapley.cli.streams import plain

# A column of texts is folded down to this; in less, a name is hard to read.
TEXT_WIDTH = 16
# Of a column with its border: a blank on each side and a line.
AROUND = 3


def print_table(
    console: Console,
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: bool = False,
) -> None:
    """Print a table, or where the console is too narrow for it, each cell in a line of its own.

    Parameters
    ----------
    console, title, headings, rows
        Where to print, and what. The first cell of a row is a name, the others are numbers.
    texts
        Whether the other cells are texts too, which may be folded.

    Examples
    --------
    >>> print_table(Console(width=18), "values", ["player", "value"], [["a", "+1.2346e-05"]])
    values
    a
      value:
    +1.2346e-05
    """
    encoding = console.encoding
    title = plain(title, encoding)
    heads = [plain(heading, encoding) for heading in headings]
    # Names come from the data.
    lines = [[plain(one_line(cell, LONGEST), encoding) for cell in row] for row in rows]
    columns = list(zip(*lines, strict=True)) if lines else [()] * len(heads)
    # The least width of a column.
    needs = [
        max([_longest_word(head), *(_needed(cell, texts or not place) for cell in column)])
        for place, (head, column) in enumerate(zip(heads, columns, strict=True))
    ]
    if sum(needs) + AROUND * len(needs) + 1 > console.width:
        _print_stacked(console, title, heads, lines)
        return
    spare = console.width - sum(needs) - AROUND * len(needs) - 1
    table = Table(title=Text(title))
    for place, (head, need) in enumerate(zip(heads, needs, strict=True)):
        if texts or not place:
            table.add_column(Text(head), min_width=need, overflow="fold")
            continue
        # A heading is in one line as long as there is room for it.
        extra = max(0, cell_len(head) - need)
        if extra <= spare:
            spare -= extra
        else:
            head = "\n".join(textwrap.wrap(head, need))
        table.add_column(Text(head), justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))
    console.print(table, highlight=False)


def _print_stacked(
    console: Console, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Each row as its name and a line for each cell; a long number continues on the next line."""
    if title:
        console.print(Text(title, style="italic"), overflow="fold")
    for name, *cells in rows:
        console.print(Text(name, style="bold"), overflow="fold")
        for heading, cell in zip(headings[1:], cells, strict=True):
            if cell:
                console.print(Text(f"  {heading}: {cell}"), overflow="fold")


def _needed(cell: str, is_text: bool) -> int:
    return min(_longest_word(cell), TEXT_WIDTH) if is_text else cell_len(cell)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
