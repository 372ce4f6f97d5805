"""Limits that the command line shows in its help: here nothing else has to be loaded for them."""

DEFAULT_MAX_ROWS = 20_000
