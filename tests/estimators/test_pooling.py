"""Identical players share one value, with a smaller and honest error."""

import numpy as np
import pytest

import fairshapley as fs


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


def test_twins_get_the_same_bits():
    result = fs.estimate(Twins(), fs.RegressionAdjusted(proxy="linear"), budget=600, seed=0)
    np.testing.assert_array_equal(result.values[:4], result.values[12:])
    np.testing.assert_array_equal(result.standard_errors[:4], result.standard_errors[12:])
    apart = fs.estimate(
        Twins(), fs.RegressionAdjusted(proxy="linear", pool=False), budget=600, seed=0
    )
    assert (apart.values[:4] != apart.values[12:]).all()


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


def test_values_still_add_up():
    game = Twins()
    result = fs.estimate(game, fs.RegressionAdjusted(proxy="linear"), budget=600, seed=1)
    everyone = game(np.ones((1, 16), dtype=bool))[0]
    assert result.values.sum() == pytest.approx(everyone, abs=1e-9)


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
