"""Cells that no spreadsheet computes."""

import pytest

from fairshapley._basics.spreadsheet import plain_cell


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "  =1", "\n=1", "＝1", "\u00a0=1"]
)
def test_formulas_are_tamed(text):
    assert plain_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "'=1", "名前"])
def test_other_texts_are_left_alone(text):
    assert plain_cell(text) == text
