"""Tests on real data: they run where FAIRSHAPLEY_DATA names a folder that holds it."""

import pytest

from fairshapley_paper.datasets import available


def needs(*names: str) -> pytest.MarkDecorator:
    """A mark that skips a test, and says which datasets are missing."""
    missing = [name for name in names if name not in available()]
    return pytest.mark.skipif(
        bool(missing),
        reason=f"needs the files of {', '.join(missing)} in the folder FAIRSHAPLEY_DATA names",
    )
