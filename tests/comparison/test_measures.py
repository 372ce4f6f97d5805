"""Measures by hand, against brute force over pairs, and under the changes they must not see."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairshapley.comparison import measures

# Few distinct values, so that ties occur.
TIED = st.integers(-3, 3).map(float)
SMOOTH = st.floats(-100, 100, allow_subnormal=False)


def two_vectors(elements, smallest=1, largest=12):
    return st.integers(smallest, largest).flatmap(
        lambda n: st.tuples(
            arrays(np.float64, n, elements=elements), arrays(np.float64, n, elements=elements)
        )
    )


def ordered_pairs(n):
    return itertools.permutations(range(n), 2)


def positive_pair(seed, n=9):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.5, 2.0, n)
    return truth + rng.normal(0, 0.3, n), truth


def test_errors_by_hand():
    estimate, truth = [1.0, -3.0, 4.0], [2.0, -2.0, 4.0]
    assert measures.ape(estimate, truth).tolist() == [0.5, 0.5, 0.0]
    assert measures.mape(estimate, truth) == pytest.approx(1 / 3)


def test_ape_with_an_offset_is_that_of_the_published_figure():
    estimate, truth = np.array([0.0, 0.1, -0.2]), np.array([0.0, 0.1, -0.1])
    published = np.abs((np.abs(estimate - truth) + 1e-5) / (truth + 1e-5))
    assert measures.ape(estimate, truth, offset=1e-5) == pytest.approx(published)


@given(two_vectors(TIED))
def test_inversions_agree_with_the_definition(vectors):
    estimate, truth = vectors
    count = 0
    for i, j in ordered_pairs(len(truth)):
        count += truth[i] > truth[j] and estimate[i] < estimate[j]
        count += truth[i] < truth[j] and estimate[i] > estimate[j]
    assert measures.inversions(estimate, truth) == count


@given(two_vectors(SMOOTH))
def test_inversion_error_agrees_with_the_definition(vectors):
    estimate, truth = vectors
    terms = [
        abs(truth[i] - truth[j] - (estimate[i] - estimate[j])) for i, j in ordered_pairs(len(truth))
    ]
    assert measures.inversion_error(estimate, truth) == pytest.approx(math.fsum(terms), abs=1e-9)


def test_inversions_are_those_of_the_order():
    # Only the order counts, and a constant shift costs nothing.
    estimate, truth = positive_pair(2)
    assert measures.inversions(np.exp(estimate), truth**3) == measures.inversions(estimate, truth)
    assert measures.inversion_error(truth + 1.0, truth) == pytest.approx(0, abs=1e-12)
    players = np.random.default_rng(0).permutation(len(truth))
    for metric in (measures.inversions, measures.inversion_error, measures.mape):
        assert metric(estimate[players], truth[players]) == pytest.approx(metric(estimate, truth))


def test_nl_nsw_by_hand():
    assert measures.nl_nsw([5.0, 5.0, 5.0]) == 0.0
    assert measures.nl_nsw([3.0, 1.0]) == pytest.approx(-math.log(1.5) - math.log(0.5))
    assert measures.nl_nsw([1.0, 0.0]) == math.inf
    assert measures.nl_nsw([1e308, 1e308]) == 0.0


@given(arrays(np.float64, 5, elements=st.floats(1e-3, 1e3)), st.floats(1e-6, 1e6))
def test_nl_nsw_is_scale_free_and_least_when_equal(scores, scale):
    standard = scores / scores.sum() * 5
    value = measures.nl_nsw(scores)
    assert value == pytest.approx(-np.log(standard).sum(), abs=1e-9)
    assert value == pytest.approx(measures.nl_nsw(scale * scores), abs=1e-9)
    assert value >= 0
    # A transfer from the richest to the poorest that does not overshoot is never worse (PDP).
    rich, poor = scores.argmax(), scores.argmin()
    better = scores.copy()
    step = 0.25 * (scores[rich] - scores[poor])
    better[rich] -= step
    better[poor] += step
    assert measures.nl_nsw(better) <= value + 1e-9
