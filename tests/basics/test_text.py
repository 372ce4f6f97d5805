"""Lists in words, texts from the data that hide nothing, and cells that no spreadsheet computes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.results.report.samples import HOSTILE

from fairshapley._basics.text import MOST_MARKS, listed, one_line, plain_cell, visible


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "  =1", "\n=1", "＝1", "\u00a0=1"]
)
def test_formulas_are_tamed(text):
    assert plain_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "'=1", "名前"])
def test_other_texts_are_left_alone(text):
    assert plain_cell(text) == text


@given(st.text(st.characters(), max_size=300))
def test_visible_names_hold_nothing_hidden(text):
    shown = visible(text)
    shown.encode("utf-8")
    joined = shown.replace("\u200c", "").replace("\u200d", "")
    assert all(letter.isprintable() or letter.isspace() for letter in joined)
    assert not set(joined) & set("\x00\x1b\u202e\u2066\u2028")


def test_nothing_is_cut():
    assert visible("x" * 50_000) == "x" * 50_000


@pytest.mark.parametrize("mark", ["\u0301", "\u0489", "\u20dd"])
def test_stacked_marks_are_contained(mark):
    shown = visible(f"a{200 * mark}b")
    assert shown == f"a{MOST_MARKS * mark}⟨and {200 - MOST_MARKS} more marks⟩b"
    assert visible(mark + "b") == f"◌{mark}b"
    assert visible("Việt Nam, שָׁלוֹם, हिन्दी, ภาษาไทย") == "Việt Nam, שָׁלוֹם, हिन्दी, ภาษาไทย"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_readable(name):
    assert visible(name)
    assert visible("plain ü 日本 🙂") == "plain ü 日本 🙂"


def test_lists_in_words():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"], most=2) == "a, b and 1 more"


def test_one_line_is_visible_and_cut():
    assert one_line("a\u202e\n\tb ", 80) == "a⟨U+202E⟩ b"
    assert one_line("x" * 10**7, 80) == "x" * 79 + "…"
