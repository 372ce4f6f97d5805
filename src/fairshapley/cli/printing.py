"""Results on standard output: a table and sentences for people, one JSON object for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import LONGEST
from fairshapley.cli.streams import results

# Where nobody says how wide a line may be, as in a file.
WIDTH = 100


def emit(text: str) -> None:
    """Print a line on standard output, as it is."""
    stream = results()
    stream.write(f"{text}\n")
    stream.flush()


def print_shown(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    said: Iterable[str] = (),
    *,
    texts: bool = False,
) -> None:
    """Print a table, and under it sentences; the terminal folds both.

    The first cell of a row is a name, the others are numbers, or `texts` too.
    """
    console = Console(file=results())
    if not console.is_terminal:
        console = Console(file=results(), width=WIDTH)
    table = Table(title=Text(title))
    for place, heading in enumerate(headings):
        left = texts or not place
        table.add_column(Text(heading), justify="left" if left else "right", overflow="fold")
    for row in rows:
        # Names come from the data.
        table.add_row(*(Text(one_line(cell, LONGEST)) for cell in row))
    console.print(table, highlight=False)
    for line in said:
        console.print(Text(line), soft_wrap=True, highlight=False)


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object; what JSON has no form for (dates, decimals, NaN) becomes a text."""
    from fairshapley.results.fields import plain

    emit(json.dumps(plain(dict(data)), allow_nan=False, ensure_ascii=True, indent=1, default=str))
