"""Metrics by hand, against brute force over pairs, and under the changes they must not see."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

import fairshapley as fs
from fairshapley.fairness import axioms
from fairshapley_paper import metrics

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


# Errors of single values


def test_errors_by_hand():
    estimate, truth = [1.0, -3.0, 4.0], [2.0, -2.0, 4.0]
    assert metrics.ape(estimate, truth).tolist() == [0.5, 0.5, 0.0]
    assert metrics.mape(estimate, truth) == pytest.approx(1 / 3)
    assert metrics.mse(estimate, truth) == pytest.approx(2 / 3)
    # Means 2/3 and 4/3: estimates become 1.5, −4.5, 6 and the truth 1.5, −1.5, 3.
    assert metrics.mse(estimate, truth, normalise="mean") == pytest.approx((0 + 9 + 9) / 3)
    assert metrics.mape(estimate, truth, normalise="mean") == pytest.approx((0 + 2 + 1) / 3)
    # First values 1 and 2: 1, −3, 4 against 1, −1, 2.
    assert metrics.mse(estimate, truth, normalise="first") == pytest.approx((0 + 4 + 4) / 3)
    assert metrics.mape(estimate, truth, normalise="first") == pytest.approx((0 + 2 + 1) / 3)


@pytest.mark.parametrize("normalise", ["mean", "first", "sum"])
def test_normalised_errors_do_not_see_the_unit_of_either(normalise):
    estimate, truth = positive_pair(0)
    for metric in (metrics.mape, metrics.mse, metrics.inversion_error):
        plain = metric(estimate, truth, normalise=normalise)
        scaled = metric(7.0 * estimate, 0.1 * truth, normalise=normalise)
        assert scaled == pytest.approx(plain)
        assert plain > 0
        assert metric(5.0 * truth, truth, normalise=normalise) == pytest.approx(0, abs=1e-12)


def test_ape_with_an_offset_is_that_of_the_published_figure():
    estimate, truth = np.array([0.0, 0.1, -0.2]), np.array([0.0, 0.1, -0.1])
    published = np.abs((np.abs(estimate - truth) + 1e-5) / (truth + 1e-5))
    assert metrics.ape(estimate, truth, offset=1e-5) == pytest.approx(published)
    assert metrics.mape(estimate, truth, offset=1e-5) == pytest.approx(published.mean())


# Pairs of players


@given(two_vectors(TIED))
def test_inversions_agree_with_the_definition(vectors):
    estimate, truth = vectors
    count = 0
    for i, j in ordered_pairs(len(truth)):
        count += truth[i] > truth[j] and estimate[i] < estimate[j]
        count += truth[i] < truth[j] and estimate[i] > estimate[j]
    assert metrics.inversions(estimate, truth) == count


@given(two_vectors(SMOOTH))
def test_inversion_error_agrees_with_the_definition(vectors):
    estimate, truth = vectors
    terms = [
        abs(truth[i] - truth[j] - (estimate[i] - estimate[j])) for i, j in ordered_pairs(len(truth))
    ]
    assert metrics.inversion_error(estimate, truth) == pytest.approx(math.fsum(terms), abs=1e-9)


@pytest.mark.parametrize("zero", [False, True])
def test_relative_inversion_error_agrees_with_the_definition(zero):
    estimate, truth = positive_pair(1, n=23)
    truth[::2] *= -1
    truth[4] *= not zero
    expected = math.fsum(
        abs(truth[i] - truth[j] - (estimate[i] - estimate[j])) / max(abs(truth[i]), abs(truth[j]))
        for i, j in ordered_pairs(23)
    )
    got = metrics.inversion_error(estimate, truth, relative=True)
    assert got == pytest.approx(expected, rel=1e-12)


def test_inversions_by_hand_and_at_the_extremes():
    assert metrics.inversions([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0]) == 2
    assert metrics.inversions([4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]) == 12
    assert metrics.inversions([5.0], [1.0]) == 0
    # Only the order counts, and a constant shift costs nothing.
    estimate, truth = positive_pair(2)
    assert metrics.inversions(np.exp(estimate), truth**3) == metrics.inversions(estimate, truth)
    assert metrics.inversion_error(truth + 1.0, truth) == pytest.approx(0, abs=1e-12)
    players = np.random.default_rng(0).permutation(len(truth))
    for metric in (metrics.inversions, metrics.inversion_error, metrics.mape, metrics.mse):
        assert metric(estimate[players], truth[players]) == pytest.approx(metric(estimate, truth))


# Nash welfare, nullity, symmetry


def test_nl_nsw_by_hand():
    assert metrics.nl_nsw([5.0, 5.0, 5.0]) == 0.0
    assert metrics.nl_nsw([3.0, 1.0]) == pytest.approx(-math.log(1.5) - math.log(0.5))
    assert metrics.nl_nsw([1.0, 0.0]) == math.inf
    assert metrics.nl_nsw([1e308, 1e308]) == 0.0


@given(arrays(np.float64, 5, elements=st.floats(1e-3, 1e3)), st.floats(1e-6, 1e6))
def test_nl_nsw_is_scale_free_and_least_when_equal(scores, scale):
    standard = scores / scores.sum() * 5
    value = metrics.nl_nsw(scores)
    assert value == pytest.approx(-np.log(standard).sum(), abs=1e-9)
    assert value == pytest.approx(metrics.nl_nsw(scale * scores), abs=1e-9)
    assert value >= 0
    # A transfer from the richest to the poorest that does not overshoot is never worse (PDP).
    rich, poor = scores.argmax(), scores.argmin()
    better = scores.copy()
    step = 0.25 * (scores[rich] - scores[poor])
    better[rich] -= step
    better[poor] += step
    assert metrics.nl_nsw(better) <= value + 1e-9


def test_nullity_error_by_hand():
    estimate, truth = np.array([6.0, 3.0, 1.0]), np.array([3.98, 0.0, 0.02])
    # Sums 10 and 4: 0.6, 0.3, 0.1 against 0.995, 0, 0.005, of which the last two are ≤ 0.01.
    assert metrics.nullity_error(estimate, truth) == pytest.approx(0.3 + 0.095)
    assert metrics.nullity_error(estimate, truth, threshold=0) == pytest.approx(0.3)
    assert metrics.nullity_error(estimate, truth, threshold=0.1, normalise=None) == (
        pytest.approx(3.0 + 0.98)
    )


def test_symmetry_violations_by_hand():
    truth = [1.0, 1.0, 2.0, 2.0, 0.0, 0.0]
    estimate = [1.0, 1.3, 2.0, 2.3, 0.0, 0.03]
    pairs = [(0, 1), (3, 2), (4, 5)]
    given = {"pairs": pairs, "xi": 0.1}
    # At ε1 = 0.1 A2 allows 0.22, 0.42, 0.02 and the published threshold 0.11, 0.21, 0.01.
    assert metrics.symmetry_violations(estimate, truth, epsilon1=0.1, **given) == pytest.approx(
        2 / 3
    )
    published = {**given, "threshold": "published"}
    assert metrics.symmetry_violations(estimate, truth, epsilon1=0.1, **published) == 1.0
    # Halving the threshold is halving ε1.
    for epsilon1 in (0.1, 0.2, 0.4, 1.0):
        half = metrics.symmetry_violations(estimate, truth, epsilon1=epsilon1 / 2, **given)
        assert metrics.symmetry_violations(estimate, truth, epsilon1=epsilon1, **published) == half
    # With ξ a share of the sum the unit does not matter.
    scaled = {"normalise": "sum", "epsilon1": 0.1, **given}
    assert metrics.symmetry_violations(
        np.multiply(50, estimate), np.multiply(3, truth), **scaled
    ) == metrics.symmetry_violations(estimate, truth, **scaled)


def test_axiom_threshold_is_that_of_check_fairness():
    rng = np.random.default_rng(4)
    truth = np.repeat(rng.normal(size=20), 2)
    estimate = truth + rng.normal(0, 0.3, 40)
    pairs = np.arange(40).reshape(20, 2)
    check = axioms.check_fairness(
        estimate, truth=truth, symmetric_pairs=pairs, epsilon1=0.3, xi=0.1
    )[1]
    share = metrics.symmetry_violations(estimate, truth, pairs, 0.3, 0.1)
    assert 0 < share < 1
    assert share == len(check.violations) / 20


def test_deviation_ratio_by_hand():
    estimate = [1.0, 3.0, -0.5, 2.0]
    pairs = [(0, 1), (2, 3)]
    assert metrics.deviation_ratio(estimate, pairs, xi=0.0) == pytest.approx(3.0 + 4.0)
    assert metrics.deviation_ratio(estimate, pairs, xi=1.0) == pytest.approx(2.0 + 2.0)
    assert metrics.deviation_ratio(estimate, pairs, xi=1.0, log=True) == pytest.approx(math.log(4))
    # Order in a pair and all signs are free; equal estimates give the number of pairs.
    flipped = metrics.deviation_ratio(np.negative(estimate), [(1, 0), (3, 2)], xi=0.0)
    assert flipped == pytest.approx(7.0)
    assert metrics.deviation_ratio([2.0, 2.0, 0.0, 0.0], pairs, xi=1e-3) == pytest.approx(2.0)
    # The sum is 5.5: shares with ξ = 1 are 6.5, 8.5, 6, 7.5 over 5.5.
    assert metrics.deviation_ratio(estimate, pairs, xi=1.0, normalise="sum") == pytest.approx(
        8.5 / 6.5 + 7.5 / 6.0
    )


# Rank correlation, clusters, curves


def test_fidelity_spearman_is_that_of_the_paper():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=30)
    estimate = truth + rng.normal(size=30)
    scores = rng.exponential(size=30)
    expected = spearmanr(scores, metrics.ape(estimate, truth) ** -0.5).statistic
    assert metrics.fidelity_spearman(scores, estimate, truth) == pytest.approx(expected)
    best = 1 / metrics.ape(estimate, truth)
    assert metrics.fidelity_spearman(best, estimate, truth) == pytest.approx(1.0)
    assert metrics.fidelity_spearman(-best, estimate, truth) == pytest.approx(-1.0)


def test_fidelity_spearman_ranks_proven_values_first():
    assert metrics.fidelity_spearman([np.inf, 2.0, 1.0], [1.0, 1.5, 2.0], np.ones(3)) == (
        pytest.approx(1.0)
    )


def test_noisy_label_f1_by_hand():
    values = np.array([-1.0, -0.9, -0.5, 1.0, 1.1, 1.2])
    # Lower cluster {0, 1, 2} with centre −0.8; one noisy label is among the high values.
    noisy = np.array([True, True, False, False, False, True])
    assert metrics.noisy_label_f1(values, noisy) == pytest.approx(2 * 2 / (3 + 3))
    assert metrics.noisy_label_f1(values, noisy, rule="below_centre") == pytest.approx(
        2 * 2 / (2 + 3)
    )
    assert metrics.noisy_label_f1(values, ~noisy) == pytest.approx(2 * 1 / (3 + 3))
    assert metrics.noisy_label_f1(values, [0, 1, 5]) == metrics.noisy_label_f1(values, noisy)
    assert metrics.noisy_label_f1(-values, [0, 1, 2]) == 0.0


def best_split(values):
    """Two-means on a line by brute force: the lower cluster of the split of least squares."""
    order = np.argsort(values)
    costs = [
        sum(((part - part.mean()) ** 2).sum() for part in np.split(values[order], [cut]))
        for cut in range(1, len(values))
    ]
    return set(order[: int(np.argmin(costs)) + 1].tolist())


@pytest.mark.parametrize("seed", range(8))
def test_the_lower_cluster_is_the_optimal_one(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=30) + 2.0 * (rng.uniform(size=30) < 0.7)
    lower = best_split(values)
    assert metrics.noisy_label_f1(values, sorted(lower)) == 1.0
    assert metrics.noisy_label_f1(1e-9 * values + 5e-6, sorted(lower)) == 1.0


# What is not defined


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.mape([1.0, 2.0], [1.0, 0.0]), "player 1 is 0.*offset.*mse"),
        (lambda: metrics.mape([1.0, -1.0], [1.0, 2.0], normalise="mean"), "estimates.*mean"),
        (lambda: metrics.mse([1.0, 1.0], [0.0, 2.0], normalise="first"), "true values.*player 0"),
        (lambda: metrics.inversion_error([1.0, 2.0], [0.0, 0.0], relative=True), "relative=False"),
        (lambda: metrics.nl_nsw([-1.0, 1.0]), "negative"),
        (lambda: metrics.nl_nsw([0.0, 0.0]), "all fidelity scores are 0"),
        (lambda: metrics.symmetry_violations([1, 1], [1, 1], [], 0.1, 0), "at least one pair"),
        (lambda: metrics.deviation_ratio([0.0, 1.0], [(0, 1)], 0.0), "positive xi"),
        (lambda: metrics.fidelity_spearman([1.0, np.nan], [2.0, 3.0], [1.0, 1.0]), "NaN"),
        (lambda: metrics.fidelity_spearman([1.0, 1.0], [2.0, 3.0], [1.0, 1.0]), "equal"),
        (lambda: metrics.noisy_label_f1([1.0, 1.0], [0]), "equal"),
        (lambda: metrics.noisy_label_f1([1.0, 2.0], [False, False]), "no label"),
    ],
)
def test_what_is_not_defined_is_an_error(call, message):
    with pytest.raises(fs.InputError, match=message):
        call()
