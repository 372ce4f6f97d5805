"""Evaluations that cost money: budgets, plans of sizes by price, forecasts."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.evaluation.prices import Prices
from fairshapley.results.wording import number

TOKENS = np.arange(1.0, 13.0)


def utility(coalition):
    return float(len(coalition)) ** 1.5 + 0.1 * sum(coalition)


def price(coalition):
    return 1.0 + float(TOKENS[list(coalition)].sum())


def game(**options):
    return fs.games.FunctionGame(utility, 12, cost=price, cost_unit="euros", **options)


@pytest.mark.parametrize("method", ["mc", "kernel", "adjusted", "auto", "exact"])
def test_a_run_stays_within_its_cost_and_says_what_it_spent(method):
    paid = []

    def fn(coalition):
        paid.append(price(coalition))
        return utility(coalition)

    counted = fs.games.FunctionGame(fn, 12, cost=price, cost_unit="euros", key="counted")
    limit = 200_000 if method == "exact" else 9000
    result = fs.estimate(counted, method, budget=fs.Budget(cost=limit), seed=0, verify=0)
    assert sum(paid) == pytest.approx(result.cost)
    assert result.cost <= limit
    assert f", for {number(result.cost, 4)} euros" in str(result)
    if method != "exact":
        assert result.cost > 0.7 * limit
        assert result.stopped.startswith("the budget of 9,000 euros is spent")
    assert fs.Result.from_dict(result.to_dict()).cost == result.cost


def test_random_draws_cost_each_time():
    noisy = fs.games.Random(
        lambda c, s: utility(c) + np.random.default_rng(s).normal(), 12, cost=price
    )
    result = fs.estimate(noisy, "adjusted", budget=fs.Budget(cost=20_000), seed=0)
    assert 14_000 < result.cost <= 20_000


def test_a_journal_replays_a_run_that_cost_ended(tmp_path):
    journal = tmp_path / "j.db"
    budget = fs.Budget(cost=9000)
    result = fs.estimate(game(), "adjusted", budget=budget, seed=0, journal=journal)
    again = fs.estimate(game(), "adjusted", budget=budget, seed=0, journal=journal)
    assert (again.computed, again.cost) == (0, result.cost)
    again.save(tmp_path / "r.json")
    verified = fs.verify(tmp_path / "r.json", journal=journal)
    assert verified.holds, str(verified)


def test_cheap_sizes_are_drawn_more_often():
    prices = np.linspace(1.0, 100.0, 13)
    plain, priced = (SizeWeights.of(fs.BetaShapley(4, 1), 12, given) for given in (None, prices))
    assert not plain.paired
    expected = plain.base / np.sqrt(prices[1:-1])
    np.testing.assert_allclose(priced.base, expected / expected.sum())
    pairs = SizeWeights.of(fs.Shapley(), 12, prices)
    np.testing.assert_allclose(pairs.base, SizeWeights.of(fs.Shapley(), 12).base)  # all cost alike


@pytest.mark.parametrize("n_players", [1, 2, 5, 70, 300])
def test_prices_of_all_sizes(n_players):
    prices = Prices(lambda masks: 2.0 + masks.sum(axis=1), n_players)
    np.testing.assert_allclose(prices.by_size(), 2.0 + np.arange(n_players + 1))


def test_prices_in_the_plan_make_errors_smaller_for_the_same_money():
    def steep(coalition):
        return 1.0 + 0.02 * len(coalition) ** 4

    rng = np.random.default_rng(0)
    bends = rng.random(12)

    def fn(coalition):
        return float(np.sin(3.0 * bends[list(coalition)].sum()))

    options = {"budget": fs.Budget(cost=20_000), "semivalue": "beta(4,1)", "verify": 0}
    method = fs.RegressionAdjusted(sizes="fixed", border=False, proxy="linear")
    errors = {}
    for name, planned in (("priced", True), ("plain", False)):
        runs = []
        for seed in range(8):
            made = fs.games.FunctionGame(fn, 12, cost=steep)
            if not planned:  # the same on average, and nothing to plan by
                made.cost = Same(steep)
            runs.append(fs.estimate(made, method, seed=seed, **options))
        errors[name] = np.mean([np.square(run.standard_errors).mean() for run in runs])
    assert errors["priced"] < 0.9 * errors["plain"]


class Same:
    """Prices that are told apart only when they are paid: those of a size look alike."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, masks):
        each = np.array([self.fn(np.flatnonzero(row)) for row in masks])
        return np.full(len(masks), 50.0) if len(masks) == 8 * 13 else each


def test_forecasts_speak_of_money():
    planned = fs.forecast(game(), budget=500)
    assert planned.cost == pytest.approx(500 * planned.cost_each)
    assert 20 < planned.cost_each < 60
    assert str(planned).endswith("euros")
    limited = fs.forecast(game(), budget=fs.Budget(cost=1000))
    assert limited.evaluations == int(1000 / limited.cost_each)
    assert fs.forecast(fs.games.Airport([1.0, 2.0]), budget=4).cost is None


def test_what_is_wrong_is_said():
    with pytest.raises(fs.InputError, match="needs prices"):
        fs.estimate(fs.games.Airport([1.0, 2.0, 3.0]), "mc", budget=fs.Budget(cost=3))
    with pytest.raises(fs.errors.BudgetError, match="cost"):
        fs.Budget(cost=-1)
    with pytest.raises(fs.errors.BudgetError, match="a cost of up to"):
        fs.estimate(game(), "mc", budget=fs.Budget(cost=100))
    with pytest.raises(fs.InputError, match="positive number for each"):
        Prices(lambda masks: np.zeros(len(masks)), 3).by_size()
    with pytest.raises(fs.InputError, match="cost must be a function"):
        fs.games.FunctionGame(utility, 12, cost=3.0)


def test_prices_and_names_are_no_part_of_what_is_computed():
    plain = fs.games.FunctionGame(utility, 12)
    assert fs.games.fingerprint(game()) == fs.games.fingerprint(plain)
