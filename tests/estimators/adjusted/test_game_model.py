"""The model of a game: its mathematics by enumeration, and its use by the default method."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.referee.voting import WeightedVoting
from scipy.optimize import approx_fprime

import fairshapley as fs
from fairshapley.estimators import RegressionAdjusted
from fairshapley.estimators.adjusted import process
from fairshapley.estimators.adjusted.blend import blended
from fairshapley.estimators.adjusted.game_model import MEMBERS, fit_posterior
from fairshapley.estimators.adjusted.process import Observations, Process
from fairshapley.estimators.estimator import Estimate
from fairshapley.results.serialising import with_fields

PRIORS = tuple(dict.fromkeys(member.prior for member in MEMBERS))


def observations(n_players, count, seed=0):
    rng = np.random.default_rng(seed)
    masks = rng.random((4 * count, n_players)) < 0.5
    sizes = masks.sum(axis=1)
    masks = np.unique(masks[(sizes > 0) & (sizes < n_players) & masks[:, 0]], axis=0)[:count]
    return Observations(masks.astype(float), rng.standard_normal(len(masks)))


def parameters(prior, n_players, seed=1):
    rng = np.random.default_rng(seed)
    count = len(process.PRIOR_MEANS) + (n_players if prior.relevance else 0)
    at = 0.4 * rng.standard_normal(count)
    at[: len(process.PRIOR_MEANS)] -= 1.0
    return at


@pytest.mark.parametrize("prior", PRIORS)
def test_gradients_are_those_of_the_loss(prior):
    seen = observations(6, 14)
    at = parameters(prior, 6)
    loss, gradient = process._loss(at, seen, prior)
    numerical = approx_fprime(at, lambda one: process._loss(one, seen, prior)[0], 1e-6)
    assert np.isfinite(loss)
    np.testing.assert_allclose(gradient, numerical, atol=1e-4)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_players", [4, 7])
def test_values_and_variances_are_those_of_all_coalitions(prior, n_players):
    """Conditioning the game of all 2**n utilities, then taking Shapley values."""
    seen, at = observations(n_players, 9), parameters(prior, n_players)
    fitted = Process(seen, prior, at)
    index = np.arange(1 << n_players)
    every = Observations(((index[:, None] >> np.arange(n_players)) & 1).astype(float), 0.0 * index)
    part = process._Covariance(every, prior, at)
    rest = part.rest(every.single)
    # ε is odd: that of a complement is minus that of the coalition.
    mirrored = np.eye(len(index)) - np.eye(len(index))[::-1]
    whole = part.matrix - np.diag(rest) + rest[:, None] * mirrored
    of_game = np.array([fs.exact(fs.games.TableGame(row)).values for row in np.eye(len(index))]).T
    of_game = of_game - of_game.mean(axis=0)
    rows = (seen.masks @ (1 << np.arange(n_players))).astype(int)
    inverse = np.linalg.inv(whole[np.ix_(rows, rows)])
    means = of_game @ whole[:, rows] @ inverse @ seen.gains
    after = whole - whole[:, rows] @ inverse @ whole[rows]
    variances = fitted.scale * np.einsum("is,st,it->i", of_game, after, of_game)
    values, found = fitted.values()
    np.testing.assert_allclose(values, means, atol=1e-9)
    np.testing.assert_allclose(found, variances, atol=1e-9)
    # What was seen is predicted by the part without ε; elsewhere the whole covariance says it.
    others = np.setdiff1d(index, np.concatenate([rows, len(index) - 1 - rows]))
    predicted = whole[np.ix_(others, rows)] @ inverse @ seen.gains
    np.testing.assert_allclose(fitted.predict(every.masks[others]), predicted, atol=1e-9)


def test_an_additive_game_is_read_exactly_and_repeats_change_nothing():
    worth = np.array([1.0, -2.0, 3.0, 6.0, 0.0, 0.5])
    masks = np.random.default_rng(0).random((24, 6)) < 0.5
    gains, span = masks @ worth - worth.sum() / 2, worth.sum() / 2
    posterior = fit_posterior(masks, gains, span)
    np.testing.assert_allclose(posterior.values + worth.mean(), worth, atol=1e-3)
    again = fit_posterior(np.concatenate([masks, ~masks]), np.concatenate([gains, -gains]), span)
    np.testing.assert_array_equal(again.values, posterior.values)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_a_reading_does_not_hang_on_the_unit_of_utilities(unit):
    game = fs.games.SumOfUnanimity(8, seed=2)
    masks = np.random.default_rng(0).random((30, 8)) < 0.5
    gains, span = 0.5 * (game(masks) - game(~masks)), 0.5
    plain, scaled = (
        fit_posterior(masks, gains, span),
        fit_posterior(masks, unit * gains, unit * span),
    )
    np.testing.assert_allclose(scaled.values / unit, plain.values, rtol=1e-6, atol=1e-9)
    nothing = fit_posterior(masks, 0.0 * gains, 0.0)
    assert not nothing.values.any()
    assert np.isnan(nothing.variances).all()


def errors_of(method, games, per_player):
    errors = []
    for seed, game in enumerate(games):
        result = fs.estimate(game, method, budget=per_player * game.n_players, seed=seed)
        errors.append(np.mean((result.values - game.shapley_values) ** 2))
    return np.log(errors)


def test_with_few_evaluations_the_model_has_a_fraction_of_the_error():
    """Six games; the geometric mean of the ratio is about 0.25, its limit 0.6."""
    games = [fs.games.SumOfUnanimity(12, seed=seed) for seed in range(3)]
    games += [fs.games.Airport(np.linspace(1.0, 2.0, 12) ** power) for power in (1, 3)]
    games += [fs.games.SumOfUnanimity(20, seed=7)]
    ratios = errors_of("auto", games, 5) - errors_of("adjusted", games, 5)
    assert np.exp(np.mean(ratios)) < 0.6


def test_intervals_of_the_model_cover():
    """Mean coverage of 95 % intervals over 8 games, whose standard error is about 3 %."""
    covered = []
    for seed in range(8):
        game = fs.games.SumOfUnanimity(10, seed=seed)
        result = fs.estimate(game, RegressionAdjusted(model=True), budget=60, seed=seed)
        error = np.abs(result.values - game.shapley_values)
        covered.append(np.mean(error <= 1.96 * result.standard_errors))
    assert 0.86 <= np.mean(covered) <= 1.0


def test_statements_rest_on_the_sampling_alone():
    """The model moves values, and what it moves them by is part of every half-width."""
    game = fs.games.SumOfUnanimity(10, seed=1)
    result = fs.estimate(game, RegressionAdjusted(model=True), budget=120, seed=0)
    evidence = result.evidence
    assert (evidence.shift > 0).all()
    assert (evidence.standard_errors != evidence.sampling_errors).all()
    plain = with_fields(
        result, values=result.values, standard_errors=evidence.sampling_errors,
        sampling_errors=None, shift=None,
    )  # fmt: skip
    widths = result.certificate(0.5, 0.1).half_widths
    np.testing.assert_allclose(widths, plain.certificate(0.5, 0.1).half_widths + evidence.shift)
    again = fs.Result.from_dict(result.to_dict()).evidence
    np.testing.assert_array_equal(again.shift, evidence.shift)
    without = fs.estimate(game, "adjusted", budget=120, seed=0).evidence
    assert without.shift is None


@pytest.mark.parametrize("n_players", [12, 30])
def test_a_rule_leaves_the_values_as_they_are(n_players):
    """With the same evaluations, bit for bit."""
    game = fs.games.SumOfUnanimity(n_players, seed=1)
    plain = fs.estimate(game, budget=8 * n_players, seed=3)
    ruled = fs.estimate(
        game, budget=8 * n_players, seed=3, until=fs.Fair(epsilon1=1e-6, delta=0.1), progress=False
    )
    assert ruled.evaluations == plain.evaluations
    np.testing.assert_array_equal(ruled.values, plain.values)
    np.testing.assert_array_equal(ruled.standard_errors, plain.standard_errors)


def test_the_model_gives_way_to_what_contradicts_it():
    """However sure it is of itself; and has its say where the sampling knows little."""
    counts = np.full(8, 50)
    sure = Estimate(np.zeros(8), np.full(8, 1e-30), counts)
    sampled = Estimate(np.linspace(-1.0, 1.0, 8), np.full(8, 1e-4), counts)
    found = blended(sure, sampled)
    np.testing.assert_allclose(found.values, sampled.values, atol=0.02)
    vague = replace(sampled, variances=np.full(8, 100.0))
    np.testing.assert_allclose(blended(sure, vague).values, 0.0, atol=1e-6)
    unknown = replace(sampled, variances=np.full(8, np.nan))
    assert blended(sure, unknown).sampled is unknown


def neighbours(n_players, seed):
    """Points valued by their nearest neighbours, and the values in closed form."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_players, 4))
    y = (x[:, 0] + 0.5 * rng.standard_normal(n_players) > 0).astype(int)
    test = rng.standard_normal((40, 4))
    data = (x, y, test, (test[:, 0] > 0).astype(int))
    return fs.games.KNNUtilityGame(*data, k=1), fs.knn_shapley(*data, k=1).values


def test_of_many_players_the_model_draws_the_estimate_and_fades():
    """The ratio of mean square errors is about 0.25 at 3 evaluations per player, its limit 0.6."""
    airports = [fs.games.Airport(np.linspace(1.0, 2.0, 90) ** power) for power in (1, 3)]
    games = [neighbours(80, 0), neighbours(80, 1)]
    games += [(game, game.shapley_values) for game in airports]
    ratios = []
    for seed, (game, truth) in enumerate(games):
        budget = 3 * game.n_players
        drawn, plain = (
            fs.estimate(game, method, budget=budget, seed=seed) for method in ("auto", "adjusted")
        )
        np.testing.assert_allclose(drawn.values.sum(), truth.sum(), atol=1e-9)
        ratios.append(np.mean((drawn.values - truth) ** 2) / np.mean((plain.values - truth) ** 2))
    assert np.exp(np.mean(np.log(ratios))) < 0.6
    late = fs.estimate(airports[0], budget=2700, seed=0)
    errors = np.abs(late.values - airports[0].shapley_values) / late.standard_errors
    assert np.mean(errors**2) < 2.0


def test_of_many_players_what_the_units_contradict_widens_the_intervals():
    """A nearest neighbour's steps are beyond the model; it alone covered 70 %."""
    covered = []
    for seed in range(3):
        game, truth = neighbours(80, seed)
        result = fs.estimate(game, budget=480, seed=seed)
        covered.append(np.abs(result.values - truth) < 1.96 * result.standard_errors)
    assert np.mean(covered) > 0.85


@pytest.mark.parametrize("n_players", [20, 80])
def test_identical_players_share_one_value_of_the_model(n_players):
    worth = np.repeat(np.linspace(1.0, 2.0, n_players // 2), 2)

    class Twins(fs.games.Airport):
        identical_players = tuple((i, i + 1) for i in range(0, n_players, 2))

    result = fs.estimate(Twins(worth), budget=3 * n_players, seed=0)
    np.testing.assert_array_equal(result.values[::2], result.values[1::2])


@pytest.mark.parametrize(("n_players", "budgets"), [(20, (30, 50, 90)), (80, (150, 400, 700))])
def test_values_add_up_and_continuing_is_one_run(tmp_path, n_players, budgets):
    game = fs.games.SumOfUnanimity(n_players, seed=4)
    for budget in budgets:
        result = fs.estimate(game, budget=budget, seed=3)
        np.testing.assert_allclose(result.values.sum(), game.shapley_values.sum(), atol=1e-9)
    path, method = tmp_path / "journal", RegressionAdjusted(model=True)
    fs.estimate(game, method, budget=budgets[1], seed=3, journal=path)
    longer = fs.estimate(game, method, budget=budgets[2], seed=3, journal=path)
    np.testing.assert_array_equal(longer.values, result.values)


def single_players(game, budget, seed=0):
    result = fs.estimate(game, budget=budget, seed=seed)
    return next(size.coalitions for size in result.run.profile if size.first == 1)


@pytest.mark.parametrize("n_players", [10, 24])
def test_single_players_come_early(n_players):
    game = fs.games.SumOfUnanimity(n_players, seed=1)
    assert single_players(game, int(3.2 * n_players)) >= n_players


def test_single_players_come_late_where_the_game_does_not_tell_players_apart():
    vote = WeightedVoting(np.arange(50, 100), quota=1900)
    counts = [single_players(vote, 110, seed) for seed in range(5)]
    assert sum(count < 15 for count in counts) >= 3


@pytest.mark.parametrize("n_players", [4, 5])
def test_tiny_games_and_constant_ones(n_players):
    constant = fs.games.TableGame(np.ones(1 << n_players))
    result = fs.estimate(constant, RegressionAdjusted(model=True), budget=10, seed=0)
    np.testing.assert_allclose(result.values, 0.0, atol=1e-12)
    rough = fs.games.TableGame(np.random.default_rng(0).standard_normal(1 << n_players))
    for budget in range(4, 1 << n_players, 3):
        result = fs.estimate(rough, RegressionAdjusted(model=True), budget=budget, seed=0)
        assert np.isfinite(result.values).all()
        assert result.evaluations >= budget - 1


def test_what_is_not_known_of_the_noise_widens_the_intervals():
    game = fs.games.SumOfUnanimity(8, seed=0)
    masks = np.random.default_rng(0).random((80, 8)) < 0.5
    gains, span = 0.5 * (game(masks) - game(~masks)), 0.5 * float(game.weights.sum())
    gains += 0.2 * gains.std() * np.random.default_rng(1).standard_normal(len(gains))
    noise = float(0.04 * gains.var())
    known = fit_posterior(masks, gains, span, (noise, noise)).variances
    doubtful = fit_posterior(masks, gains, span, (noise / 3, 3 * noise)).variances
    assert (doubtful >= known).all()
    assert doubtful.mean() > known.mean()


def parity_and_pairs(n_players=10):
    """What three players' parity, pairs and single players add, exactly known."""
    masks = np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1
    rng = np.random.default_rng(5)
    pairs = np.triu(rng.normal(size=(n_players, n_players)), 1)
    utilities = np.einsum("ki,ij,kj->k", masks, pairs, masks) + masks[:, :3].sum(axis=1) % 2
    return fs.games.TableGame(utilities)


@pytest.mark.parametrize("seed", range(2))
def test_what_the_model_explains_wholly_is_not_lost_to_rounding(seed):
    game = parity_and_pairs()
    truth = fs.exact(game).values
    result = fs.estimate(game, budget=260, seed=seed)
    errors = np.abs(result.values - truth)
    assert errors.max() < 1e-5 * np.abs(truth).max()
    # Coalitions that were not seen leave some doubt about every value.
    assert (result.standard_errors > 0.0).all()
    assert (errors <= 3.0 * result.standard_errors).all()


@pytest.mark.parametrize("per_player", [6, 30])
def test_single_players_far_from_all_others_do_not_bias_the_rest(per_player):
    rng = np.random.default_rng(2)
    masks = np.arange(1 << 12)[:, None] >> np.arange(12) & 1
    utilities = np.sqrt(masks @ rng.random(12))
    alone = masks.sum(axis=1) == 1
    utilities[alone] = 1e20 * rng.random(12)
    game = fs.games.TableGame(utilities)
    truth = fs.exact(game).values
    result = fs.estimate(game, budget=12 * per_player, seed=0)
    np.testing.assert_allclose(result.values, truth, rtol=1e-12, atol=1e-13 * 1e20)
