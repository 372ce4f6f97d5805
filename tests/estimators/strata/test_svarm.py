"""Stratified SVARM against enumeration, hand-made samples and repeated runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.draws import AllCoalitions
from fairshapley.estimators import StratifiedSVARM, from_configuration
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.strata.covers import SizeStrata, cover_lengths, random_covers
from fairshapley.randomness import round_generator
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley

SEMIVALUES = [Shapley(), Banzhaf(), BetaShapley(4, 1)]


def table_game(n, seed=0):
    return fs.games.TableGame(np.random.default_rng(seed).standard_normal(1 << n) + 3.0)


def tell_everything(game, semivalue):
    """The state after every coalition was told once, sizes 2 … n − 2 as independent samples."""
    n, estimator = game.n_players, StratifiedSVARM()
    ends = game(np.array([[False] * n, [True] * n]))
    state = estimator.start(Problem(n, semivalue, float(ends[0]), float(ends[1]), 1e-3))
    while state.ends_asked < n:
        draw = estimator.ask(state, np.random.default_rng(0))
        estimator.tell(state, draw, game(draw.masks(0, len(draw))))
    masks = AllCoalitions(n).masks(0, 1 << n)
    for row, size in enumerate(state.sizes):
        chosen = masks[masks.sum(axis=1) == size]
        rows = np.full(len(chosen), row)
        state.strata.add(rows, chosen, game(chosen) - ends[0], covers=False)
        state.asked[row] = len(chosen)
    return state


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=str)
@pytest.mark.parametrize("n", [4, 5, 7])
def test_all_coalitions_give_the_exact_values(n, semivalue):
    game = table_game(n)
    estimate = StratifiedSVARM().estimate(tell_everything(game, semivalue))
    np.testing.assert_allclose(estimate.values, fs.exact(game, semivalue).values, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 40), st.data())
def test_a_cover_holds_and_leaves_out_everyone(n, data):
    size = data.draw(st.integers(2, n - 2))
    masks = random_covers(np.random.default_rng(n), n, np.array([size]))
    assert len(masks) == cover_lengths(n, np.array([size]))[0]
    assert (masks.sum(axis=1) == size).all()
    assert masks.any(axis=0).all()
    assert not masks.all(axis=0).any()
    # Disjoint as far as they can be: nobody is in, or out of, more than two.
    rarer = masks if 2 * size <= n else ~masks
    assert rarer.sum(axis=0).max() <= 2


def test_covers_are_uniform():
    """How often two players meet in covers of size 3 of 7; 5 standard errors, 21 pairs: 1e−5."""
    masks = random_covers(np.random.default_rng(0), 7, np.full(4000, 3)).astype(float)
    together = (masks.T @ masks)[np.triu_indices(7, 1)]
    expected = len(masks) * 3 * 2 / (7 * 6)
    assert np.abs(together - expected).max() < 5 * expected**0.5


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=str)
def test_the_estimate_is_that_of_the_strata_one_by_one(semivalue):
    """φ̂ without the correction for efficiency, from plain means of the samples told."""
    n, game, estimator = 8, table_game(8, 1), StratifiedSVARM()
    alpha = semivalue.weights(n)
    ends = game(np.array([[False] * n, [True] * n]))
    state = estimator.start(Problem(n, semivalue, float(ends[0]), float(ends[1]), 1e-3))
    seen = {}
    for index in range(12):
        draw = estimator.ask(state, round_generator(0, index))
        masks = draw.masks(0, len(draw))
        estimator.tell(state, draw, game(masks))
        for mask in masks:
            seen.setdefault(int(mask.sum()), []).append(mask)
    expected = np.full(n, -alpha[0] * ends[0] + alpha[-1] * ends[1])
    for size, chosen in seen.items():
        rows = np.unique(chosen, axis=0) if size in (1, n - 1) else np.array(chosen)
        values = game(rows)
        means = [(values[rows[:, i]].mean(), values[~rows[:, i]].mean()) for i in range(n)]
        terms = np.array([alpha[size - 1] * a - alpha[size] * b for a, b in means])
        common = (alpha[size - 1] - alpha[size]) * values.mean()
        expected += terms - terms.mean() + common
    np.testing.assert_allclose(estimator.estimate(state).values, expected, atol=1e-10)


def test_moments_of_strata_by_hand():
    """Batches of any length are merged, skipped samples left out, a level of 1e6 costs nothing."""
    n, rng = 7, np.random.default_rng(2)
    strata = SizeStrata(n, np.arange(2, 6), np.full(n, 1 / n))
    rows = np.sort(rng.integers(0, 3, 60))
    masks = rng.permuted(np.arange(n) < (rows + 2)[:, None], axis=1)
    values = rng.standard_normal(60) + 1e6
    values[[3, 30]] = np.nan
    for part in np.split(np.arange(60), [1, 7, 45]):
        strata.add(rows[part], masks[part], values[part], covers=False)
    for means, chosen in ((strata.inside, masks), (strata.outside, ~masks)):
        for row in range(4):
            for column in range(n):
                samples = values[(rows == row) & chosen[:, column] & ~np.isnan(values)]
                assert means.counts[row, column] == len(samples)
                if len(samples):
                    mean = strata.level[row] + means.means[row, column]
                    assert mean == pytest.approx(samples.mean(), rel=1e-12)
                    expected = np.square(samples - samples.mean()).sum()
                    assert means.squares[row, column] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert not strata.inside.counts[3].any()
    np.testing.assert_array_equal(strata.coalitions, 58)


def test_equal_utilities_with_a_player_do_not_vary_by_rounding():
    """A dictator's utility: in the strata all samples are equal, whatever the batches are."""
    n, rng = 9, np.random.default_rng(8)
    strata = SizeStrata(n, np.array([4]), np.full(n, 1 / n))
    for _ in range(20):
        masks = rng.permuted(np.tile(np.arange(n) < 4, (13, 1)), axis=1)
        strata.add(np.zeros(13, dtype=int), masks, 0.3 * masks[:, 0] + 0.1, covers=False)
    assert strata.inside.squares[0, 0] < 1e-24
    assert strata.outside.squares[0, 0] < 1e-24


@pytest.mark.parametrize("additive", [True, False])
def test_the_variance_of_a_cover_alone(additive):
    """1000 covers of 12 of 36 players, no other samples: the mean reported is the variance seen.

    Both vary by some 4 %; 15 % is over 3 standard errors at a fixed seed. With no regard to what
    disjoint coalitions have to do with each other it would be off by a half on the additive game.
    """
    n, rng = 36, np.random.default_rng(3)
    weights = rng.standard_normal(n) if additive else np.zeros(n)
    terms, reported = [], []
    for _ in range(1000):
        strata = SizeStrata(n, np.array([12]), np.full(n, 1 / n))
        masks = random_covers(rng, n, np.array([12]))
        noise = 0.0 if additive else rng.standard_normal(3)
        strata.add(np.zeros(3, dtype=int), masks, masks @ weights + noise, covers=True)
        terms.append(strata.terms()[0])
        reported.append(strata.variances()[0][0])
    ratio = np.mean(reported) / np.var(terms, axis=0).mean()
    assert 0.85 < ratio < 1.15, ratio


def test_shares_go_to_sizes_by_their_weights():
    """Banzhaf values of 300 players: nothing outside the middle is sampled, or matters."""
    state = StratifiedSVARM().start(Problem(300, Banzhaf(), 0.0, 1.0, 1e-3))
    alpha = Banzhaf().weights(300)
    left_out = np.setdiff1d(np.arange(2, 299), state.sizes)
    assert len(left_out) > 100
    assert alpha[left_out].sum() < 1e-14
    assert state.sizes[state.shares.argmax()] in (149, 150, 151)


@pytest.mark.parametrize("rounds", [5, 16])
@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=str)
def test_unbiased_with_honest_errors(semivalue, rounds):
    """100 runs of covers alone, or with 350 coalitions more.

    4.5 standard errors for each of 10 players, and 20 % for the reported errors, which vary by
    about 5 %: false alarm 1e−3.
    """
    n, game, estimator = 10, fs.games.SumOfUnanimity(10, seed=4), StratifiedSVARM()
    truth = fs.exact(game, semivalue).values
    problem = Problem(n, semivalue, 0.0, float(game(np.ones((1, n), dtype=bool))[0]), 1e-3)
    estimates = []
    for seed in range(100):
        state = estimator.start(problem)
        for index in range(rounds):
            draw = estimator.ask(state, round_generator(seed, index))
            estimator.tell(state, draw, game(draw.masks(0, len(draw))))
        estimates.append(estimator.estimate(state))
    values = np.array([estimate.values for estimate in estimates])
    spread = values.std(axis=0, ddof=1)
    assert (np.abs(values.mean(axis=0) - truth) < 4.5 * spread / 10).all()
    reported = np.mean([estimate.variances for estimate in estimates])
    assert 0.8 < np.sqrt(reported / np.square(spread).mean()) < 1.2


def test_skipped_coalitions_are_left_out():
    """Single players cannot be evaluated: their size leaves its part to the others."""
    n = 9

    def value(s):
        if len(s) == 1:
            raise ValueError("one is too few")
        return float(len(s))

    game = fs.games.FunctionGame(value, n_players=n)
    result = fs.estimate(game, StratifiedSVARM(), budget=200, seed=0, on_error="skip")
    np.testing.assert_allclose(result.values, 1.0, atol=1e-9)
    assert result.skipped == n
    with pytest.raises(fs.InputError, match="skipped"):
        fs.estimate(
            game, StratifiedSVARM(), budget=200, seed=0, on_error="skip", semivalue="beta(4,1)"
        )


def test_a_skip_here_and_there():
    n, rng = 10, np.random.default_rng(5)
    failing = {tuple(np.flatnonzero(rng.random(n) < 0.5)) for _ in range(150)}

    def value(s):
        if tuple(sorted(s)) in failing and len(s) < n:
            raise ValueError("no luck")
        return float(len(s))

    game = fs.games.FunctionGame(value, n_players=n)
    result = fs.estimate(game, StratifiedSVARM(), budget=400, seed=1, on_error="skip")
    assert result.skipped > 10
    np.testing.assert_allclose(result.values, 1.0, atol=1e-9)


def test_equal_utilities_are_no_certainty():
    game = fs.games.FunctionGame(lambda s: float(len(s)), n_players=12)
    result = fs.estimate(game, StratifiedSVARM(), budget=300, seed=0)
    np.testing.assert_allclose(result.values, 1.0)
    assert (result.standard_errors > 0).all()


def test_before_every_size_has_a_cover_there_are_no_values():
    game = fs.games.SumOfUnanimity(20, seed=1)
    with pytest.raises(fs.BudgetError, match="larger budget"):
        fs.estimate(game, StratifiedSVARM(), budget=60, seed=0)
    needed = 2 + 40 + cover_lengths(20, np.arange(2, 19)).sum()
    first = fs.estimate(game, StratifiedSVARM(), budget=int(needed), seed=0)
    assert np.isfinite(first.values).all()
    assert np.isfinite(first.standard_errors).all()


def test_continuing_equals_one_run(tmp_path):
    game = fs.games.SumOfUnanimity(14, seed=4)
    journal = fs.Journal(tmp_path / "runs.db")
    fs.estimate(game, "svarm", budget=200, seed=5, journal=journal)
    longer = fs.estimate(game, "svarm", budget=600, seed=5, journal=journal)
    once = fs.estimate(game, "svarm", budget=600, seed=5)
    assert longer.values.tobytes() == once.values.tobytes()
    assert longer.standard_errors.tobytes() == once.standard_errors.tobytes()


@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_tiny_games(n, semivalue):
    game = fs.games.SumOfUnanimity(n, n_terms=4, sizes=(1, n), seed=2)
    result = fs.estimate(game, StratifiedSVARM(), seed=0, semivalue=semivalue)
    assert result.exact
    np.testing.assert_allclose(result.values, fs.exact(game, semivalue).values)


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_up_to_three_players_the_estimator_itself_is_exact(n, semivalue):
    game = table_game(n, 7)
    estimate = StratifiedSVARM().estimate(tell_everything(game, semivalue))
    assert estimate.exact
    np.testing.assert_allclose(estimate.values, fs.exact(game, semivalue).values, atol=1e-12)


def test_what_does_not_work_is_said():
    with pytest.raises(fs.InputError, match="'kernel' or 'mc'"):
        StratifiedSVARM().start(Problem(2001, Shapley(), 0.0, 1.0, 1e-3))
    game = fs.games.Additive(np.ones(6))
    with pytest.raises(fs.InputError, match="budget of evaluations"):
        fs.estimate(game, StratifiedSVARM(), budget=fs.Budget(marginals=100))


def test_the_configuration_leads_back():
    assert from_configuration(StratifiedSVARM().configuration()) == StratifiedSVARM()
