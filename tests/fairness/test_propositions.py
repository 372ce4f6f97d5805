"""The paper's propositions on small games, against enumeration and differences."""

from itertools import permutations

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley_paper import theory

RATES = np.array([1.0, 2.5, 0.7])


def test_the_minimum_of_equal_parts_is_never_higher():
    assert theory.minimum_fidelity(RATES, 9, greedy=False) == pytest.approx(0.7 * 3)
    assert theory.minimum_fidelity(RATES, 9) > 0.7 * 3
    same = [theory.minimum_fidelity([2.0, 2.0], 10, greedy=one) for one in (True, False)]
    assert same == [10.0, 10.0]
    with pytest.raises(InputError, match="ξ > 0"):
        theory.minimum_fidelity([0.0, 1.0], 5)


@pytest.mark.parametrize(("rate", "count", "epsilon1"), [(0.5, 10, 0.8), (2.0, 3, 0.5), (9, 40, 1)])
def test_the_gain_of_remark_1_and_its_derivatives(rate, count, epsilon1):
    def bound(samples, invariability=rate):
        return 1 - 1 / (epsilon1**2 * samples * invariability)

    gain = theory.bound_gain(rate, count, epsilon1)
    assert gain.factor == pytest.approx(bound(count + 1) / bound(count))
    step = 1e-6
    above, below = (bound(count + 1, one) / bound(count, one) for one in (rate + step, rate - step))
    assert gain.by_invariability == pytest.approx((above - below) / (2 * step), rel=1e-4)
    above, below = (bound(one + 1) / bound(one) for one in (count + step, count - step))
    assert gain.by_count == pytest.approx((above - below) / (2 * step), rel=1e-4)
    assert max(gain[1:]) < 0
    with pytest.raises(InputError, match="says nothing"):
        theory.bound_gain(rate, count, 1e-3)


def test_antithetic_correlation_by_all_permutations():
    game = fs.games.SumOfUnanimity(5, seed=4)
    table = game((np.arange(32)[:, None] >> np.arange(5)) & 1 == 1)

    def marginals(order):
        found, before = np.empty(5), 0
        for player in order:
            found[player] = table[before | 1 << player] - table[before]
            before |= 1 << player
        return found

    pairs = [(marginals(order), marginals(order[::-1])) for order in permutations(range(5))]
    one, other = np.array(pairs).transpose(1, 0, 2)
    known = [np.corrcoef(one[:, at], other[:, at])[0, 1] for at in range(5)]
    np.testing.assert_allclose(theory.antithetic_correlation(table), known)
    constant = theory.antithetic_correlation([0.0, 1.0, 2.0, 3.0])
    assert np.isnan(constant).all()
    with pytest.raises(InputError, match="all 2"):
        theory.antithetic_correlation([0.0, 1.0, 2.0])


def test_stratified_errors_are_within_their_bound():
    """v of a coalition is at most 1 a player here: d = 2; 20 marginals of each of 6 players."""
    game = fs.games.Additive([1.0, 0.5, 0.25, 0.0, 1.0, 0.75])
    bound = theory.stratified_bound(0.1, spread=2.0, budget=20, n_players=6)
    assert bound == pytest.approx(2 * theory.stratified_bound(0.1, 2.0, 80, 6))
    run = fs.estimate(game, "stratified", budget=60, seed=0)
    assert np.abs(run.values - game.shapley_values).max() < bound


@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "bias", "true", "reported"),
    [
        ({}, 3.5, 3.8, 10.2),
        ({"honest": True}, 1.7, 5.7, 4.7),
        ({"selection": "uniform"}, 1.3, 5.8, 3.4),
    ],
)
def test_the_table_of_biases(options, bias, true, reported):
    """What docs/paper/theory.md says of 200 runs."""
    game = fs.games.SumOfUnanimity(8, seed=2)
    method = fs.GreedyActive(alpha=5, bootstrap=5, batch=1, **options)
    values = fs.exact(game).values
    found = fs.audit(game, method, values, budget=120, repeats=200, xi=1e-3, seed=0)
    assert round(found.row()["max_bias_in_errors"], 1) == bias
    assert round(found.min_true_fidelity, 1) == true
    assert round(found.min_reported_fidelity, 1) == reported
