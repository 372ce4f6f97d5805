"""How a command ends: exit codes, and errors in a line or two."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from fairshapley._basics.text import one_line
from fairshapley.cli.options import given_as
from fairshapley.cli.printing import LONGEST, OutputError, kept_apart
from fairshapley.errors import FairShapleyError, GameError
from fairshapley.results.origin import recorded

DONE = 0
INTERNAL = 1
REFUSED = 2
NOT_CERTIFIED = 3
NOT_PRINTED = 4
NOT_VERIFIED = 5
INTERRUPTED = 130
# What shells show of a program that SIGPIPE ended.
NO_READER = 141

EXIT_CODES = {
    DONE: "done",
    INTERNAL: "a fault of fairshapley itself",
    REFUSED: "refused: an option, a file or a model cannot be used",
    NOT_CERTIFIED: "the run is done, but the certificate or decision asked for was not reached",
    NOT_PRINTED: "standard output is full or closed; the files asked for are written",
    NOT_VERIFIED: "a file was changed after it was written, or does not belong to the others",
    INTERRUPTED: "interrupted by Ctrl-C",
    NO_READER: "the reader of standard output ended, as with `| head`",
}

DEBUG = "--debug"


class Command(TyperCommand):
    """A command that keeps standard output for its results."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, after its line was found to be in order."""
        with kept_apart():
            try:
                return super().invoke(ctx)
            except SystemExit as error:
                # The command itself never exits this way: code that it was given has.
                raise GameError(
                    f"the model, or a library that it uses, tried to end the program: sys.exit("
                    f"{error.code!r:.100}). Take the call out, or raise an error in its place"
                ) from error


class Commands(TyperGroup):
    """A group of commands whose errors are a line or two, with the exit codes above.

    `--debug` may stand anywhere on the line, and shows the traceback of an error.
    """

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, and exit with its code."""
        given = list(sys.argv[1:] if args is None else args)
        options = [option for option in given if option != DEBUG]
        with recorded(command=shlex.join(["fairshapley", *given])):
            try:
                code = super().main(options, prog_name, standalone_mode=False, **extra)
            except Exception as error:
                if not standalone_mode:
                    raise
                if DEBUG in given:
                    traceback.print_exc()
                code = failed(error)
        if not standalone_mode:
            return code
        if code == INTERRUPTED:  # typer's answer to Ctrl-C
            say("interrupted; with --journal, running the same command again continues")
        sys.exit(code if isinstance(code, int) else DONE)


def failed(error: Exception) -> int:
    """Say what went wrong in a line or two on standard error; the exit code."""
    if isinstance(error, typer.Abort):
        return INTERRUPTED
    if isinstance(error, OutputError):
        if error.gone:
            return NO_READER
        say(f"error: standard output cannot be written: {error}")
        return NOT_PRINTED
    # What typer raises for a line that it cannot read; its base class has moved between versions.
    message = getattr(error, "format_message", None)
    if message is not None:
        # Without a command the help is shown, and the error has nothing to say.
        if text := one_line(message(), LONGEST):
            context = getattr(error, "ctx", None)
            say(f"error: {text}" + (f" (see {context.command_path} --help)" if context else ""))
        return REFUSED
    if isinstance(error, FairShapleyError):
        say(f"error: {one_line(error.worded(given_as), LONGEST)}")
        return REFUSED
    if isinstance(error, MemoryError):
        say("error: out of memory: value fewer rows (--sample), or groups of them (--group-by)")
        return REFUSED
    said = one_line(f"{type(error).__name__}: {error}", LONGEST)
    say(f"internal error: {said}\nPlease report it, with what {DEBUG} shows")
    return INTERNAL


def say(text: str) -> None:
    """Print a line on standard error; when that takes no more, the command continues without."""
    # Not by typer.echo: where an encoding is poor it writes UTF-8 all the same.
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
