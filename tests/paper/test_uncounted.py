"""GAE with n marginals for the price of one."""

import numpy as np

import fairshapley as fs
from fairshapley_paper.methods import ALL_METHODS, METHODS, UNCOUNTED_METHODS
from fairshapley_paper.uncounted import UncountedGreedy

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


def test_it_is_none_of_the_methods_of_the_text():
    assert not set(UNCOUNTED_METHODS) & set(ALL_METHODS)
    assert set(UNCOUNTED_METHODS) < set(METHODS)
