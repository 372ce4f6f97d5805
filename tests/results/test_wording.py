"""Numbers and names as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley.results.wording import isolated, number


@given(st.floats(-1e300, 1e300))
def test_numbers_keep_three_digits(value):
    text = number(value).replace("−", "-").replace(",", "")
    assert float(text) == pytest.approx(value, rel=0.0051, abs=1e-320)


def test_a_name_in_a_sentence_keeps_its_direction_to_itself():
    assert isolated("שלום") == "\u2068שלום\u2069"
