"""The paper's metrics by hand, against brute force over pairs, and where they are not defined."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

import fairshapley as fs
from fairshapley.comparison.measures import ape
from fairshapley_paper import metrics


def test_relative_inversion_error_agrees_with_the_definition():
    rng = np.random.default_rng(1)
    truth = rng.uniform(0.5, 2.0, 23)
    estimate = truth + rng.normal(0, 0.3, 23)
    truth[::2] *= -1
    truth[4] = 0.0
    expected = math.fsum(
        abs(truth[i] - truth[j] - (estimate[i] - estimate[j])) / max(abs(truth[i]), abs(truth[j]))
        for i, j in itertools.permutations(range(23), 2)
    )
    assert metrics.relative_inversion_error(estimate, truth) == pytest.approx(expected, rel=1e-12)


def test_nullity_error_by_hand():
    """Sums 10 and 4: 0.6, 0.3, 0.1 against 0.995, 0, 0.005, of which the last two are ≤ 0.01."""
    estimate, truth = np.array([6.0, 3.0, 1.0]), np.array([3.98, 0.0, 0.02])
    assert metrics.nullity_error(estimate, truth) == pytest.approx(0.3 + 0.095)


def test_symmetry_violations_by_hand():
    """At ε1 = 0.1 and ξ = 0.01 the threshold of a pair of values 1/6 and 1/3 is 0.0177, 0.0343."""
    truth, pairs = np.array([1.0, 1.0, 2.0, 2.0]), [(0, 1), (3, 2)]
    for apart, share in ((0.05, 0.0), (0.12, 0.5), (0.3, 1.0)):
        estimate = truth + np.array([0.0, apart, 0.0, apart])
        found = metrics.symmetry_violations(estimate, truth, pairs, 0.1, 0.01)
        assert found == share
        assert metrics.symmetry_violations(50 * estimate, 3 * truth, pairs, 0.1, 0.01) == share


def test_deviation_ratio_by_hand():
    estimate, pairs = [1.0, 3.0, -0.5, 2.0], [(0, 1), (2, 3)]
    assert metrics.deviation_ratio(estimate, pairs, xi=0.0) == pytest.approx(math.log(3.0 + 4.0))
    # The sum is 5.5: shares with ξ = 1 are 6.5, 8.5, 6, 7.5 over 5.5.
    expected = math.log(8.5 / 6.5 + 7.5 / 6.0)
    assert metrics.deviation_ratio(estimate, pairs, xi=1.0) == pytest.approx(expected)
    # Order in a pair and all signs are free; equal estimates give the number of pairs.
    flipped = metrics.deviation_ratio(np.negative(estimate), [(1, 0), (3, 2)], xi=1.0)
    assert flipped == pytest.approx(expected)


def test_fidelity_spearman_is_that_of_the_paper():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=30)
    estimate = truth + rng.normal(size=30)
    scores = rng.exponential(size=30)
    expected = spearmanr(scores, ape(estimate, truth) ** -0.5).statistic
    assert metrics.fidelity_spearman(scores, estimate, truth) == pytest.approx(expected)


def test_noisy_label_f1_by_hand():
    values = np.array([-1.0, -0.9, -0.5, 1.0, 1.1, 1.2])
    # Lower cluster {0, 1, 2} with centre −0.8; one noisy label is among the high values.
    noisy = np.array([True, True, False, False, False, True])
    assert metrics.noisy_label_f1(values, noisy) == pytest.approx(2 * 2 / (3 + 3))
    assert metrics.noisy_label_f1(values, noisy, rule="below_centre") == pytest.approx(
        2 * 2 / (2 + 3)
    )
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.normalised([1.0, -1.0], [1.0, 2.0], "mean"), "estimates.*mean"),
        (lambda: metrics.relative_inversion_error([1.0, 2.0], [0.0, 0.0]), "true values of 0"),
        (lambda: metrics.fidelity_spearman([1.0, 1.0], [2.0, 3.0], [1.0, 1.0]), "equal"),
    ],
)
def test_what_is_not_defined_is_an_error(call, message):
    with pytest.raises(fs.InputError, match=message):
        call()
