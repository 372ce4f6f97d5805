"""Algorithm 1: whose turn it is, one selection at a time and in batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.estimators.greedy.samples import XI, problem, rounds

import fairshapley as fs
from fairshapley.draws import SingleMarginals, Walks
from fairshapley.estimators.greedy.greedy_active import GreedyActive, told_invariability
from fairshapley.estimators.greedy.plan import pick


def naive(log, game, bootstrap, alpha):
    """Algorithm 1 line by line, every sum over all samples anew, fed with the same draws."""
    n = game.n_players
    empty, full = game(np.array([[False] * n, [True] * n]))
    samples = [[] for _ in range(n)]
    squares = [[] for _ in range(n)]
    for draw, values in log[:bootstrap]:
        path = [empty, *values, full]
        for i in range(n):
            place = draw.ranks[0, i]
            sigma = path[place + 1] - path[place]
            samples[i].append(sigma)
            squares[place].append(sigma**2)
    w = np.array([np.sqrt(np.mean(column)) for column in squares])
    theta = n * w / w.sum() + alpha
    q = theta / theta.sum()

    def fidelity(i):
        phi, s2 = np.mean(samples[i]), np.var(samples[i], ddof=1)
        return len(samples[i]) * (abs(phi) + XI) ** 2 / s2

    scores = [fidelity(i) for i in range(n)]
    chosen = []
    for draw, values in log[bootstrap:]:
        j = int(np.argmin(scores))
        chosen.append(j)
        (c,) = draw.sizes
        samples[j].append((values[1] - values[0]) / (n * q[c]))
        scores[j] = fidelity(j)
    return chosen, samples, q


@pytest.mark.parametrize("seed", range(5))
def test_one_selection_a_round_is_algorithm_1(seed):
    game = fs.games.SumOfUnanimity(7, n_terms=25, seed=seed)
    method = GreedyActive(batch=1, bootstrap=5, alpha=2.0)
    state, log = rounds(method, game, 120, seed=seed)
    assert all(isinstance(draw, Walks) for draw, _ in log[:5])
    assert all(isinstance(draw, SingleMarginals) and len(draw) == 2 for draw, _ in log[5:])
    chosen, samples, q = naive(log, game, 5, 2.0)
    assert chosen == [int(draw.players[0]) for draw, _ in log[5:]]
    np.testing.assert_allclose(state.proposal, q, rtol=1e-12)
    now = method.estimate(state)
    np.testing.assert_allclose(now.values, [np.mean(s) for s in samples], rtol=1e-9)
    expected = [np.var(s, ddof=1) / len(s) for s in samples]
    np.testing.assert_allclose(now.variances, expected, rtol=1e-9)
    np.testing.assert_array_equal(now.counts, [len(s) for s in samples])


@given(
    st.lists(st.floats(0.01, 10), min_size=2, max_size=6),
    st.integers(1, 40),
    st.sampled_from([None, 0.3]),
)
def test_a_batch_is_one_pick_after_the_other(rates, picks, epsilon1):
    rates = np.array(rates)
    counts = np.full(len(rates), 2)
    batch = pick(rates, counts, picks, epsilon1)
    for player in batch:
        level = rates * counts * (epsilon1**2 if epsilon1 else 1)
        if epsilon1 is None or level.min() <= 1:
            assert level[player] <= level.min() * (1 + 1e-12)
        else:
            gained = (1 - 1 / (level * (counts + 1) / counts)) / (1 - 1 / level)
            assert gained[player] >= gained.max() * (1 - 1e-12)
        counts[player] += 1
    if epsilon1 is None:
        level = rates * counts
        assert (level - rates)[counts > 2].max(initial=0) <= level.min() * (1 + 1e-12)


def test_an_unknown_score_is_the_median_of_the_others():
    """Player 1 was told once; a score of 0 would be the lowest for as long as it fails."""
    method = GreedyActive(bootstrap=2)
    state = method.start(problem(fs.games.Additive(np.ones(4))))
    players, told = np.array([0, 0, 1, 2, 2, 3, 3]), np.array([1.0, 2.0, 5.0, 1.0, 3.0, 1.0, 9.0])
    state.average.add_at(players, told)
    scores = [(mean + XI) ** 2 / s2 for mean, s2 in ((1.5, 0.5), (2.0, 2.0), (5.0, 32.0))]
    expected = [scores[0], np.median(scores), *scores[1:]]
    np.testing.assert_allclose(told_invariability(state), expected)
    np.testing.assert_allclose(told_invariability(state, np.array([1])), expected[1:2])


def test_xi_of_the_estimator_goes_before_that_of_the_run():
    game = fs.games.SumOfUnanimity(10, seed=6)
    runs = [
        fs.estimate(game, GreedyActive(bootstrap=3, xi=xi), budget=200, seed=2, xi=outer).values
        for xi, outer in ((0.5, 1e-3), (None, 0.5), (None, 1e-3))
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
