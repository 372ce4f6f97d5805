"""The command line: parse, run, print; results on standard output, the rest on standard error."""

from __future__ import annotations

import sys
import warnings


def app(prog_name: str | None = None) -> None:
    """Run the command line of this process, and exit."""
    given = sys.stdout
    # Users of the shell know no lines of code.
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        from fairshapley.cli.printing import prepare_streams
        from fairshapley.cli.registry import app as commands

        prepare_streams()
        commands(prog_name=prog_name)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        sys.stdout = given


__all__ = ["app"]
