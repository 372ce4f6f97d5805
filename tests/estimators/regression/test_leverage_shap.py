"""Leverage SHAP against enumeration, the full regression and repeated runs."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley._basics.bits import unrank
from fairshapley.draws import AllCoalitions
from fairshapley.estimators import LeverageSHAP, from_configuration
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.regression.pairs import PairClasses
from fairshapley.estimators.statistics.store import CoalitionStore
from fairshapley.randomness import round_generator
from fairshapley.semivalues import Shapley


def run_by_hand(estimator, game, rounds=10_000, skip=lambda masks: np.zeros(len(masks), bool)):
    """Ask and tell to the end, or for so many rounds; all coalitions asked for come along."""
    n = game.n_players
    ends = game(np.array([[False] * n, [True] * n]))
    state = estimator.start(Problem(n, Shapley(), float(ends[0]), float(ends[1]), 1e-3))
    asked = []
    for index in range(rounds):
        draw = estimator.ask(state, round_generator(0, index))
        if draw is None:
            break
        masks = draw.masks(0, len(draw))
        asked.append(masks)
        estimator.tell(state, draw, np.where(skip(masks), np.nan, game(masks)))
    return state, np.concatenate(asked)


def pairwise_game(n, seed=1):
    rng = np.random.default_rng(seed)
    pairs = {pair: rng.standard_normal() for pair in combinations(range(n), 2)}
    single = rng.standard_normal(n)

    def value(s):
        return sum(pairs[pair] for pair in combinations(sorted(s), 2)) + sum(single[list(s)])

    return fs.games.FunctionGame(value, n_players=n)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.data())
def test_numbers_and_coalitions_correspond(n, data):
    size = data.draw(st.integers(0, n))
    masks = unrank(np.arange(comb(n, size)), n, size)
    assert (masks.sum(axis=1) == size).all()
    assert len(np.unique(masks, axis=0)) == comb(n, size)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 10])
def test_every_coalition_comes_once_and_then_the_values_are_exact(n):
    game = fs.games.SumOfUnanimity(n, n_terms=20, sizes=(1, n), seed=2)
    state, asked = run_by_hand(LeverageSHAP(), game)
    assert len(asked) == (1 << n) - 2
    assert len(np.unique(asked, axis=0)) == len(asked)
    np.testing.assert_array_equal(asked[::2], ~asked[1::2])
    estimate = LeverageSHAP().estimate(state)
    assert estimate.exact
    assert not estimate.variances.any()
    np.testing.assert_allclose(estimate.values, fs.exact(game).values, atol=1e-12)


@pytest.mark.parametrize("levels", [True, False])
def test_the_estimate_is_the_weighted_least_squares_solution(levels):
    """By a general solver, with the weight of a size divided among the pairs drawn of it."""
    n, game = 6, fs.games.SumOfUnanimity(6, seed=3)
    estimator = LeverageSHAP(levels=levels)
    state, asked = run_by_hand(estimator, game, rounds=10)
    z = asked[::2]
    sizes = z.sum(axis=1)
    empty, full = game(np.array([[False] * n, [True] * n]))
    drawn = np.bincount(sizes, minlength=n // 2 + 1)
    assert (drawn[1:] > 0).all()
    assert not estimator.estimate(state).exact
    # A pair of a class s < n/2 stands for two sizes, one of halves for one.
    weights = np.where(2 * sizes == n, 0.5, 1.0) / (sizes * (n - sizes) * drawn[sizes])
    if levels:  # what a level takes from a size on average is given back
        total = np.array([0, 6, 15, 1])[sizes]
        taken = (total - drawn[sizes]) / np.maximum(total - 1, 1) / (drawn[sizes] + 1)
        weights = weights / np.where(2 * sizes == n, 1.0, 1.0 - taken)
    rows = z - (sizes / n)[:, None]
    targets = 0.5 * (game(z) - game(~z)) - (sizes / n - 0.5) * (full - empty)
    design, right = rows * np.sqrt(weights)[:, None], targets * np.sqrt(weights)
    if levels:
        dummies = (sizes[:, None] == [1, 2]) * np.sqrt(weights)[:, None]
        # the ridge on a level is one more row of the same weight without players
        own = [weights[sizes == size][0] ** 0.5 for size in (1, 2)]
        design = np.block([[design, dummies], [np.zeros((2, n)), np.diag(own)]])
        right = np.concatenate([right, [0.0, 0.0]])
    solution = np.linalg.lstsq(design, right, rcond=None)[0][:n]
    expected = solution - solution.mean() + (full - empty) / n
    np.testing.assert_allclose(estimator.estimate(state).values, expected, atol=1e-10)


@pytest.mark.parametrize("levels", [True, False])
def test_interactions_of_two_players_are_solved_exactly(levels):
    game = pairwise_game(12)
    result = fs.estimate(game, LeverageSHAP(levels=levels), budget=60, seed=0)
    truth = fs.estimate(game, fs.Exact()).values
    assert not result.exact
    np.testing.assert_allclose(result.values, truth, atol=1e-9)
    # A variance of zero is not certainty.
    assert (result.standard_errors > 0).all()


def test_levels_change_nothing_but_the_error():
    """A game of the size alone, as concave as accuracies are: all values are equal."""
    n = 30
    game = fs.games.FunctionGame(lambda s: 1.0 - 2.0 ** -len(s), n_players=n)
    with_levels, without = (
        fs.estimate(game, LeverageSHAP(levels=levels), budget=600, seed=0).values
        for levels in (True, False)
    )
    errors = [np.abs(values - (1 - 2.0**-n) / n).max() for values in (with_levels, without)]
    assert errors[0] < 0.2 * errors[1]


def test_sizes_are_visited_in_turn_after_the_single_players():
    n = 40
    state, asked = run_by_hand(LeverageSHAP(), fs.games.Additive(np.ones(n)), rounds=70)
    pairs = np.bincount(asked[::2].sum(axis=1), minlength=n // 2 + 1)
    single = (asked[: 2 * n : 2].sum(axis=1) == 1).all()
    assert single
    assert pairs[1] == n
    assert np.ptp(pairs[2 : n // 2]) <= 1  # the classes of two sizes
    assert abs(2 * pairs[n // 2] - pairs[2]) <= 2  # the class of halves
    np.testing.assert_array_equal(state.asked, pairs[1:])


@pytest.mark.parametrize("n", [40, 70])
def test_pairs_are_uniform_within_a_size(n):
    """χ² of the players of size 2 (listed) and 5 (not listed): false alarm 1e−4, fixed seed."""
    classes, rng = PairClasses(n), np.random.default_rng(n)
    assert list(classes.listed[[1, 4]]) == [True, False]
    for index in (1, 4):
        counts, draws = np.zeros(n), 300
        chosen = np.full(draws, index)
        asked = np.zeros(len(classes), dtype=np.int64)
        masks = classes.draw(rng, chosen, asked, classes.random_orders(rng))
        counts = masks.sum(axis=0)
        size = index + 1
        expected = draws * size / n
        assert (masks.sum(axis=1) == size).all()
        statistic = np.square(counts - expected).sum() / (expected * (1 - size / n))
        assert statistic < n + 4 * (2 * n) ** 0.5


def test_skipped_pairs_are_left_out():
    """On a game with interactions of two players any set of pairs gives the values."""
    game = pairwise_game(8)
    truth = fs.exact(game).values
    estimator = LeverageSHAP()
    state, asked = run_by_hand(estimator, game, skip=lambda masks: masks[:, 0] & masks[:, 1])
    assert len(asked) == 254
    estimate = estimator.estimate(state)
    assert not estimate.exact
    np.testing.assert_allclose(estimate.values, truth, atol=1e-9)

    nothing, _ = run_by_hand(estimator, game, skip=lambda masks: np.ones(len(masks), bool))
    assert np.isnan(estimator.estimate(nothing).values).all()


def test_too_few_equations_give_no_values():
    game = fs.games.SumOfUnanimity(12, seed=1)
    with pytest.raises(fs.BudgetError, match="larger budget"):
        fs.estimate(game, LeverageSHAP(), budget=15, seed=0)
    single_players = fs.estimate(game, LeverageSHAP(), budget=26, seed=0)
    assert np.isfinite(single_players.values).all()
    # Nothing is known of the other sizes.
    assert np.isnan(single_players.standard_errors).all()
    assert np.isfinite(fs.estimate(game, LeverageSHAP(), budget=50, seed=0).standard_errors).all()


def test_continuing_equals_one_run(tmp_path):
    game = fs.games.SumOfUnanimity(14, seed=4)
    journal = fs.Journal(tmp_path / "runs.db")
    fs.estimate(game, "leverage", budget=100, seed=5, journal=journal)
    longer = fs.estimate(game, "leverage", budget=400, seed=5, journal=journal)
    once = fs.estimate(game, "leverage", budget=400, seed=5)
    assert longer.values.tobytes() == once.values.tobytes()
    assert longer.standard_errors.tobytes() == once.standard_errors.tobytes()


def test_the_standard_errors_are_those_of_repeated_runs():
    """150 runs at 15 evaluations per player; a ratio from 150 runs varies by about 4 %."""
    game = fs.games.SumOfUnanimity(12, seed=5)
    runs = [fs.estimate(game, LeverageSHAP(), budget=180, seed=seed) for seed in range(150)]
    values = np.array([run.values for run in runs])
    reported = np.mean([run.standard_errors**2 for run in runs])
    assert 0.83 < np.sqrt(reported / values.var(axis=0, ddof=1).mean()) < 1.17
    bias = values.mean(axis=0) - game.shapley_values
    assert np.abs(bias).max() < 4.5 * values.std(axis=0).max() / 150**0.5


def test_the_store_keeps_what_it_is_given():
    rng, store = np.random.default_rng(6), CoalitionStore(11, classes=np.uint16, gains=np.float64)
    masks, classes, gains = rng.random((100, 11)) < 0.5, rng.integers(0, 5, 100), rng.random(100)
    for rows in np.split(np.arange(100), [1, 2, 2, 50]):
        packed = np.packbits(masks[rows], axis=1, bitorder="little")
        store.append(packed, classes=classes[rows], gains=gains[rows])
    np.testing.assert_array_equal(store.masks(slice(None)), masks)
    np.testing.assert_array_equal(store.masks(np.array([70, 3])), masks[[70, 3]])
    np.testing.assert_array_equal(store["gains"], gains)
    np.testing.assert_array_equal(store["classes"], classes)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_games(n):
    game = fs.games.SumOfUnanimity(n, n_terms=4, sizes=(1, n), seed=2)
    result = fs.estimate(game, LeverageSHAP(), seed=0)
    assert result.exact
    np.testing.assert_allclose(result.values, fs.exact(game).values)


def test_null_players_behind_the_others_cost_nothing():
    game = fs.games.with_null_players(fs.games.SumOfUnanimity(5, seed=1), 2)
    assert AllCoalitions(5).masks(0, 32).shape == (32, 5)
    result = fs.estimate(game, LeverageSHAP(), budget=1000, seed=0)
    np.testing.assert_allclose(result.values, fs.exact(game).values, atol=1e-9)


def test_what_does_not_work_is_said():
    game = fs.games.Additive(np.ones(6))
    for semivalue in ("banzhaf", "beta(4,1)"):
        with pytest.raises(fs.InputError, match="'svarm', 'mc', 'stratified' or 'owen'"):
            fs.estimate(game, LeverageSHAP(), budget=20, semivalue=semivalue)
    with pytest.raises(fs.InputError, match="'kernel' or 'mc'"):
        LeverageSHAP().start(Problem(5001, Shapley(), 0.0, 1.0, 1e-3))
    for value in ("no", 1, None):
        with pytest.raises(fs.InputError, match="levels must be True or False"):
            LeverageSHAP(levels=value)
    with pytest.raises(fs.InputError, match="budget of evaluations"):
        fs.estimate(game, LeverageSHAP(), budget=fs.Budget(marginals=100))


def test_the_configuration_leads_back():
    for estimator in (LeverageSHAP(), LeverageSHAP(levels=np.bool_(False))):
        assert from_configuration(estimator.configuration()) == estimator
    result = fs.estimate(fs.games.SumOfUnanimity(12, seed=0), "leverage", budget=300, seed=0)
    assert not result.certificate(0.5, 0.1).holds
    assert "biased" in result.obstacle
