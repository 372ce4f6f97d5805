"""GAE with n marginals for the price of one."""

import numpy as np

import fairshapley as fs
from fairshapley.estimators import Problem
from fairshapley.estimators.greedy.weighted_draws import placed_walks
from fairshapley_paper.estimators import UncountedGreedy, uncounted
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
    rng = np.random.default_rng(0)
    problem = Problem(6, fs.Shapley(), 0.0, float(GAME(np.ones((1, 6), dtype=bool))[0]), 1e-3)
    proposal = np.array([0.5, 0.3, 0.05, 0.05, 0.05, 0.05])
    base = fs.Shapley().weights(6)
    placed = placed_walks(rng, proposal, base, np.zeros(40_000, dtype=np.int64))
    spread = []
    for one_weight in (False, True):
        draw = uncounted(placed, one_weight=one_weight)
        values = GAME(draw.masks(0, len(draw)))
        found = draw.weighted(values, problem)
        contributions = (found.marginals * found.weights).reshape(-1, 6)
        spread.append(contributions.std(axis=0))
        z = (contributions.mean(axis=0) - GAME.shapley_values) / (spread[-1] / 200)
        assert np.abs(z).max() < 4.5
        assert draw.marginals == 40_000
    assert spread[1][0] == spread[0][0]
    assert (spread[1][1:] > spread[0][1:]).all()


def test_it_is_none_of_the_methods_of_the_text():
    assert not set(PROGRAM_METHODS) & set(ALL_METHODS)
    assert set(PROGRAM_METHODS) < set(METHODS)
