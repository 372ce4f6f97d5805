"""Apportionment: quota, monotone, equal for equals, and no rest that could be avoided."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.results.payouts.apportionment import apportion

WEIGHTS = st.lists(st.integers(-6, 12), min_size=1, max_size=7).filter(lambda w: sum(w) > 0)


def allowed(weights, units):
    """Every way to round shares down or up that treats equals equally and is monotone."""
    total = sum(weights)
    choices = []
    for weight in weights:
        low, rest = divmod(weight * units, total)
        choices.append({low, low + 1} if rest else {low})
    pairs = [(i, j) for i in range(len(weights)) for j in range(len(weights))]
    for amounts in product(*choices):
        fair = all(
            amounts[i] == amounts[j] if weights[i] == weights[j] else amounts[i] >= amounts[j]
            for i, j in pairs
            if weights[i] >= weights[j]
        )
        if fair and sum(amounts) <= units:
            yield list(amounts)


@given(WEIGHTS, st.integers(1, 60))
def test_no_allowed_division_leaves_less(weights, units):
    amounts, rest = apportion(weights, units)
    ways = list(allowed(weights, units))
    assert amounts in ways
    assert rest == units - sum(amounts) == min(units - sum(way) for way in ways)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30, unique=True).filter(any))
def test_distinct_weights_leave_nothing_and_follow_the_largest_remainders(weights):
    amounts, rest = apportion(weights, 10**4)
    assert rest == 0
    total = sum(weights)
    raised = [
        w * 10**4 % total for w, a in zip(weights, amounts, strict=True) if a > w * 10**4 // total
    ]
    stayed = [
        w * 10**4 % total for w, a in zip(weights, amounts, strict=True) if a == w * 10**4 // total
    ]
    assert not raised or min(raised) >= max(stayed, default=0)


def test_the_rest_is_avoided_where_the_largest_remainders_alone_would_leave_one():
    """Remainders ask for the pair first, which leaves 1 of 3 units; the three take all."""
    weights = [29, 29, 17, 17, 17]  # of 109: 10 units are due as 2.66, 2.66 and three times 1.56
    assert apportion(weights, 10) == ([2, 2, 2, 2, 2], 0)


def test_a_heavier_class_that_cannot_be_raised_blocks_a_lighter_one():
    """Six units for 7, 7 and 6: raising the 6 alone would pay it more than the sevens."""
    assert apportion([7, 7, 6], 5) == ([2, 2, 1], 0)
    assert apportion([7, 7, 6], 7) == ([2, 2, 2], 1)


def test_nothing_to_divide_by():
    with pytest.raises(fs.InputError, match="positive sum"):
        apportion([1, -1], 10)
