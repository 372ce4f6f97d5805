"""The command line: parse, run, print; results on standard output, the rest on standard error."""

from __future__ import annotations

from fairshapley.cli import starting


def app(prog_name: str | None = None) -> None:
    """Run the command line of this process, and exit."""
    starting.hold()
    from fairshapley.cli import streams
    from fairshapley.cli.registry import app as commands

    streams.prepare()
    try:
        commands(prog_name=prog_name)
    finally:
        # What is left is the end of the process, which has nothing to say about Ctrl-C either.
        starting.hold()


__all__ = ["app"]
