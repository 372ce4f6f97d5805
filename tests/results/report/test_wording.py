"""Numbers and names as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.results.report.samples import HOSTILE

from fairshapley.results.report.wording import MOST_MARKS, isolated, listed, number, visible


@given(st.floats(-1e300, 1e300))
def test_numbers_keep_three_digits(value):
    text = number(value).replace("−", "-").replace(",", "")
    assert float(text) == pytest.approx(value, rel=0.0051, abs=1e-320)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "−0.5"),
        (999.6, "1,000"),
        (123456.0, "123,000"),
        (1e-5, "1e−5"),
        (math.inf, "∞"),
        (math.nan, "not known"),
    ],
)
def test_numbers_by_hand(value, text):
    assert number(value) == text


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


def test_a_name_in_a_sentence_keeps_its_direction_to_itself():
    assert isolated("שלום") == "\u2068שלום\u2069"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_readable(name):
    assert visible(name)
    assert visible("plain ü 日本 🙂") == "plain ü 日本 🙂"


def test_lists_in_words():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
