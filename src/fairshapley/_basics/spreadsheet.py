"""Texts from the data in files that spreadsheets open."""

from __future__ import annotations

# A cell that begins with one of these is a formula to a spreadsheet, also behind white space.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def plain_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: one that looks so gets a leading apostrophe.

    Numbers are not to be passed through this: −5 is a number, not a formula.

    Examples
    --------
    >>> plain_cell("=cmd()"), plain_cell("ordinary")
    ("'=cmd()", 'ordinary')
    """
    suspect = text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS)
    return f"'{text}" if suspect else text
