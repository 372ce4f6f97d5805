"""Standard output for results alone, and what happens when it takes no more.

While a command runs, whatever a model or a library prints goes to standard error, also what is
written by compiled code and by processes that it starts.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO


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
    """The stream for results."""
    return sys.stdout if _results is None else _results


def prepare() -> None:
    """Make the standard streams of this process ready, once, before anything is printed."""
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
    if sys.stdout is None:
        sys.stdout = _output(1, "utf-8")
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        sys.stdout = _output(sys.stdout.fileno(), sys.stdout.encoding)


@contextmanager
def kept_apart() -> Iterator[None]:
    """Send all that is printed to standard error, but for what is written to `results`."""
    global _results
    if _results is not None:  # a command within a command
        yield
        return
    out = sys.stdout
    if not isinstance(out, Output):
        # Somebody else's stream, as in a test: there is no file behind it to be redirected.
        _results = out
        with redirect_stdout(sys.stderr):
            try:
                yield
            finally:
                _results = None
        return
    number = out.fileno()
    out.flush()
    kept = os.dup(number)
    _results = _output(kept, out.encoding)
    os.dup2(2, number)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, number)
        with suppress(OutputError):  # every print is flushed, so that its failure is known by now
            _results.close()
        os.close(kept)
        _results = None


def _output(number: int, encoding: str) -> Output:
    raw = open(number, "wb", closefd=False)  # noqa: SIM115
    return Output(raw, encoding=encoding, errors="replace", line_buffering=raw.isatty())
