"""A cheap game that stands in for an expensive one: unbiased, honest, and used only if it helps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

import fairshapley as fs
from fairshapley.uses.with_proxy import coefficient, estimate_with_proxy

N_PLAYERS = 10


def table(seed, n_players=N_PLAYERS):
    """Interactions of all orders, the lower ones stronger: much that is not linear."""
    rng = np.random.default_rng(seed)
    masks = np.arange(1 << n_players)[:, None] >> np.arange(n_players) & 1
    pairs = rng.normal(size=(n_players, n_players))
    curved = np.einsum("ti,ij,tj->t", masks, pairs, masks)
    return curved / n_players + 0.2 * rng.normal(size=len(masks)) + masks @ rng.normal(size=(10,))


# Without a kernel an estimate takes milliseconds.
LINEAR = fs.RegressionAdjusted(proxy="linear")
PROXY = table(1)
GAME = 0.7 * PROXY + 0.3 * table(2)
TRUTH = fs.exact(fs.games.TableGame(GAME)).values


class Counted:
    """A game that knows how often it was asked."""

    fingerprint = "a counted table"

    def __init__(self, values=GAME):
        self.table = fs.games.TableGame(values)
        self.n_players = self.table.n_players
        self.asked = 0

    def __call__(self, coalitions):
        self.asked += len(coalitions)
        return self.table(coalitions)


def valued(budget=150, *, game=GAME, proxy=PROXY, **options):
    games = fs.games.TableGame(game), fs.games.TableGame(proxy)
    return estimate_with_proxy(*games, budget=budget, **{"seed": 0, "method": LINEAR, **options})


def test_when_all_coalitions_fit_the_values_are_exact():
    result = valued(1024)
    assert result.exact
    assert result.evaluations == 1024
    np.testing.assert_allclose(result.values, TRUTH, atol=1e-12)


def test_a_proxy_that_differs_by_nothing_leaves_no_error():
    """The difference is 0 everywhere, so that the values are those of the enumerated proxy."""
    expected = fs.exact(fs.games.TableGame(2.5 * PROXY)).values
    for c in (2.5, None):
        result = valued(100, game=2.5 * PROXY, c=c)
        np.testing.assert_allclose(result.values, expected, atol=1e-9)


def test_unbiased_with_honest_errors():
    """400 runs with c from the pilot and inexact values of the proxy: means, errors, coverage.

    False alarms: 1e-4 for the means; the ratio and the coverage are 5 standard errors wide.
    """
    repeats, known, rng = 400, fs.exact(fs.games.TableGame(PROXY)), np.random.default_rng(0)
    errors_of_proxy = np.full(N_PLAYERS, 0.03)
    runs = []
    for seed in range(repeats):
        drawn = known.values + errors_of_proxy * rng.normal(size=N_PLAYERS)
        sampled = replace(
            known,
            values=drawn,
            standard_errors=errors_of_proxy,
            counts=known.counts * 1000,
            exact=False,
            seed=10**6,
        )
        runs.append(valued(100, proxy_values=sampled, seed=seed))
    errors = np.array([run.values for run in runs]) - TRUTH
    reported = np.array([run.standard_errors for run in runs])
    scores = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(repeats))
    assert np.abs(scores).max() < norm.isf(0.5e-4 / N_PLAYERS)
    assert 0.85 < np.square(reported).mean() / np.square(errors).mean() < 1.2
    assert 0.92 < (np.abs(errors) < 1.96 * reported).mean() < 0.975
    # Both parts count: without the proxy's own share the errors would be far too small.
    assert "of the variance" in runs[0].notes[-1]


def test_smaller_errors_than_without():
    """Paired runs; the ratio of the squared errors is about a quarter."""
    known = fs.exact(fs.games.TableGame(PROXY))
    with_proxy, alone = [], []
    for seed in range(15):
        with_proxy.append(valued(seed=seed, proxy_values=known).values - TRUTH)
        game = fs.games.TableGame(GAME)
        alone.append(fs.estimate(game, LINEAR, budget=150, seed=seed).values - TRUTH)
    assert np.square(with_proxy).mean() < 0.5 * np.square(alone).mean()


def test_a_useless_proxy_is_not_used():
    """What is additive the method explains itself; the run is that without a proxy, bit for bit."""
    masks = np.arange(1024)[:, None] >> np.arange(N_PLAYERS) & 1
    result = valued(proxy=masks @ np.arange(10.0))
    alone = fs.estimate(fs.games.TableGame(GAME), LINEAR, budget=150, seed=0)
    np.testing.assert_array_equal(result.values, alone.values)
    np.testing.assert_array_equal(result.standard_errors, alone.standard_errors)
    assert "not used: the first coalitions" in result.notes[-1]
    assert "not used: the run was shorter" in valued(30).notes[-1]


def test_the_pilot_costs_nothing():
    """A learnt coefficient and the same one given make the same run, within the budget."""
    game = Counted()
    learnt = estimate_with_proxy(game, fs.games.TableGame(PROXY), budget=150, seed=3)
    assert game.asked == learnt.evaluations <= 150
    c = float(learnt.notes[-1].split("c = ")[1].split(",")[0])
    assert 0.5 < c < 0.9
    given = valued(seed=3, c=c, method=None)
    np.testing.assert_allclose(learnt.values, given.values, rtol=1e-2, atol=1e-3)
    assert given.evaluations == learnt.evaluations


def test_the_journal_holds_the_expensive_game(tmp_path):
    """A run is continued, and other methods find its utilities."""
    path, proxy = tmp_path / "values.journal", fs.games.TableGame(PROXY)
    known = fs.exact(proxy)
    whole = estimate_with_proxy(Counted(), proxy, budget=200, proxy_values=known, seed=1)
    for budget in (90, 200):
        game = Counted()
        result = estimate_with_proxy(
            game, proxy, budget=budget, proxy_values=known, seed=1, journal=path
        )
    np.testing.assert_array_equal(result.values, whole.values)
    assert game.asked == result.computed < 130
    again = estimate_with_proxy(Counted(), proxy, budget=200, proxy_values=known, journal=path)
    assert again.seed == 1
    assert again.computed == 0
    other = fs.estimate(Counted(), "adjusted", budget=60, seed=1, journal=path)
    assert other.computed == 0


def test_engines_and_saved_results(tmp_path):
    result = valued(proxy_budget=300)
    chunked = valued(proxy_budget=300, engine=fs.SerialEngine(chunk_size=7))
    np.testing.assert_array_equal(chunked.values, result.values)
    result.save(tmp_path / "result.json")
    assert fs.Result.load(tmp_path / "result.json").configuration == result.configuration
    assert result.method == "proxy"


@pytest.mark.parametrize("semivalue", ["banzhaf", "beta(4,1)", "beta(1,4)"])
def test_semivalues(semivalue):
    """χ² of ten independent seeds on the first player; false alarm 1e-6."""
    truth = fs.exact(fs.games.TableGame(GAME), semivalue).values
    runs = [valued(semivalue=semivalue, seed=seed) for seed in range(10)]
    scores = [(run.values[0] - truth[0]) / run.standard_errors[0] for run in runs]
    assert "c = " in runs[0].notes[-1]
    assert np.square(scores).sum() < chi2.isf(1e-6, 10)


def test_identical_players_share_a_value_that_the_proxy_does_not():
    """Players 0 and 1 are one to the game, not to the proxy; 4.9 standard errors: 1e-6."""
    masks = np.arange(1024)[:, None] >> np.arange(10) & 1
    values = np.sqrt(masks @ np.r_[2.0, 2.0, np.arange(1.0, 9.0)])
    game, proxy = fs.games.TableGame(values), fs.games.TableGame(values + 3.0 * masks[:, 0])
    truth = fs.exact(game).values
    game.identical_players = ((0, 1),)
    result = estimate_with_proxy(game, proxy, budget=200, c=0.5, seed=0)
    assert result.values[0] == result.values[1]
    assert (np.abs(result.values - truth) < 4.9 * result.standard_errors + 1e-9).all()


def test_certificates_rest_on_both_runs():
    known = fs.estimate(fs.games.TableGame(PROXY), "adjusted", budget=300, seed=7)
    result = valued(300, proxy_values=known)
    assert result.obstacle == ""
    assert (result.counts <= known.counts).all()
    assert result.certificate(epsilon1=0.9, delta=0.2, xi=10.0).holds
    doubtful = valued(proxy_values=replace(known, obstacle="it was guessed"))
    assert "it was guessed" in doubtful.certificate(epsilon1=0.9, delta=0.2, xi=10.0).reason


def test_what_cannot_be_is_refused():
    game, proxy = fs.games.TableGame(GAME), fs.games.TableGame(PROXY)
    with pytest.raises(fs.InputError, match="the proxy has 3 players, the game 10"):
        estimate_with_proxy(game, fs.games.Airport([1.0, 2.0, 3.0]), budget=100)
    for c in (np.nan, np.inf, "much"):
        with pytest.raises(fs.InputError, match="c must be a finite number"):
            estimate_with_proxy(game, proxy, budget=100, c=c)
    with pytest.raises(fs.InputError, match="must be a Result"):
        estimate_with_proxy(game, proxy, budget=100, proxy_values=TRUTH)
    with pytest.raises(fs.InputError, match="banzhaf values of 10 players, needed are shapley"):
        estimate_with_proxy(game, proxy, budget=100, proxy_values=fs.exact(proxy, "banzhaf"))
    same = fs.estimate(proxy, "adjusted", budget=100, seed=4)
    with pytest.raises(fs.InputError, match="not independent"):
        estimate_with_proxy(game, proxy, budget=100, proxy_values=same, seed=4)
    with pytest.raises(fs.InputError, match=r"method must be an fs\.RegressionAdjusted"):
        estimate_with_proxy(game, proxy, budget=100, method="mc")
    with pytest.raises(fs.InputError, match="a game is a callable"):
        estimate_with_proxy(game, "logistic", budget=100)


@pytest.mark.parametrize("known", [None, fs.exact(fs.games.TableGame(PROXY))])
@pytest.mark.parametrize("answer", [np.nan, "raise"])
def test_a_proxy_that_fails_is_named(answer, known):
    def fails(coalition):
        if len(coalition) == 5 and answer == "raise":
            raise RuntimeError("too many")
        return answer if len(coalition) == 5 else 1.0

    proxy = fs.games.FunctionGame(fails, N_PLAYERS)
    with pytest.raises(fs.GameError, match="the proxy"):
        estimate_with_proxy(fs.games.TableGame(GAME), proxy, budget=150, proxy_values=known)


def test_the_coefficient_is_that_of_what_is_not_linear():
    """Linear parts of opposite sign would make the plain slope negative."""
    rng = np.random.default_rng(0)
    masks = rng.random((60, 12)) < 0.5
    linear = (masks - 0.5) @ rng.normal(size=12)
    common, noise = rng.normal(size=(2, 60))
    gains, cheap = common + 0.1 * noise - 2 * linear, common + 3 * linear
    assert np.cov(gains, cheap)[0, 1] < 0
    assert coefficient(masks, gains, cheap) == pytest.approx(1.0, abs=0.2)
    for unit in (1e-150, 1e150):
        scaled = coefficient(masks, unit * gains, unit * cheap)
        assert scaled == pytest.approx(coefficient(masks, gains, cheap))
    assert coefficient(masks, gains, 0.0 * cheap) == 0.0
    assert coefficient(masks, noise, cheap) == 0.0
