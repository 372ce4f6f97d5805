"""Proposals of sizes: learnt, given, and drawn from."""

import json

import numpy as np
import pytest
from tests.estimators.greedy.samples import rounds

import fairshapley as fs
from fairshapley.draws import SingleMarginals
from fairshapley.estimators.greedy.greedy_active import GreedyActive
from fairshapley.estimators.greedy.plan import (
    SizeStatistics,
    given_proposal,
    learned_proposal,
    proposed_sizes,
    size_explained_variance,
)
from fairshapley_paper.theory import importance_variance, optimal_proposal

# Proposals


def test_the_proposal_is_the_map_estimate():
    moments = np.array([16.0, 4.0, 1.0, 1.0])
    w = np.array([4.0, 2.0, 1.0, 1.0]) / 8
    base = np.full(4, 0.25)
    for alpha in (5.0, 1.0, 0.1):
        theta = 4.0 * w + alpha
        q = learned_proposal(moments, base, alpha)
        np.testing.assert_allclose(q, theta / theta.sum(), rtol=1e-12)


def test_a_size_that_a_player_never_saw_takes_the_pooled_value():
    statistics = SizeStatistics(3, per_player=True)
    players, sizes = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 0])
    statistics.add(players, sizes, np.array([1.0, 2.0, 3.0, 3.0]))
    np.testing.assert_allclose(
        statistics.second_moments(), [[5.0, 4.0, 9.0], [5.0, 4.0, 9.0], [5.0, 4.0, 9.0]]
    )
    statistics.add(np.array([1]), np.array([0]), np.array([4.0]))
    np.testing.assert_allclose(statistics.second_moments()[:, 0], [5.0, 16.0, 26 / 3])


def test_the_learned_proposals_approach_the_optimal_ones():
    game = fs.games.TableGame(np.random.default_rng(3).random(64) * np.arange(64))
    table = game(np.arange(64)[:, None] >> np.arange(6) & 1 == 1)
    best = importance_variance(table, optimal_proposal(table, support=0))
    uniform = importance_variance(table, np.full(6, 1 / 6))
    state, _ = rounds(GreedyActive(alpha=0.0, bootstrap=400, proposal="per-player"), game, 400)
    learned = importance_variance(table, state.proposal)
    assert (best <= learned + 1e-12).all()
    assert ((learned - best) < 0.2 * (uniform - best) + 0.02 * best).all()


@pytest.mark.parametrize("shape", [(4,), (5, 4)])
def test_sizes_are_drawn_from_the_proposal(shape):
    """χ² with 3 or 15 degrees of freedom at the 1e−5 quantile, seed fixed."""
    q = np.random.default_rng(0).dirichlet(np.ones(4), size=shape[:-1])
    players = np.arange(20_000) % 5
    sizes = proposed_sizes(np.random.default_rng(1), q, players)
    rows = players if len(shape) == 2 else np.zeros_like(players)
    q = np.atleast_2d(q)
    observed = np.zeros_like(q)
    np.add.at(observed, (rows, sizes), 1)
    expected = q * observed.sum(axis=1, keepdims=True)
    statistic = (np.square(observed - expected) / expected).sum()
    assert statistic < (25.9 if len(shape) == 1 else 50.5)


# Diagnostic


def test_the_variance_that_the_size_explains():
    rng = np.random.default_rng(0)
    sizes = np.repeat(np.arange(10), 20)
    noise = rng.normal(size=200)
    assert size_explained_variance(sizes, noise) < 0.1
    # Between-size variance 8.25 beside noise of variance 1: 8.25/9.25.
    assert size_explained_variance(sizes, sizes + noise) == pytest.approx(8.25 / 9.25, abs=0.03)
    assert np.isnan(size_explained_variance([0, 1], [1.0, 2.0]))
    assert size_explained_variance([0, 0, 1], [2.0, 2.0, 2.0]) == 0.0
    with pytest.raises(fs.InputError, match="one size per marginal"):
        size_explained_variance([0, 1], [1.0])


# Options


def test_a_given_proposal_serves_the_bootstrap_too():
    q = tuple(np.array([0.4, 0.3, 0.2, 0.1]))
    method = GreedyActive(proposal=np.array(q), bootstrap=2)
    assert method == GreedyActive(proposal=list(q), bootstrap=2)
    assert hash(method) == hash(GreedyActive(proposal=q, bootstrap=2))
    stored = json.loads(json.dumps(method.configuration()))
    assert stored.pop("name") == "gae"
    assert GreedyActive(**stored) == method
    state, log = rounds(method, fs.games.SumOfUnanimity(4, seed=0), 3)
    assert all(isinstance(draw, SingleMarginals) for draw, _ in log)
    np.testing.assert_array_equal(log[0][0].players, np.arange(4))
    np.testing.assert_allclose(state.proposal, q)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ((0.5, 0.5), "shape"),
        ((0.5, 0.5, 0.5), "add up to 1"),
        (((0.5, 0.5, 0.0),) * 3, "positive"),
    ],
)
def test_a_proposal_that_cannot_be_used(q, message):
    with pytest.raises(fs.InputError, match=message):
        given_proposal(q, 3)
