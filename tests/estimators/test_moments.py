import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairshapley.estimators.moments import Moments

rows = arrays(np.float64, st.tuples(st.integers(2, 12), st.just(3)), elements=st.floats(-1e3, 1e3))


def moments_of(batch, splits=()):
    moments = Moments(batch.shape[1])
    for part in np.split(batch, sorted(splits)):
        if len(part):
            moments.add(part)
    return moments


@given(rows, st.lists(st.integers(0, 12), max_size=4))
def test_batches_of_any_size_give_mean_and_variance(batch, splits):
    moments = moments_of(batch, [min(cut, len(batch)) for cut in splits])
    np.testing.assert_allclose(moments.means, batch.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        moments.variances_of_means, batch.var(axis=0, ddof=1) / len(batch), rtol=1e-7, atol=1e-7
    )


@given(rows)
def test_adding_at_players_is_the_same_as_adding_rows(batch):
    moments = Moments(3)
    for row in batch:
        moments.add_at(np.array([2, 0]), row[[2, 0]])
    np.testing.assert_array_equal(moments.counts, [len(batch), 0, len(batch)])
    expected = moments_of(batch)
    np.testing.assert_allclose(moments.means[[0, 2]], expected.means[[0, 2]], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        moments.squares[[0, 2]], expected.squares[[0, 2]], rtol=1e-7, atol=1e-6
    )


def test_a_large_mean_does_not_hide_the_variance():
    batch = 1e9 + np.random.default_rng(0).standard_normal((1000, 1))
    moments = moments_of(batch, range(0, 1000, 10))
    np.testing.assert_allclose(moments.variances_of_means * 1000, batch.var(ddof=1), rtol=1e-6)


def test_skipped_contributions_are_left_out():
    nan = np.nan
    moments = moments_of(np.array([[1.0, nan, nan], [3.0, 4.0, nan], [5.0, 6.0, nan]]), [1])
    np.testing.assert_array_equal(moments.counts, [3, 2, 0])
    np.testing.assert_allclose(moments.means[:2], [3.0, 5.0])
    moments.add_at(np.array([0, 2]), np.array([nan, 7.0]))
    np.testing.assert_array_equal(moments.counts, [3, 2, 1])


def test_equal_contributions_are_not_certainty():
    """Player 0 never varied: its floor is τ²/(m(m+1)), τ² = (4·1 + 2²+4²+2²+4²)/8."""
    moments = moments_of(np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 2.0], [1.0, 4.0]]))
    tau2 = (4 + 4 + 16 + 4 + 16) / 8
    expected = [tau2 / 20, 4 / 3 / 4]
    np.testing.assert_allclose(moments.estimate().variances, expected)


def test_rounding_is_not_variance():
    batch = np.column_stack([0.9 - 0.1 * np.arange(8), np.arange(8.0)])
    marginals = np.diff(batch, axis=0)
    marginals[:, 1] *= np.arange(7)
    assert np.ptp(marginals[:, 0]) > 0  # 0.9 − 0.8 and 0.8 − 0.7 differ in the last bit
    moments = moments_of(marginals)
    assert moments.estimate().variances[0] > 1e-3 > 1e-20 > moments.variances_of_means[0]


@given(rows)
def test_extremes_are_the_largest_squared_deviations(batch):
    moments = moments_of(batch, [1])
    deviations = np.abs(batch - batch.mean(axis=0)).max(axis=0)
    variances = batch.var(axis=0, ddof=1)
    for player in range(3):
        if variances[player] > 1e-6:
            expected = deviations[player] ** 2 / variances[player]
            np.testing.assert_allclose(moments.extremes()[player], expected, rtol=1e-6)
