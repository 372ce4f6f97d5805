"""Sobol walks, and what they share with other groups of dependent walks."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws import AllCoalitions
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.exact import exact_values
from fairshapley.estimators.moments import Moments
from fairshapley.estimators.sampling.spread import Orthogonal, Sobol, combine
from fairshapley.semivalues import Shapley

N = 8


class Smooth:
    """Diminishing returns of weighted players and a term that depends on how they mix."""

    n_players = N

    def __init__(self):
        rng = np.random.default_rng(0)
        self.weights, self.mix = 2.0 * rng.random(N) / N, rng.standard_normal((N, 3))

    def __call__(self, coalitions):
        spread = np.square(coalitions @ self.mix).sum(axis=1)
        return 1.0 - np.exp(-2.0 * (coalitions @ self.weights)) + 0.2 * np.log1p(spread)


TABLE = Smooth()(AllCoalitions(N).masks(0, 1 << N))
TRUTH = exact_values(TABLE, Shapley())


def walk(estimator, stops, seed):
    """The state and the estimates when so many walks were told; utilities come from a table."""
    problem = Problem(N, Shapley(), float(TABLE[0]), float(TABLE[-1]), 1e-3)
    state, streams = estimator.start(problem), np.random.SeedSequence(seed)
    estimates = []
    for stop in stops:
        while state.told < stop:
            draw = estimator.ask(state, np.random.default_rng(streams.spawn(1)[0]))
            masks = draw.masks(0, len(draw))
            estimator.tell(state, draw, TABLE[masks @ (1 << np.arange(N))])
        estimates.append(estimator.estimate(state))
    return state, estimates


def mean_squared_error(estimator, walks, repeats):
    runs = [walk(estimator, [walks], seed)[1][0].values for seed in range(repeats)]
    return np.square(np.array(runs) - TRUTH).mean()


@pytest.mark.parametrize("walks", [32, 320])
@pytest.mark.parametrize("estimator", [Sobol(), Orthogonal()], ids=repr)
def test_spread_walks_beat_independent_ones(estimator, walks):
    """Mean squared error over 80 repeats of 8 players: below two thirds of plain Monte Carlo's.

    The ratio is about 0.43. Even if the errors of a run were worth four independent ones, it would
    vary by √2·√(2/320) = 11 % of itself: two thirds are 5 standard errors away.
    """
    plain = mean_squared_error(fs.MonteCarlo(), walks, 80)
    assert mean_squared_error(estimator, walks, 80) < plain * 2 / 3


def test_groups_double_when_enough_was_told():
    state, (estimate,) = walk(Sobol(points=16), [600], 0)
    assert list(state.levels) == [4, 8, 16]
    assert [moments.counts[0] for moments in state.levels.values()] == [32, 16, 22]
    # Kish: (32·4 + 16·8 + 22·16)²/(32·4² + 16·8² + 22·16²) = 608²/7168
    assert (estimate.counts == 51).all()


def test_groups_of_several_sizes_are_weighted_by_their_walks():
    """Var = Σ W_g·r_g/W²; the single group of 8 borrows the rate of the groups of 4."""
    small, large, singles = Moments(1), Moments(1), Moments(1)
    small.add(np.array([[1.0], [3.0]]))
    large.add(np.array([[5.0]]))
    singles.add(np.arange(16.0)[:, None])
    estimate = combine({4: small, 8: large}, singles)
    assert estimate.values[0] == pytest.approx((8 * 2.0 + 8 * 5.0) / 16)
    rate = 4 * 2.0  # groups of 4 have the sample variance 2
    assert estimate.variances[0] == pytest.approx((8 * rate + 8 * rate) / 16**2)
    large.add(np.array([[4.0]]))
    estimate = combine({4: small, 8: large}, singles)
    assert estimate.variances[0] == pytest.approx((8 * rate + 16 * 8 * 0.5) / 24**2)


def test_equal_walks_and_equal_groups_are_not_certainty():
    """Player 0 never varied in 8 walks, player 1 not in its 2 groups: floors τ²/(m(m+1))."""
    walks = np.array([[2.0, 0.0, 0.0], [2.0, 2.0, 1.0]] * 4)
    walks[4:, 2] += 1.0
    groups, singles = Moments(3), Moments(3)
    groups.add(walks.reshape(2, 4, 3).mean(axis=1))
    singles.add(walks)
    variances = combine({4: groups}, singles).variances
    tau2 = np.square(walks).mean()
    group_tau2 = np.square([[2.0, 1.0, 0.5], [2.0, 1.0, 1.5]]).mean()
    np.testing.assert_allclose(variances, [tau2 / 72, group_tau2 / 6, 0.25])


WALKS = [fs.MonteCarlo(antithetic=True), Sobol(), Orthogonal(), fs.Owen()]


@pytest.mark.parametrize("estimator", WALKS, ids=repr)
def test_skipped_evaluations_are_left_out(estimator):
    def utility(coalition):
        return float("nan") if coalition == (1, 3) else float(sum(coalition))

    game = fs.games.FunctionGame(utility, n_players=7)
    result = fs.estimate(game, estimator, budget=100, seed=1, on_error="skip")
    assert result.run.skipped == 1
    np.testing.assert_allclose(result.values, np.arange(7.0), atol=1e-12)


def test_too_many_players_and_too_small_a_budget_say_what_to_do():
    with pytest.raises(fs.InputError, match="'mc'"):
        fs.estimate(fs.games.Additive(np.ones(1001)), Sobol(), budget=10_000)
    with pytest.raises(fs.errors.BudgetError, match="larger budget"):
        fs.estimate(fs.games.Additive(np.ones(20)), Sobol(), budget=30)
    with pytest.raises(fs.InputError, match="power of two"):
        Sobol(points=3)
