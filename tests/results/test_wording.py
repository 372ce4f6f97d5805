"""Numbers and names as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley.results.wording import isolated, number


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


def test_a_name_in_a_sentence_keeps_its_direction_to_itself():
    assert isolated("שלום") == "\u2068שלום\u2069"
