"""Stratified sampling: sweeps, strata, allocation and Maleki's bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

import fairshapley as fs
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.sampling.strata import Strata, Sweep
from fairshapley.estimators.sampling.stratified import Stratified
from fairshapley.randomness import round_generator
from fairshapley.semivalues import parse_semivalue


def table_of(game):
    numbers = np.arange(1 << game.n_players)
    return game((numbers[:, None] >> np.arange(game.n_players) & 1).astype(bool))


def run(estimator, game, looks, *, semivalue="shapley", seed=0, spoil=None):
    """The state, and the estimates after so many marginals each; duplicates are not free here."""
    n_players = game.n_players
    table = table_of(game)
    bits = 1 << np.arange(n_players)
    problem = Problem(n_players, parse_semivalue(semivalue), table[0], table[-1], 1e-3)
    state = estimator.start(problem)
    estimates, done, index = [], 0, 0
    for look in looks:
        while done < look and (draw := estimator.ask(state, round_generator(seed, index))):
            masks = draw.masks(0, len(draw))
            values = table[masks @ bits]
            if spoil is not None:
                values = np.where(spoil(masks), np.nan, values)
            estimator.tell(state, draw, values)
            done, index = done + draw.marginals, index + 1
        estimates.append(estimator.estimate(state))
    return state, estimates


def test_students_t_at_the_counts_has_the_right_tails():
    """Utilities are normal noise: misses at level 0.01 within 4.5 σ of a binomial, at each look.

    3000 intervals of independent players at each of 3 looks. With the marginal contributions as
    counts, the misses are 2 to 3 times too many.
    """
    n, looks, share = 10, [6, 10, 14], 0.01
    misses, wrong, intervals = np.zeros(3), np.zeros(3), 0
    for table in range(5):
        values = np.random.default_rng(table).standard_normal(1 << n)
        game = fs.games.TableGame(values)
        truth = fs.exact(game).values
        for seed in range(60):
            _, estimates = run(Stratified(), game, [n * (2 + look) for look in looks], seed=seed)
            intervals += n
            for at, (look, estimate) in enumerate(zip(looks, estimates, strict=True)):
                assert ((estimate.counts >= 2) & (estimate.counts <= look)).all()
                errors = np.abs(estimate.values - truth) / np.sqrt(estimate.variances)
                misses[at] += (errors > student.isf(share / 2, estimate.counts - 1)).sum()
                wrong[at] += (errors > student.isf(share / 2, look - 1)).sum()
    assert intervals == 3000
    limit = share * intervals + 4.5 * np.sqrt(intervals * share * (1 - share))
    assert (misses <= limit).all(), misses
    assert wrong[0] > limit


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_variance_from_two_counts_on_whatever_is_skipped(n):
    """A third of the coalitions fail: a value has a count, and a variance two, at every stop."""
    game = fs.games.SumOfUnanimity(n, n_terms=8, sizes=(1, n), seed=2)
    seen = set()
    for seed in range(30):
        failing = np.random.default_rng(seed).random(1 << n) < 0.3

        def spoil(masks, failing=failing):
            return failing[masks @ (1 << np.arange(n))]

        looks = [n * look for look in (3, 4, 5, 7, 10, 20, 60)]
        _, estimates = run(Stratified(), game, looks, seed=seed, spoil=spoil)
        for estimate in estimates:
            counts, known = estimate.counts, ~np.isnan(estimate.variances)
            np.testing.assert_array_equal(counts > 0, ~np.isnan(estimate.values))
            if (np.nan_to_num(estimate.values) != 0).any():  # else there is no scale for a floor
                np.testing.assert_array_equal(counts > 1, known)
            seen |= set(counts.tolist())
    assert {0, 1, 2} <= seen


@given(st.integers(2, 8), st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_additive_games_are_exact_at_every_stop(n, seed):
    game = fs.games.Additive(np.random.default_rng(seed).standard_normal(n))
    looks = [4 * n, 7 * n, 20 * n]
    _, estimates = run(Stratified(), game, looks, seed=seed)
    for estimate in estimates:
        np.testing.assert_allclose(estimate.values, game.weights, rtol=1e-9, atol=1e-9)


def test_a_variance_of_zero_is_not_certainty_but_a_proof_is():
    _, (estimate,) = run(Stratified(), fs.games.Additive([1.0, 2.0, 3.0]), [60])
    assert (estimate.variances > 0).all()
    assert not estimate.exact
    _, (proven,) = run(Stratified(), fs.games.Additive([1.0, 2.0]), [60])
    assert proven.exact
    assert (proven.variances == 0).all()


@given(st.integers(1, 3000), st.sampled_from(["shapley", "banzhaf", "beta(16,1)", "beta(1,30)"]))
@settings(max_examples=40, deadline=None)
def test_strata_are_the_sizes_between_the_ends(n, semivalue):
    n = max(n, 2)
    weights = parse_semivalue(semivalue).weights(n)
    strata = Strata.of(weights)
    assert strata.count <= max(0, n - 2)
    assert strata.total + strata.ends.sum() == pytest.approx(1.0)
    assert strata.masses.sum() == pytest.approx(strata.total)
    if n > 2:
        covered = np.concatenate(
            [np.arange(a, b + 1) for a, b in zip(strata.first, strata.last, strict=True)]
        )
        np.testing.assert_array_equal(covered, np.arange(1, n - 1))
        sizes = strata.random_sizes(np.random.default_rng(0), np.arange(strata.count))
        assert (sizes >= strata.first).all()
        assert (sizes <= strata.last).all()
    if semivalue == "shapley":
        assert strata.count == n - 2


def test_a_sweep_cut_off_has_an_unbiased_mean_and_variance():
    """2 of 3 blocks with fixed means and deviations; 20 000 players are 20 000 repeats, 4.5 σ."""
    rng = np.random.default_rng(0)
    means, deviations = np.array([0.0, 3.0, 9.0]), np.array([1.0, 0.5, 2.0])
    sweep = Sweep(20_000, 3)
    players, blocks = sweep.choose(rng, 4 * 20_000)
    assert blocks.shape == (20_000, 2)
    assert (blocks[:, 0] != blocks[:, 1]).all()
    noise = rng.standard_normal((20_000, 2, 2))
    sweep.add(players, blocks, means[blocks][..., None] + deviations[blocks][..., None] * noise)
    _, part = sweep.summary()
    values, variances = part.values, part.variances
    spread = values.std() / np.sqrt(20_000)
    assert abs(values.mean() - 4.0) < 4.5 * spread
    # The variance of a variance: 2σ⁴/N at least; the mixture is no heavier than that by 4.
    assert variances.mean() == pytest.approx(values.var(), rel=4.5 * np.sqrt(8 / 20_000))
    # Without the correction for the blocks visited it would be far off.
    assert sweep.between.variances_of_means.mean() > 2 * values.var()


def test_too_many_players_are_refused():
    with pytest.raises(fs.InputError, match="method='mc'"):
        fs.estimate(fs.games.Additive(np.ones(2001)), Stratified())
