"""GAE with n marginals for the price of one."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws import Walks
from fairshapley.estimators import Problem
from fairshapley_paper.estimators import UncountedGreedy, placed_weights, uncounted_walks
from fairshapley_paper.methods import ALL_METHODS, METHODS, PROGRAM_METHODS

GAME = fs.games.SumOfUnanimity(6, seed=2)


def run(seed, marginals=160):
    method = UncountedGreedy(alpha=2.0, bootstrap=10)
    # 2**6 coalitions would be known long before: the paper's runner goes on, `estimate` stops.
    return fs.estimate(GAME, method, budget=fs.Budget(marginals=marginals), seed=seed)


def test_one_of_each_permutation_is_counted():
    result = run(0, marginals=10 * 6 + 7)
    assert result.marginals == 67
    # Behind each value: the bootstrap's 10 and all 7 permutations.
    assert result.counts.tolist() == [17] * 6


def test_it_is_unbiased():
    values = np.array([run(seed, marginals=63).values for seed in range(200)])
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    # Six players, |z| > 4.5: a false alarm in 25 000 seeds.
    assert np.all(np.abs(values.mean(axis=0) - GAME.shapley_values) < 4.5 * errors)


def test_one_weight_for_all_is_unbiased_and_varies_more():
    """That of the placed player is the likelihood ratio of the whole permutation.

    Twelve z-scores, |z| > 4.5: a false alarm in 12 000 seeds.
    """
    problem = Problem(6, fs.Shapley(), 0.0, float(GAME(np.ones((1, 6), dtype=bool))[0]), 1e-3)
    proposal = np.array([0.5, 0.3, 0.05, 0.05, 0.05, 0.05])
    base = fs.Shapley().weights(6)
    players = np.zeros(40_000, dtype=np.int64)
    spread = []
    for one_weight in (False, True):
        rng = np.random.default_rng(0)
        draw = uncounted_walks(rng, proposal, base, players, one_weight=one_weight)
        values = GAME(draw.masks(0, len(draw)))
        found = draw.weighted(values, problem)
        contributions = (found.marginals * found.weights).reshape(-1, 6)
        spread.append(contributions.std(axis=0))
        z = (contributions.mean(axis=0) - GAME.shapley_values) / (spread[-1] / 200)
        assert np.abs(z).max() < 4.5
        assert draw.marginals == 40_000
    assert spread[1][0] == spread[0][0]
    assert (spread[1][1:] > spread[0][1:]).all()


def placed_permutations(n, player, q):
    """All permutations with their probability when the player's place has distribution q."""
    for order in permutations(range(n)):
        ranks = np.argsort(order).astype(np.uint16)
        yield ranks, q[ranks[player]] / factorial(n - 1)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("semivalue", [fs.Shapley(), fs.BetaShapley(4, 1), fs.Banzhaf()])
def test_the_weights_of_whole_walks_are_right_for_every_player(n, semivalue):
    """Enumeration: Σ_π P(π)·weight·σ_i is the value exactly, whoever was placed."""
    rng = np.random.default_rng(n)
    table, base = rng.normal(size=1 << n), semivalue.weights(n)
    truth = fs.exact(fs.games.TableGame(table), semivalue).values
    for player in range(n):
        q = 0.1 / n + 0.9 * rng.dirichlet(np.ones(n))
        total = np.zeros(n)
        for ranks, probability in placed_permutations(n, player, q):
            walk = Walks(ranks[None])
            values = table[walk.masks(0, len(walk)) @ (1 << np.arange(n))]
            by_place = walk.marginal_contributions(values, table[0], table[-1])[0]
            weights = placed_weights(ranks[None], np.array([player]), q, base)[0]
            total += probability * weights * by_place[ranks]
        np.testing.assert_allclose(total, truth, rtol=1e-9, atol=1e-12)


def test_a_placed_walk_puts_its_player_where_the_proposal_says():
    q = np.zeros((6, 6)) + 1e-12
    q[np.arange(6), 5 - np.arange(6)] = 1.0
    players = np.array([0, 2, 5, 2])
    rng = np.random.default_rng(0)
    walks = uncounted_walks(rng, q, np.full(6, 1 / 6), players, one_weight=False)
    np.testing.assert_array_equal(walks.ranks[np.arange(4), players], 5 - players)
    np.testing.assert_array_equal(np.sort(walks.ranks, axis=1), np.tile(np.arange(6), (4, 1)))


def test_it_is_none_of_the_methods_of_the_text():
    assert not set(PROGRAM_METHODS) & set(ALL_METHODS)
    assert set(PROGRAM_METHODS) < set(METHODS)
