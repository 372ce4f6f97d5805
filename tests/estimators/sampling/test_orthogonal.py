"""Orthogonal walks; what they share with Sobol walks is tested there."""

from itertools import combinations

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws.sphere import orthogonal_directions
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.sampling.spread import Orthogonal
from fairshapley.semivalues import Shapley


def test_a_complete_basis_averages_quadratic_forms_exactly():
    """Σ qᵀMq over an orthonormal basis of the hyperplane is the trace of M on it."""
    n, rng = 7, np.random.default_rng(0)
    form = rng.standard_normal((n, n))
    centring = np.eye(n) - 1.0 / n
    for seed in range(5):
        q = orthogonal_directions(np.random.default_rng(seed), n - 1, n)
        total = np.einsum("ki,ij,kj->", q, form, q)
        assert total == pytest.approx(np.trace(centring @ form @ centring))


def test_groups_grow_to_a_complete_basis():
    estimator, n = Orthogonal(), 6
    state = estimator.start(Problem(n, Shapley(), 0.0, 1.0, 1e-3))
    for index in range(100):
        draw = estimator.ask(state, np.random.default_rng(index))
        estimator.tell(state, draw, np.zeros(len(draw)))
    assert list(state.levels) == [4, 8, 10]  # 2, 4 and all 5 directions with their negatives


def test_pairwise_games_are_exact_with_any_group():
    """In a permutation or in its reverse each of two players comes last: the negatives suffice."""
    n, rng = 8, np.random.default_rng(1)
    pairs = {pair: rng.standard_normal() for pair in combinations(range(n), 2)}
    game = fs.games.FunctionGame(
        lambda s: sum(pairs[pair] for pair in combinations(sorted(s), 2)), n_players=n
    )
    for vectors in (1, 3):
        result = fs.estimate(game, Orthogonal(vectors=vectors), budget=60, seed=0)
        np.testing.assert_allclose(result.values, fs.exact(game).values, atol=1e-12)
