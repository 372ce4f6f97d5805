"""Evaluations that cost money: budgets, plans of sizes by price, forecasts."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley import errors
from fairshapley.estimators.adjusted.size_plan import SizeWeights
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
    assert sum(paid) == pytest.approx(result.run.cost)
    assert result.run.cost <= limit
    assert f", for {number(result.run.cost, 4)} euros" in str(result)
    if method != "exact":
        assert result.run.cost > 0.7 * limit
        assert result.stopped.startswith("budget of 9,000 euros used up")
    assert fs.Result.from_dict(result.to_dict()).run.cost == result.run.cost


def test_random_draws_cost_each_time():
    noisy = fs.games.Random(
        lambda c, s: utility(c) + np.random.default_rng(s).normal(), 12, cost=price
    )
    result = fs.estimate(noisy, "adjusted", budget=fs.Budget(cost=20_000), seed=0)
    assert 14_000 < result.run.cost <= 20_000


def test_a_journal_replays_a_run_that_cost_ended(tmp_path):
    journal = tmp_path / "j.db"
    options = {"budget": fs.Budget(cost=9000), "journal": journal, "verify": 0}
    result = fs.estimate(game(), "adjusted", seed=0, **options)
    again = fs.estimate(game(), "adjusted", seed=0, **options)
    assert (again.run.computed, again.run.cost) == (0, result.run.cost)
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


def test_forecasts_speak_of_money():
    planned = fs.forecast(game(), budget=500)
    assert planned.cost == pytest.approx(500 * planned.cost_each)
    assert 20 < planned.cost_each < 60
    assert str(planned).endswith("euros")
    limited = fs.forecast(game(), budget=fs.Budget(cost=1000))
    assert limited.evaluations == int(1000 / limited.cost_each)
    assert fs.forecast(fs.games.Airport([1.0, 2.0]), budget=4).cost is None


def test_what_is_wrong_is_said():
    with pytest.raises(errors.InputError, match="needs prices"):
        fs.estimate(fs.games.Airport([1.0, 2.0, 3.0]), "mc", budget=fs.Budget(cost=3))
    with pytest.raises(errors.BudgetError, match="cost"):
        fs.Budget(cost=-1)
    with pytest.raises(errors.BudgetError, match="a cost of up to"):
        fs.estimate(game(), "mc", budget=fs.Budget(cost=100))


class Charging:
    """A service that charges each call."""

    def __init__(self, wrong=()):
        self.paid, self.wrong = [], wrong

    def __call__(self, coalition):
        self.paid.append(price(coalition))
        if coalition in self.wrong:
            raise ValueError("never")
        return utility(coalition)


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_batches_that_fail_are_paid_again(engine, tmp_path):
    log = tmp_path / "paid"

    def fn(coalition):
        with log.open("a") as file:
            file.write(f"{price(coalition)}\n")
        return float("nan") if len(coalition) == 5 else utility(coalition)

    failing = fs.games.FunctionGame(fn, 12, cost=price, key="failing")
    made = fs.ProcessEngine(2, chunk_size=4) if engine == "processes" else fs.SerialEngine()
    options = {"budget": fs.Budget(cost=6000), "seed": 0, "on_error": "skip"}
    try:
        result = fs.estimate(failing, "mc", engine=made, **options)
    finally:
        made.close()
    assert sum(map(float, log.read_text().split())) <= result.run.cost + 1e-6 <= 6000 + 1e-6


def test_what_an_interrupted_round_has_paid_is_in_the_cost():
    fn = Charging(wrong=[(1, 2, 3)])
    broken = fs.games.FunctionGame(fn, 5, cost=price, key="broken")
    with pytest.raises(errors.GameError) as caught:
        fs.estimate(broken, "exact", engine=fs.SerialEngine())
    assert caught.value.partial.run.cost == pytest.approx(sum(fn.paid))


def test_the_ends_and_what_is_verified_are_paid_too(tmp_path):
    with pytest.raises(errors.BudgetError, match=r"v\(∅\) and v\(N\) alone cost 80 euros"):
        fs.estimate(game(), "mc", budget=fs.Budget(cost=79))
    fn = Charging()
    service = fs.games.FunctionGame(fn, 12, cost=price, key="service")
    options = {"budget": fs.Budget(cost=9000), "seed": 0, "journal": tmp_path / "j.db"}
    first = fs.estimate(service, "mc", **options)
    again = fs.estimate(service, "mc", verify=5, **options)
    assert sum(fn.paid) == pytest.approx(
        first.run.cost + again.run.cost - min(first.run.cost, again.run.cost), rel=0.05
    )
    assert again.run.cost <= 9000
    with pytest.raises(errors.BudgetError, match="200 coalitions again"):
        fs.estimate(service, "mc", verify=200, **options | {"budget": fs.Budget(cost=3000)})


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (lambda coalition: 1 / len(coalition), "cost failed .*ZeroDivisionError"),
        (lambda coalition: [1.0, 2.0], "cost must be a positive number"),
        (lambda coalition: float("nan"), "cost must be a positive number"),
    ],
)
def test_a_price_that_is_none_is_said(cost, said):
    with pytest.raises(errors.InputError, match=f"the game's {said}"):
        fs.estimate(fs.games.FunctionGame(utility, 12, cost=cost), budget=100)


def test_prices_and_names_are_no_part_of_what_is_computed():
    plain = fs.games.FunctionGame(utility, 12)
    assert fs.games.fingerprint(game()) == fs.games.fingerprint(plain)
