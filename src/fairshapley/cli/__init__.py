"""The command line: parse, run, print; results on standard output, the rest on standard error."""

from fairshapley.cli.app import app

__all__ = ["app"]
