"""Limits that the command line shows in its help: here nothing else has to be loaded for them."""

DEFAULT_MAX_ROWS = 20_000
MAX_BYTES = 2**30
"""The most bytes of a file of rows, unpacked; it takes two to three times as much memory"""
