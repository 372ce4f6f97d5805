"""Identical players share one value, with a smaller and honest error."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.estimators import METHODS, Estimate, Problem
from fairshapley.estimators.pooling import Pooling
from fairshapley.semivalues import Shapley


class Twins:
    """Interactions of 12 players, each of the first four with a twin behind."""

    n_players = 16
    identical_players = tuple((one, one + 12) for one in range(4))

    def __init__(self):
        self.inner = fs.games.SumOfUnanimity(12, seed=3)

    def __call__(self, masks):
        present = masks[:, :12].copy()
        present[:, :4] |= masks[:, 12:]
        return self.inner(present)


class Undeclared(Twins):
    identical_players = ()


def runs(game, estimator, repeats, budget=600):
    return [
        fs.estimate(game, estimator, budget=budget, seed=seed, progress=False)
        for seed in range(repeats)
    ]


def test_pooling_lowers_the_error_and_the_reported_one_is_right():
    """80 repeats of 8 twins: the ratio of the errors is known to about ±10 %."""
    truth = fs.exact(Undeclared()).values
    estimator = fs.RegressionAdjusted(proxy="linear")
    pooled, apart = runs(Twins(), estimator, 80), runs(Undeclared(), estimator, 80)
    twins = [*range(4), *range(12, 16)]

    def error(found):
        values = np.array([run.values for run in found])
        return float(np.sqrt(np.square(values - truth)[:, twins].mean()))

    reported = np.array([run.standard_errors for run in pooled])[:, twins]
    assert error(pooled) < 0.9 * error(apart)
    assert 0.8 < np.sqrt(np.square(reported).mean()) / error(pooled) < 1.25


def test_a_journal_knows_the_twins(tmp_path):
    """Replayed without the game, the run gives the same bits."""
    path = tmp_path / "twins.db"
    game = fs.games.FunctionGame(
        lambda coalition: float(len({one % 5 for one in coalition}) ** 2),
        10,
        identical_players=[(0, 5), (1, 6)],
    )
    estimator = fs.RegressionAdjusted(proxy="linear")
    first = fs.estimate(game, estimator, budget=200, seed=0, journal=path)
    again = fs.resume(path, budget=200)
    np.testing.assert_array_equal(first.values, again.values)
    assert first.values[0] == first.values[5]


def method(name):
    return fs.RegressionAdjusted(proxy="linear") if name == "adjusted" else METHODS[name]()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_gives_identical_players_one_value(name):
    budget = 2**16 if name == "exact" else 600
    result = fs.estimate(Twins(), method(name), budget=budget, seed=0)
    np.testing.assert_array_equal(result.values[:4], result.values[12:])
    np.testing.assert_array_equal(result.standard_errors[:4], result.standard_errors[12:])
    assert (result.counts[:4] == result.counts[12:]).all()
    # The others keep theirs, and the sum stays.
    apart = fs.estimate(Undeclared(), method(name), budget=budget, seed=0)
    if name != "adjusted":
        np.testing.assert_array_equal(result.values[4:12], apart.values[4:12])
        np.testing.assert_array_equal(result.standard_errors[4:12], apart.standard_errors[4:12])
    assert result.values.sum() == pytest.approx(apart.values.sum(), abs=1e-9)


def test_independent_estimates_share_the_smaller_error():
    estimator = fs.MonteCarlo(walk=False)
    shared = fs.estimate(Twins(), estimator, budget=800, seed=0)
    apart = fs.estimate(Undeclared(), estimator, budget=800, seed=0)
    one, other = apart.standard_errors[:4], apart.standard_errors[12:]
    np.testing.assert_allclose(shared.standard_errors[:4], np.hypot(one, other) / 2, rtol=1e-12)


def test_a_player_without_a_value_gets_that_of_its_twin():
    pooling = Pooling.of(Problem(4, Shapley(), 0.0, 1.0, 1e-3, identical=((0, 2), (1, 3))))
    nan = np.nan
    found = Estimate(
        np.array([1.0, nan, nan, nan]), np.array([4.0, nan, nan, nan]), np.array([5, 0, 0, 0])
    )
    shared = pooling.share(found, independent=False)
    np.testing.assert_array_equal(shared.values, [1.0, nan, 1.0, nan])
    np.testing.assert_array_equal(shared.variances, [4.0, nan, 4.0, nan])
    np.testing.assert_array_equal(shared.counts, [5, 0, 5, 0])


@pytest.mark.parametrize(("name", "budget"), [("exact", None), ("mc", 10_000), ("adjusted", 64)])
def test_wrongly_declared_players_are_refused(name, budget):
    game = fs.games.FunctionGame(
        lambda coalition: 1e6 + sum(coalition) / 10,
        6,
        identical_players=[(0, 1), (3, 4)],
        player_names=list("abcdef"),
    )
    with pytest.raises(fs.InputError, match=r"players a and b identical.* 0\.1: leave") as error:
        fs.estimate(game, name, budget=budget, seed=0)
    np.testing.assert_allclose(error.value.partial.values, np.arange(6) / 10, atol=1e-8)


def test_rounding_is_no_wrong_declaration():
    def utility(coalition):
        noise = 1e-9 * (1 in coalition)  # as of a fit that stops at a tolerance
        return 1e3 + len(coalition) ** 2 + noise

    result = fs.exact(fs.games.FunctionGame(utility, 5, identical_players=[(0, 1)]))
    assert result.exact
    assert result.values[0] == result.values[1]
