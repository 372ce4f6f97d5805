"""Unbiased KernelSHAP against enumeration, the textbook's matrices and repeated runs."""

from itertools import combinations

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws import AllCoalitions, ListedCoalitions
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.regression.kernel_shap import (
    UnbiasedKernelSHAP,
    expected_products,
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


@pytest.mark.parametrize("n", range(2, 9))
def test_the_closed_form_of_a(n):
    diagonal, beside = expected_products(n)
    expected = np.full((n, n), beside) + (diagonal - beside) * np.eye(n)
    np.testing.assert_allclose(matrix_a(n), expected, atol=1e-12)
    # as Covert & Lee, and the paper's appendix, write it
    sizes = np.arange(1, n)
    above = sum((size - 1) / (n - size) for size in sizes)
    below = sum(1 / (size * (n - size)) for size in sizes)
    assert beside == pytest.approx(above / below / (n * (n - 1)), abs=1e-12)


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
        fs.estimate(g, UnbiasedKernelSHAP(), budget=60, seed=0)
        for g in (game, fs.games.Additive(truth))
    )
    np.testing.assert_allclose(one.values, other.values, atol=1e-12)
    np.testing.assert_allclose(one.standard_errors, other.standard_errors, atol=1e-12)
    assert np.abs(one.values - truth).max() > 1e-3


@pytest.mark.parametrize("paired", [False, True])
def test_the_covariance_is_that_of_repeated_runs(paired):
    """600 runs of 60 samples; entries compared on the scale of the largest variance.

    A covariance from R runs varies by about √(2/R) = 6 % of it; 25 % is over 4 standard errors
    for each of 25 entries: false alarm below 1e−3, at a fixed seed.
    """
    n = 5
    table = np.random.default_rng(5).standard_normal(1 << n)
    problem = Problem(n, Shapley(), float(table[0]), float(table[-1]), 1e-3)
    estimator = UnbiasedKernelSHAP(paired=paired, covariance=True)
    rng, values, reported = np.random.default_rng(6), [], []
    for _ in range(600):
        state = estimator.start(problem)
        while state.told < 60:
            draw = estimator.ask(state, rng)
            masks = draw.masks(0, len(draw))
            estimator.tell(state, draw, table[masks @ (1 << np.arange(n))])
        estimate = estimator.estimate(state)
        matrix = estimator.covariance_matrix(state)
        np.testing.assert_allclose(np.diag(matrix), estimate.variances, rtol=1e-9)
        np.testing.assert_allclose(matrix.sum(axis=1), 0.0, atol=1e-12)
        values.append(estimate.values)
        reported.append(matrix)
    empirical = np.cov(np.array(values).T)
    error = np.abs(np.mean(reported, axis=0) - empirical).max()
    assert error < 0.25 * np.diag(empirical).max()


def test_the_covariance_leaves_out_what_was_skipped():
    n, rng = 4, np.random.default_rng(7)
    z, values = rng.random((12, n)) < 0.5, rng.standard_normal(12)
    values[[0, 5, 6, 7]] = np.nan
    estimator = UnbiasedKernelSHAP(paired=False, covariance=True)
    states = [estimator.start(Problem(n, Shapley(), 0.0, 1.0, 1e-3)) for _ in range(2)]
    for rows in np.split(np.arange(12), [1, 5, 8]):
        estimator.tell(states[0], ListedCoalitions.of(z[rows]), values[rows])
    kept = np.flatnonzero(~np.isnan(values))
    assert np.isnan(estimator.covariance_matrix(states[1])).all()
    estimator.tell(states[1], ListedCoalitions.of(z[kept]), values[kept])
    one, other = (estimator.covariance_matrix(state) for state in states)
    np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_array_equal(estimator.estimate(states[0]).counts, 8)


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


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("paired", [False, True])
def test_tiny_games(n, paired):
    game = fs.games.SumOfUnanimity(n, n_terms=4, sizes=(1, n), seed=2)
    result = fs.estimate(game, UnbiasedKernelSHAP(paired=paired), seed=0)
    assert result.exact
    np.testing.assert_allclose(result.values, fs.exact(game).values)


def test_what_does_not_work_is_said():
    game = fs.games.Additive(np.ones(6))
    for semivalue in ("banzhaf", "beta(4,1)"):
        with pytest.raises(fs.InputError, match="'mc', 'stratified' or 'owen'"):
            fs.estimate(game, UnbiasedKernelSHAP(), budget=20, semivalue=semivalue)
    assert fs.estimate(game, UnbiasedKernelSHAP(), budget=20, semivalue="beta(1,1)", seed=0)
    large = fs.games.Additive(np.ones(1001))
    with pytest.raises(fs.InputError, match="covariance=False"):
        fs.estimate(large, UnbiasedKernelSHAP(covariance=True), budget=20)
    estimator = UnbiasedKernelSHAP()
    with pytest.raises(fs.InputError, match="covariance=True"):
        estimator.covariance_matrix(estimator.start(Problem(3, Shapley(), 0.0, 1.0, 1e-3)))
    with pytest.raises(fs.InputError, match="budget of evaluations"):
        fs.estimate(game, estimator, budget=fs.Budget(marginals=100))


@pytest.mark.parametrize("name", ["paired", "covariance"])
def test_switches_are_true_or_false(name):
    for value in ("no", "x", 1, None):
        with pytest.raises(fs.InputError, match=f"{name} must be True or False"):
            UnbiasedKernelSHAP(**{name: value})
    plain = UnbiasedKernelSHAP(**{name: np.bool_(False)})
    assert type(getattr(plain, name)) is bool
    assert plain == UnbiasedKernelSHAP(**{name: False})


def test_the_notes_name_the_largest_correlation():
    """Players 0 and 1 are worth ±5 by themselves, the others next to nothing."""
    game = fs.games.Additive([5.0, -5.0, 0.1, 0.1, 0.1, 0.1, 0.1])
    kept, plain = (
        fs.estimate(game, UnbiasedKernelSHAP(covariance=flag), budget=100, seed=0)
        for flag in (True, False)
    )
    (note,) = set(kept.notes) - set(plain.notes)
    np.testing.assert_array_equal(kept.values, plain.values)

    estimator = UnbiasedKernelSHAP(covariance=True)
    state = estimator.start(Problem(7, Shapley(), 0.0, 0.5, 1e-3))
    assert estimator.remarks(state) == ()
    rng = np.random.default_rng(0)
    while state.told < 300:
        draw = estimator.ask(state, rng)
        estimator.tell(state, draw, game(draw.masks(0, len(draw))))
    matrix = estimator.covariance_matrix(state)
    scales = np.sqrt(np.diag(matrix))
    correlations = matrix / np.outer(scales, scales) - np.eye(7)
    first, second = np.unravel_index(np.abs(correlations).argmax(), (7, 7))
    (sentence,) = estimator.remarks(state)
    assert sentence.endswith(f"{correlations[first, second]:.2f}, of players {first} and {second}")
    assert sentence[:40] == note[:40]


@pytest.mark.parametrize("paired", [False, True])
def test_rounds_grow_with_what_was_told(paired):
    """To 256 coalitions; later rounds are a sixteenth, so that little of a budget is left over."""
    estimator, rng = UnbiasedKernelSHAP(paired=paired), np.random.default_rng(0)
    state = estimator.start(Problem(20, Shapley(), 0.0, 1.0, 1e-3))
    done, sizes = 0, []
    while done < 8000:
        draw = estimator.ask(state, rng)
        assert len(draw) <= max(2, done / 4 if done < 320 else max(20, done / 16))
        estimator.tell(state, draw, np.ones(len(draw)))
        done += len(draw)
        sizes.append(len(draw))
    assert max(sizes) == sizes[-1] == 256
