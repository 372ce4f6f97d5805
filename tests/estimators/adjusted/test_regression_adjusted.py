"""The regression-adjusted estimator as a whole. Its laws are in tests/laws."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import fairshapley as fs
from fairshapley.estimators.adjusted import adjustment
from fairshapley.estimators.adjusted.regression_adjusted import RegressionAdjusted
from fairshapley.estimators.adjusted.stored_units import StoredUnits
from fairshapley.estimators.estimator import NoiseLevel, Problem
from fairshapley.estimators.exact import exact_values
from fairshapley.randomness import round_generator
from fairshapley.semivalues import parse_semivalue

# Random utilities are never enumerated.
NOISY = NoiseLevel(variance=1.0, freedom=10)


class Table:
    """A game of all utilities, for runs by hand."""

    def __init__(self, n_players, seed=0):
        self.n_players = n_players
        self.table = np.random.default_rng(seed).standard_normal(1 << n_players)

    def __call__(self, masks):
        return self.table[masks @ (1 << np.arange(self.n_players))]


def tell_rounds(estimator, game, semivalue, rounds, look=False, spoil=None, seed=0, noise=None):
    """A state after so many rounds, and the number of coalitions told.

    With a noise level no size is enumerated.
    """
    ends = game(np.array([[False] * game.n_players, [True] * game.n_players]))
    problem = Problem(
        game.n_players, parse_semivalue(semivalue), *map(float, ends), 1e-3, noise=noise
    )
    state, told = estimator.start(problem), 0
    for index in range(rounds):
        draw = estimator.ask(state, round_generator(seed, index))
        if draw is None:
            break
        values = game(draw.masks(0, len(draw)))
        if spoil is not None:
            values = spoil(values)
        estimator.tell(state, draw, values)
        told += len(draw)
        if look:
            estimator.estimate(state)
    return state, told


def ridge_game(n=30):
    """Negative mean squared error of least squares with a ridge, on data of scikit-learn."""
    data = load_diabetes()
    x, y = data.data / data.data.std(axis=0), data.target / data.target.std()

    def utility(masks):
        weights = np.hstack([masks, np.ones((len(masks), 1))])
        gram = np.einsum("ti,ij,ik->tjk", weights, x[: n + 1], x[: n + 1]) + np.eye(10)
        right = (weights * y[: n + 1]) @ x[: n + 1]
        fitted = np.linalg.solve(gram, right[..., None])[..., 0] @ x[100:200].T
        return -np.square(fitted - y[100:200]).mean(axis=1)

    utility.n_players = n
    return utility


@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf", "beta(4,1)"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_all_sizes_are_enumerated_in_the_end(n, semivalue):
    """By hand, so that no cache of the run proves the values instead."""
    game = Table(n)
    estimator = RegressionAdjusted()
    state, _ = tell_rounds(estimator, game, semivalue, 400)
    estimate = estimator.estimate(state)
    assert estimator.ask(state, round_generator(0, 0)) is None
    assert estimate.exact
    truth = exact_values(game.table, parse_semivalue(semivalue))
    np.testing.assert_allclose(estimate.values, truth, atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [RegressionAdjusted(), RegressionAdjusted(proxy="linear"), RegressionAdjusted(proxy="none")],
    ids=str,
)
def test_looking_changes_nothing(estimator):
    game = Table(8)
    states = [tell_rounds(estimator, game, "shapley", 25, look)[0] for look in (True, False)]
    one, other = (estimator.estimate(state) for state in states)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.variances, other.variances)
    again = estimator.estimate(pickle.loads(pickle.dumps(states[0])))  # noqa: S301 - our own
    np.testing.assert_array_equal(one.values, again.values)


def test_every_part_helps():
    """On a game with interactions, mean squared errors of 10 runs of 30 evaluations per player.

    The proxy takes off more than nine tenths of the variance, the stack a third of the rest; each
    of these means varies by some 10 %.
    """
    n = 14
    game = fs.games.SumOfUnanimity(n, seed=4)
    errors = {}
    for proxy in ("none", "linear", "auto"):
        runs = [
            fs.estimate(game, RegressionAdjusted(proxy=proxy), budget=30 * n, seed=seed)
            for seed in range(10)
        ]
        errors[proxy] = np.mean([np.square(run.values - game.shapley_values) for run in runs])
    assert errors["linear"] < 0.2 * errors["none"]
    assert errors["auto"] < 0.95 * errors["linear"]


def repeated(estimator, game, semivalue, rounds, repeats, noise):
    """The last state, and reported over true standard errors; values are tested for bias."""
    values, variances = [], []
    for seed in range(repeats):
        state, _ = tell_rounds(estimator, game, semivalue, rounds, seed=seed, noise=noise)
        estimate = estimator.estimate(state)
        values.append(estimate.values)
        variances.append(estimate.variances)
    values = np.array(values)
    errors = values.mean(axis=0) - exact_values(game.table, parse_semivalue(semivalue))
    assert (np.abs(errors) < 4.5 * values.std(axis=0) / np.sqrt(repeats)).all()
    return state, np.sqrt(np.mean(variances) / values.var(axis=0).mean())


def test_later_units_and_a_second_stage_are_unbiased(monkeypatch):
    """A stack trained on 24 units, then a linear stage; 100 runs by hand, 4.5 standard errors.

    False alarm below 1e−4 for 8 players.
    """
    monkeypatch.setattr(adjustment.Adjustment, "most_stacked_units", 24)
    game = Table(8, seed=3)
    game.table[:] += 3.0 * np.bitwise_count(np.arange(256))
    state, ratio = repeated(RegressionAdjusted(), game, "shapley", 22, 100, NOISY)
    assert len(state.schedule.units) > 60
    assert [stage.start for stage in state.schedule.fitted] == [0, 24]
    # √(1/200) is 7 %, less for eight players together: three times that.
    assert 0.8 < ratio < 1.2


@pytest.mark.parametrize("semivalue", ["shapley", "beta(16,1)", "banzhaf"])
def test_values_of_a_data_game_lie_in_their_intervals(semivalue):
    """Against a run 40 times as long; 30 intervals of 4 standard errors, fixed seed."""
    game = ridge_game()
    long, short = (
        fs.estimate(game, RegressionAdjusted(proxy="linear"), budget=b, semivalue=semivalue, seed=s)
        for b, s in ((36_000, 1), (900, 2))
    )
    assert (np.abs(short.values - long.values) < 4.0 * short.standard_errors).all()
    assert np.median(short.standard_errors) < 0.5 * np.abs(long.values).mean()


def test_standard_errors_without_a_proxy_are_those_of_pairs():
    """proxy="none", before the second plan: half of v(S) − v(N ∖ S), weighted, and its spread."""
    game, estimator = Table(6), RegressionAdjusted(proxy="none")
    state, told = tell_rounds(estimator, game, "shapley", 12, noise=NOISY)
    masks, gains = state.schedule.units.masks(slice(0, told // 2)), state.schedule.units.gains
    s = masks.sum(axis=1, keepdims=True)
    chance = (1 / np.sqrt(s * (6 - s))) / sum(1 / np.sqrt(k * (6 - k)) for k in range(1, 6))
    y = gains[:, None] / chance * np.where(masks, 1 / s, -1 / (6 - s))
    y += (game.table[-1] - game.table[0]) / 6
    estimate = estimator.estimate(state)
    np.testing.assert_allclose(estimate.values, y.mean(axis=0))
    np.testing.assert_allclose(estimate.variances, y.var(axis=0, ddof=1) / len(y))
    np.testing.assert_array_equal(estimate.counts, told // 2)


def saturating(n=30):
    """A utility whose noise lies at small coalitions: large ones add nothing."""
    table = np.random.default_rng(5).standard_normal((n, n))

    def utility(masks):
        size = masks.sum(axis=1)
        rough = np.sin(3.0 * np.einsum("ti,ij,tj->t", masks, table, masks))
        return 1.0 - np.exp(-size / 3.0) * (1.0 + rough) + masks @ table[0] / n

    utility.n_players = n
    return utility


def even(n=30):
    """A utility of which coalition and complement have all but a linear part in common."""
    table = np.random.default_rng(6).standard_normal((n, n))

    def utility(masks):
        signs = 2.0 * masks - 1.0
        return np.einsum("ti,ij,tj->t", signs, table, signs) + masks @ table[0]

    utility.n_players = n
    return utility


@pytest.mark.parametrize(("game", "paired"), [(saturating(), False), (even(), True)])
def test_the_residuals_choose_between_pairs_and_singles(game, paired):
    for seed in range(3):
        state, _ = tell_rounds(RegressionAdjusted(), game, "shapley", 60, seed=seed)
        assert state.schedule.weights.paired == paired


@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf"])
@pytest.mark.parametrize("noise", [None, NOISY], ids=["enumerated", "sampled"])
def test_units_that_begin_as_pairs_are_unbiased(monkeypatch, semivalue, noise):
    """Pairs that give way to singles whatever the residuals; 150 runs by hand, 4.5 errors.

    False alarm below 1e−4 for 8 players.
    """
    monkeypatch.setattr(StoredUnits, "min_split", 1)
    monkeypatch.setattr(StoredUnits, "early_ratio", 1e9)
    game = Table(8, seed=3)
    game.table[:] += 3.0 * np.bitwise_count(np.arange(256))
    state, ratio = repeated(RegressionAdjusted(proxy="linear"), game, semivalue, 20, 150, noise)
    assert state.schedule.split == 64
    assert len(state.schedule.units) > 80
    # √(1/300) is 6 %, less for eight players together: three times that.
    assert 0.82 < ratio < 1.18


def test_a_split_run_goes_on_as_singles():
    """The same mean and variance as from all contributions, with pairs as clusters."""
    game = saturating(12)
    estimator = RegressionAdjusted(proxy="none")
    state, _ = tell_rounds(estimator, game, "shapley", 60, noise=NOISY)
    schedule = state.schedule
    assert 0 < schedule.split < len(schedule.units)
    masks, values = schedule.units.masks(slice(0, len(schedule.units))), schedule.units.gains
    np.testing.assert_allclose(values, game(masks))
    np.testing.assert_array_equal(masks[: schedule.split : 2], ~masks[1 : schedule.split : 2])
    y = np.vstack(list(schedule.adjust().contributions()))
    pairs = y[: schedule.split].reshape(-1, 2, 12).sum(axis=1)
    clusters = np.vstack([pairs - 2 * y.mean(axis=0), y[schedule.split :] - y.mean(axis=0)])
    estimate = estimator.estimate(state)
    expected = np.square(clusters).sum(axis=0) / (len(y) * (len(y) - 1))
    np.testing.assert_allclose(estimate.variances, expected)
    np.testing.assert_array_equal(estimate.counts, len(clusters))


@pytest.mark.parametrize("n", [5, 12, 40, 150])
def test_small_budgets_are_used(n):
    """Up to one round, or one part of a size that is enumerated."""
    game = fs.games.SumOfUnanimity(n, seed=2)
    result = fs.estimate(game, RegressionAdjusted(), budget=10 * n, seed=0)
    assert result.exact or result.evaluations >= 8.5 * n
    assert np.isfinite(result.standard_errors).all()


@pytest.mark.parametrize("semivalue", ["shapley", "beta(4,1)"])
def test_skipped_units_are_left_out(semivalue):
    game, estimator = Table(7), RegressionAdjusted()

    def spoil(values):
        values = values.copy()
        values[::5] = np.nan
        return values

    state, told = tell_rounds(estimator, game, semivalue, 30, spoil=spoil)
    estimate = estimator.estimate(state)
    assert np.isfinite(estimate.values).all()
    assert 0 < estimate.counts[0] < told
    assert not estimate.exact


def test_a_size_that_is_skipped_as_a_whole_stays_sampled():
    game, estimator = Table(5), RegressionAdjusted()
    state, _ = tell_rounds(estimator, game, "shapley", 200, spoil=lambda v: np.full_like(v, np.nan))
    assert state.schedule.interior.all()
    assert np.isnan(estimator.estimate(state).values).all()


def test_rounds_do_not_depend_on_values_before_the_first_plan():
    draws = []
    for game in (Table(9, 1), Table(9, 2)):
        state, told = tell_rounds(RegressionAdjusted(), game, "shapley", 8)
        assert state.schedule.told <= 32
        draws.append(state.schedule.units.masks(slice(0, told // 2)))
    np.testing.assert_array_equal(*draws)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_coverage_at_length():
    """95 % intervals on a data game cover 93 to 97 % of the values, 200 runs of 40 per player."""
    game = ridge_game()
    long = [
        fs.estimate(game, RegressionAdjusted(proxy="linear"), budget=60_000, seed=900 + k).values
        for k in range(4)
    ]
    truth, hits, ratios = np.mean(long, axis=0), [], []
    for seed in range(200):
        run = fs.estimate(game, RegressionAdjusted(), budget=1200, seed=seed)
        error = run.values - truth
        hits.append(np.abs(error) <= 1.96 * run.standard_errors)
        ratios.append(np.square(error) / np.square(run.standard_errors))
    assert 0.92 < np.mean(hits) < 0.97
    assert 0.8 < np.median(np.mean(ratios, axis=0)) < 1.25


def test_bad_parameters_and_runs():
    with pytest.raises(fs.InputError, match="proxy must be one of 'auto', 'linear', 'none'"):
        RegressionAdjusted(proxy="trees")
    game = fs.games.SumOfUnanimity(20, seed=0)
    with pytest.raises(fs.errors.BudgetError):
        fs.estimate(game, RegressionAdjusted(), budget=3)
    with pytest.raises(fs.InputError, match="budget of evaluations"):
        fs.estimate(game, RegressionAdjusted(), budget=fs.Budget(marginals=100))


@pytest.mark.parametrize("seed", range(8))
def test_a_half_without_gains_says_that_every_gain_is_0(seed):
    """The covariance function of one half is chosen on the other, where all pairs may cancel."""
    game = fs.games.FunctionGame(lambda coalition: float(len(coalition) >= 2), n_players=17)
    result = fs.estimate(game, budget=300, seed=seed)
    assert np.abs(result.values - 1 / 17).max() < 6 * result.standard_errors.max()
    assert not result.notes


@pytest.mark.parametrize("broken", ["singular", "not finite", "divided by 0"])
@pytest.mark.parametrize("proxy", ["auto", "linear"])
def test_a_proxy_that_cannot_be_computed_gives_way_to_a_simpler_one(monkeypatch, proxy, broken):
    def fail(sample, weights, *_):
        if broken == "singular":
            raise np.linalg.LinAlgError
        proxies = adjustment.no_proxies(sample, weights)
        proxies.offsets[:] = np.nan if broken == "not finite" else np.ones(1) / np.zeros(1)
        return proxies

    monkeypatch.setattr(adjustment, "fit_stacked" if proxy == "auto" else "fit_linear", fail)
    game = fs.games.SumOfUnanimity(20, seed=1)
    result = fs.estimate(game, RegressionAdjusted(proxy=proxy), budget=600, seed=0)
    (note,) = result.notes
    simpler = "a linear proxy" if proxy == "auto" else "no proxy"
    assert f"so {simpler} was used" in note
    assert (np.abs(result.values - game.shapley_values) < 6 * result.standard_errors).all()


class Parity:
    """Every size has another utility than its neighbours."""

    n_players, fingerprint = 8, "parity"

    def __call__(self, masks):
        return (masks.sum(axis=1) % 2).astype(float)


@pytest.mark.parametrize("semivalue", ["banzhaf", "beta(4,1)", "beta(16,1)"])
def test_sizes_not_drawn_yet_are_in_the_errors(semivalue):
    """Proxies that explain every unit seen say nothing of a rare size: errors were 10⁵ times off.

    Student's t with few degrees of freedom passes 8 in fewer than one of 10⁴ values.
    """
    truth = fs.exact(Parity(), semivalue=semivalue).values
    for seed, budget in [(seed, budget) for seed in range(8) for budget in (40, 60, 100)]:
        result = fs.estimate(
            Parity(), "adjusted", budget=budget, semivalue=semivalue, seed=seed, progress=False
        )
        assert (
            result.exact or not (np.abs(result.values - truth) > 8 * result.standard_errors).any()
        )


def test_trees_foresee_a_maximum():
    """Relative errors were 2e-5 to 5e-5 in four runs, and 2e-4 to 6e-4 without trees."""
    game = fs.games.Airport(np.arange(1.0, 31.0) ** 2)
    runs = [fs.estimate(game, budget=1800, seed=seed, progress=False) for seed in range(3)]
    errors = [np.square(run.values - game.shapley_values).mean() for run in runs]
    assert np.mean(errors) < 1e-4 * np.square(game.shapley_values).mean()


@pytest.mark.parametrize("budget", [140, 420, 840])
def test_intervals_of_an_additive_game_cover_rounding(budget):
    """Matrices of additive games are nearly singular: values are off by 1e-7 then."""
    game = fs.games.FunctionGame(lambda chosen: 4.0 * (8 in chosen), n_players=14)
    result = fs.estimate(game, budget=budget, seed=0, progress=False)
    errors = np.abs(result.values - 4.0 * (np.arange(14) == 8))
    assert (errors <= 1.96 * result.standard_errors).all()
    assert (result.standard_errors < 1e-4).all()
