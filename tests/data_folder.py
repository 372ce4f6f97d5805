"""Tests on real data: they run where FAIRSHAPLEY_DATA names a folder that holds it."""

import pytest

from fairshapley.datasets import available


def needs(*names: str, source: str | None = None) -> pytest.MarkDecorator:
    """A mark that skips a test, and says which data sets are missing."""
    there = available()
    missing = [
        name
        for name in names
        if not there[name] or (source is not None and source not in there[name])
    ]
    files = "files" if source is None else f"{source} files"
    return pytest.mark.skipif(
        bool(missing),
        reason=f"needs the {files} of {', '.join(missing)} in the folder FAIRSHAPLEY_DATA names",
    )
