"""The covariance of the halves of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley.estimators.adjusted.adjustment import MIN_FACTOR, SplitPairs
from fairshapley.estimators.moments import Moments


@given(
    st.lists(st.booleans(), min_size=2, max_size=30),
    st.lists(st.integers(1, 7), min_size=60, max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_blocks_of_whole_pairs_give_the_sums_over_clusters(pairs, lengths, seed):
    groups = np.repeat(np.arange(len(pairs)), [2 if pair else 1 for pair in pairs])
    rows = 100.0 + np.random.default_rng(seed).standard_normal((len(groups), 3))
    moments, halves = Moments(3), SplitPairs(groups)
    for some in np.split(np.arange(len(pairs)), np.cumsum(lengths)):
        block = rows[np.isin(groups, some)]
        moments.add(block)
        halves.add(block)
    deviations = rows - rows.mean(axis=0)
    clusters = np.array([deviations[groups == group].sum(axis=0) for group in range(len(pairs))])
    expected = np.square(clusters).sum(axis=0) / np.square(deviations).sum(axis=0)
    assert halves.count == sum(pairs)
    np.testing.assert_allclose(
        halves.factors(moments), np.maximum(expected, MIN_FACTOR), rtol=1e-6, atol=1e-9
    )


def test_without_pairs_nothing_changes():
    moments, halves = Moments(2), SplitPairs(np.arange(4))
    moments.add(np.eye(4)[:, :2])
    halves.add(np.eye(4)[:, :2])
    np.testing.assert_array_equal(halves.factors(moments), 1.0)


def test_equal_contributions_keep_their_floor():
    moments, halves = Moments(1), SplitPairs(np.array([0, 0, 1, 1]))
    moments.add(np.ones((4, 1)))
    halves.add(np.ones((4, 1)))
    assert halves.factors(moments) == pytest.approx(1.0)
