"""Unbiased KernelSHAP against enumeration, the textbook's matrices and repeated runs."""

from itertools import combinations

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws import AllCoalitions, ListedCoalitions
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.sampling.kernel import (
    UnbiasedKernelSHAP,
    size_probabilities,
)
from fairshapley.semivalues import Shapley


def matrix_a(n):
    """A = E[z zᵀ] by enumeration of all coalitions with p(z) ∝ 1/(C(n, s)·s·(n − s))."""
    z = AllCoalitions(n).masks(1, (1 << n) - 1).astype(float)
    sizes = z.sum(axis=1).astype(int)
    per_size = np.bincount(sizes, minlength=n)
    p = (size_probabilities(n) / per_size[1:n])[sizes - 1]
    assert p.sum() == pytest.approx(1.0)
    return z.T @ (p[:, None] * z)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_estimate_is_the_textbook_formula(n, paired):
    rng = np.random.default_rng(n)
    z = rng.random((10, n)) < 0.5
    if paired:
        z = np.stack([z, ~z], axis=1).reshape(-1, n)
    values, empty, full = rng.standard_normal(len(z)), 0.7, 2.1
    estimator = UnbiasedKernelSHAP(paired=paired)
    state = estimator.start(Problem(n, Shapley(), empty, full, 1e-3))
    estimator.tell(state, ListedCoalitions.of(z[:8]), values[:8])
    estimator.tell(state, ListedCoalitions.of(z[8:]), values[8:])

    inverse, ones = np.linalg.inv(matrix_a(n)), np.ones(n)
    b = (z * (values - empty)[:, None]).mean(axis=0)
    excess = ones @ inverse @ b - full + empty
    expected = inverse @ (b - ones * excess / (ones @ inverse @ ones))
    np.testing.assert_allclose(estimator.estimate(state).values, expected, atol=1e-12)


def test_interactions_of_two_players_cancel_in_pairs():
    """On a pairwise game a paired estimate is that on the additive game of its Shapley values.

    It is not exact on either: that would need the sampled A.
    """
    n, rng = 7, np.random.default_rng(1)
    pairs = {pair: rng.standard_normal() for pair in combinations(range(n), 2)}
    game = fs.games.FunctionGame(
        lambda s: sum(pairs[pair] for pair in combinations(sorted(s), 2)), n_players=n
    )
    truth = fs.exact(game).values
    one, other = (
        fs.estimate(g, UnbiasedKernelSHAP(), budget=60, seed=0, verify=0)
        for g in (game, fs.games.Additive(truth))
    )
    np.testing.assert_allclose(one.values, other.values, atol=1e-12)
    np.testing.assert_allclose(one.standard_errors, other.standard_errors, atol=1e-12)
    assert np.abs(one.values - truth).max() > 1e-3


@pytest.mark.parametrize("paired", [False, True])
def test_contributions_stay_within_their_width(paired):
    """On games with utilities 0 and 1, which also reach a good part of it."""
    n = 5
    estimator = UnbiasedKernelSHAP(paired=paired)
    problem = Problem(n, Shapley(), 0.0, 1.0, 1e-3)
    width = estimator.contribution_width(problem, 1.0)
    for seed in range(20):
        rng, state = np.random.default_rng(seed), estimator.start(problem)
        table = (rng.random(1 << n) < 0.5).astype(float)
        while state.told < 60:
            draw = estimator.ask(state, rng)
            masks = draw.masks(0, len(draw))
            estimator.tell(state, draw, table[masks @ (1 << np.arange(n))])
        spread = state.moments.highest - state.moments.lowest
        assert spread.max() <= width + 1e-12
        assert spread.max() > width / 4


def test_what_does_not_work_is_said():
    game = fs.games.Additive(np.ones(6))
    for semivalue in ("banzhaf", "beta(4,1)"):
        with pytest.raises(fs.InputError, match="'mc', 'stratified' or 'owen'"):
            fs.estimate(game, UnbiasedKernelSHAP(), budget=20, semivalue=semivalue)
    assert fs.estimate(game, UnbiasedKernelSHAP(), budget=20, semivalue="beta(1,1)", seed=0)
