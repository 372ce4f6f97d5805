"""Owen sampling: the density of levels, groups, and the mirror image."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.sampling.owen import Owen, semivalue_levels
from fairshapley.randomness import round_generator
from fairshapley.semivalues import BetaShapley, Semivalue, Shapley, parse_semivalue


def rounds(estimator, game, count, *, semivalue="shapley", seed=0):
    """The state after `count` rounds, and the centres of all sets."""
    ends = game(np.array([[False] * game.n_players, [True] * game.n_players]))
    problem = Problem(game.n_players, parse_semivalue(semivalue), *ends.tolist(), 1e-3)
    state = estimator.start(problem)
    centres = []
    for index in range(count):
        draw = estimator.ask(state, round_generator(seed, index))
        estimator.tell(state, draw, game(draw.masks(0, len(draw))))
        centres.append(draw.centres)
    return state, np.concatenate(centres)


def test_the_levels_are_quantiles_of_the_mixing_density():
    """α_k is the binomial mixed over the levels: the midpoint rule finds it again."""
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    for semivalue in (Shapley(), BetaShapley(3, 2), BetaShapley(1, 4), fs.Banzhaf()):
        levels = semivalue_levels(semivalue, quantiles)
        mixed = [(levels**k * (1 - levels) ** (2 - k)).mean() for k in range(3)]
        np.testing.assert_allclose(np.multiply(mixed, [1, 2, 1]), semivalue.weights(3), atol=1e-6)


@given(st.integers(2, 8), st.integers(0, 1000), st.sampled_from(["shapley", "banzhaf"]))
@settings(max_examples=40, deadline=None)
def test_one_antithetic_pair_is_exact_where_no_three_players_interact(n, seed, semivalue):
    game = fs.games.SumOfUnanimity(n, sizes=(1, 2), seed=seed)
    state, _ = rounds(Owen(antithetic=True), game, 1, semivalue=semivalue, seed=seed)
    np.testing.assert_allclose(
        Owen().estimate(state).values, fs.exact(game, semivalue).values, rtol=1e-9, atol=1e-9
    )


def test_equal_groups_are_not_certainty():
    """τ²/(M(M + 1)) with M the sets: the additive game never varies."""
    game = fs.games.Additive([1.0, 2.0, 3.0])
    state, centres = rounds(Owen(antithetic=True), game, 3)
    tau2 = (1 + 4 + 9) / 3
    sets = len(centres)
    expected = np.full(3, tau2 / (sets * (sets + 1)))
    np.testing.assert_allclose(Owen(antithetic=True).estimate(state).variances, expected)


@dataclass(frozen=True)
class Custom(Semivalue):
    name = "custom"

    def _log_weights(self, n_players, sizes):
        return np.zeros(n_players)


def test_another_semivalue_has_no_levels():
    with pytest.raises(fs.InputError, match=r"not of custom.*'mc' or 'stratified'"):
        Owen().start(Problem(3, Custom(), 0.0, 1.0, 1e-3))
