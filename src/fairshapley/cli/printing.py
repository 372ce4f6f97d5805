"""Results on standard output, all else on standard error, and what happens when it takes no more.

For people a table and sentences are printed, for machines one JSON object. Whatever a model or a
library prints goes to standard error, also what is written by compiled code and by processes that
it starts.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshapley._basics.text import one_line

if TYPE_CHECKING:
    from fairshapley.results.payouts import Payout

# An error or a cell of a table is a line or two; a text of a foreign library may be longer.
LONGEST = 500
# Where nobody says how wide a line may be, as in a file.
WIDTH = 100


class OutputError(Exception):
    """Standard output takes no more; `gone` when its reader ended, as `head` does."""

    def __init__(self, error: OSError) -> None:
        closed = error.errno == errno.EBADF
        super().__init__("it is closed" if closed else error.strerror or str(error))
        self.gone = isinstance(error, BrokenPipeError) or error.errno == errno.EPIPE


class Output(io.TextIOWrapper):
    """A stream whose failures are known for what they are: no file of the command is meant."""

    def write(self, text: str, /) -> int:
        """Write, or raise an OutputError."""
        try:
            return super().write(text)
        except OSError as error:
            raise self._given_up(error) from error

    def flush(self) -> None:
        """Flush, or raise an OutputError."""
        try:
            super().flush()
        except OSError as error:
            raise self._given_up(error) from error

    def _given_up(self, error: OSError) -> OutputError:
        """Discard what is still in the buffer: Python flushes once more at the end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        return OutputError(error)


_results: TextIO | None = None


def results() -> TextIO:
    """Return the stream for results."""
    return sys.stdout if _results is None else _results


def prepare_streams() -> None:
    """Make the standard streams of this process ready, once, before anything is printed.

    What Python prints goes to a copy of standard output, and its number leads to standard error.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # A file opened later would get the number, and be written to by whoever prints. That
            # of standard output is opened for reading: it is an error to write to it.
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    raw = open(os.dup(1), "wb", closefd=False)  # noqa: SIM115
    sys.stdout = Output(raw, encoding=encoding, errors="replace", line_buffering=raw.isatty())
    os.dup2(2, 1)


@contextmanager
def kept_apart() -> Iterator[None]:
    """Send all that Python prints to standard error, but for what is written to `results`."""
    global _results
    before, _results = _results, results()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _results = before


def emit(text: str) -> None:
    """Print a line on standard output, as it is."""
    stream = results()
    stream.write(f"{text}\n")
    stream.flush()


def print_shown(
    answer: Iterable[str],
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    said: Iterable[str] = (),
    *,
    texts: bool = False,
) -> None:
    """Print the answer, a table, and under it sentences; the terminal folds them all.

    The first cell of a row is a name, the others are numbers, or `texts` too.
    """
    console = Console(file=results())
    if not console.is_terminal:
        console = Console(file=results(), width=WIDTH)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, heading in enumerate(headings):
        left = texts or not place
        table.add_column(Text(heading), justify="left" if left else "right", overflow="fold")
    for row in rows:
        # Names come from the data.
        table.add_row(*(Text(one_line(cell, LONGEST)) for cell in row))
    for part in (*map(Text, answer), Text(), table, *map(Text, said)):
        console.print(part, soft_wrap=part is not table, highlight=False)


def print_payout(divided: Payout | str, *, verbose: bool) -> None:
    """Print who gets what, and what that hangs on; or why there is no payout."""
    if isinstance(divided, str):
        if divided:
            emit(divided)
        return
    answer, rest = divided.said()
    if not verbose:
        rest = [*(one for one in rest if one.startswith("warning:")), "--verbose says more"]
    print_shown(answer, *divided.shown(), rest)
    headings, rows, said = divided.hanging()
    if rows:
        print_shown(["What the amounts depend on"], headings, rows, said)


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object; what JSON has no form for (dates, decimals, NaN) becomes a text."""
    from fairshapley.results.serialising import plain

    emit(json.dumps(plain(dict(data)), allow_nan=False, ensure_ascii=True, indent=1, default=str))
