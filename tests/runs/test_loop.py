"""The run loop: methods, budgets, rules, what is counted, and bad input."""

import math

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.evaluation.evaluator import Evaluator
from fairshapley.runs.loop import Run
from fairshapley.runs.plan import Plan, RunGame, RunLog


@pytest.fixture
def game():
    return fs.games.SumOfUnanimity(12, seed=0)


def test_auto_is_exact_when_everything_fits(game):
    small = fs.games.SumOfUnanimity(8, seed=0)
    assert fs.estimate(small, budget=256).method == "exact"
    assert fs.estimate(small, budget=255, seed=0).method == "adjusted"
    assert fs.estimate(game, budget=fs.Budget(marginals=120), seed=0).method == "mc"


def test_without_a_budget_100_evaluations_per_player_are_allowed_and_said(game):
    result = fs.estimate(game)
    assert 1100 < result.evaluations <= 1200
    assert "1,200 evaluations, 100 per player" in result.notes[0]
    assert not fs.estimate(game, budget=1200).notes


def square_root(coalition):
    return sum(coalition) ** 0.5


@pytest.mark.parametrize("engine", ["serial", "threads:32", "processes:2"])
@pytest.mark.parametrize(
    ("method", "unit"),
    [("auto", 2), ("kernel", 2), ("mc", 11), (fs.MonteCarlo(antithetic=True), 22), ("owen", 13)],
    ids=str,
)
def test_the_budget_is_used_up_to_the_last_unit_on_every_engine(engine, method, unit):
    game = fs.games.FunctionGame(square_root, 12)
    for budget in (60,) if engine == "processes:2" else (60, 61, 333):
        result = fs.estimate(game, method, budget=budget, seed=1, engine=engine)
        left = budget - result.run.computed
        assert 0 <= left < unit
        rest = f" ({left} left, too few for another round)" if left else ""
        assert result.stopped == f"budget of {budget} evaluations used up{rest}"


@pytest.mark.parametrize("method", ["auto", "mc", "sobol", "stratified"])
@pytest.mark.parametrize("engine", ["serial", "threads:32"])
def test_a_run_that_ended_within_a_round_continues_as_one_run(method, engine, tmp_path):
    game = fs.games.FunctionGame(square_root, 12)
    given = {"method": method, "seed": 5, "engine": engine}
    short = fs.estimate(game, budget=301, journal=tmp_path / "j.db", **given)
    longer = fs.resume(tmp_path / "j.db", game, budget=700, engine=engine)
    whole = fs.estimate(game, budget=700, verify=0, **given)
    assert longer.values.tobytes() == whole.values.tobytes()
    assert longer.run.computed == whole.evaluations - short.evaluations
    assert fs.resume(tmp_path / "j.db", run=1).values.tobytes() == short.values.tobytes()


def test_a_money_limit_ends_within_a_round_and_the_journal_proves_it(tmp_path):
    game = fs.games.FunctionGame(square_root, 12, cost=lambda c: 1.0 + len(c), cost_unit="euros")
    budget, journal = fs.Budget(cost=900), tmp_path / "j.db"
    result = fs.estimate(game, "mc", budget=budget, seed=1, engine="threads:32", journal=journal)
    assert 900 - 11 * 12 < result.run.cost <= 900
    assert "left, too little for another round" in result.stopped
    assert fs.verify(result, journal=journal).holds


def test_marginals_are_counted_in_the_papers_unit(game):
    walks = fs.estimate(game, fs.MonteCarlo(), budget=fs.Budget(marginals=480), seed=0)
    assert walks.marginals == walks.counts.sum() <= 480
    assert walks.marginals > 480 - 36
    single = fs.estimate(game, fs.MonteCarlo(walk=False), budget=fs.Budget(marginals=480), seed=0)
    assert single.marginals == single.counts.sum() == 480
    assert single.evaluations <= 960


def test_rules_stop_a_run(game):
    result = fs.estimate(game, "mc", until=fs.Fidelity(at_least=20), seed=0)
    assert result.min_fidelity >= 20
    assert result.stopped.startswith("the minimum fidelity is")
    both = fs.Fidelity(at_least=2) & fs.Fidelity(at_least=3)
    result = fs.estimate(game, "mc", until=both, seed=0)
    assert result.min_fidelity >= 3
    assert "2 asked for, and the minimum" in result.stopped


def test_seconds_stop_a_run_inside_a_round():
    slow = fs.games.FunctionGame(lambda s: __import__("time").sleep(0.01) or float(len(s)), 30)
    result = fs.estimate(slow, "mc", budget=fs.Budget(seconds=1.5), seed=0)
    assert result.run.seconds < 10
    assert "1.5 seconds" in result.stopped
    assert (result.counts > 0).all()


def test_a_method_that_asks_for_nothing_new_is_stopped():
    class Stuck(fs.MonteCarlo):
        def ask(self, state, rng):
            return super().ask(state, np.random.default_rng(0))

    result = fs.estimate(fs.games.SumOfUnanimity(12, seed=0), Stuck(), budget=10_000)
    assert "requests brought no coalition" in result.stopped
    assert result.evaluations < 4096  # of which a longer round has a few more


def test_the_seed_is_recorded_and_repeats_the_run(game):
    one = fs.estimate(game, "mc", budget=500)
    again = fs.estimate(game, "mc", budget=500, seed=one.seed)
    assert one.values.tobytes() == again.values.tobytes()
    assert one.seed != fs.estimate(game, "mc", budget=500).seed


def test_provenance_is_complete(game):
    result = fs.estimate(game, "mc", budget=500, semivalue="beta(4,1)", xi=0.01, seed=5)
    assert result.run.configuration == {
        "method": {"name": "mc", "walk": True, "antithetic": False},
        "semivalue": "beta(4,1)",
        "xi": 0.01,
    }
    assert result.game.fingerprint == fs.games.fingerprint(game)
    assert result.run.limits["budget"] == {"evaluations": 500, "marginals": None, "seconds": None}
    packages = {"python", "fairshapley", "numpy", "scipy", "scikit-learn"}
    assert result.run.versions.keys() == {*packages, "machine"}
    assert result.run.versions["fairshapley"] == fs.__version__


def test_skipped_evaluations_leave_no_silent_trace():
    def fn(coalition):
        return math.nan if coalition == (0,) else float(sum(coalition))

    game = fs.games.FunctionGame(fn, 10)
    with pytest.raises(fs.InputError, match="have no value"):
        fs.estimate(game, "exact", on_error="skip")
    assert fs.estimate(game, on_error="skip", budget=2000, seed=0).method == "adjusted"
    result = fs.estimate(game, "mc", budget=500, seed=0, on_error="skip")
    assert result.run.skipped == 1
    assert "cannot be certified" in result.notes[-1]
    np.testing.assert_allclose(result.values[1:], np.arange(1, 10))
    assert result.counts[0] < result.counts[5]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"budget": -3}, fs.errors.BudgetError, "at least 1"),
        ({"budget": 1.5}, fs.errors.BudgetError, "whole"),
        ({"budget": fs.Budget()}, fs.errors.BudgetError, "empty"),
        ({"budget": 1}, fs.errors.BudgetError, "take 2 evaluations"),
        ({"budget": 10, "method": "mc"}, fs.errors.BudgetError, "11 evaluations beside"),
        ({"budget": fs.Budget(marginals=5), "method": "mc"}, fs.errors.BudgetError, "12 marginals"),
        ({"method": "mcmc"}, fs.InputError, "'exact', 'gae'"),
        ({"method": fs.MonteCarlo}, fs.InputError, "estimator object"),
        ({"until": 100}, fs.InputError, "budget="),
        ({"xi": "small"}, fs.InputError, "xi"),
        ({"seed": -1}, fs.InputError, "seed"),
        ({"on_error": "ignore"}, fs.InputError, "'skip'"),
        ({"verify": 2.5}, fs.InputError, "verify"),
        ({"journal": 5}, fs.InputError, "path"),
    ],
)
def test_bad_arguments_name_the_remedy(game, arguments, error, words):
    with pytest.raises(error, match=words):
        fs.estimate(game, **arguments)


def test_a_budget_that_leaves_players_out_is_refused():
    game = fs.games.Additive(np.ones(100))
    with pytest.raises(fs.errors.BudgetError, match="31 of 100 players"):
        fs.estimate(game, fs.MonteCarlo(walk=False), budget=140, seed=0)


def test_what_is_not_a_game_is_refused():
    for n_players in (0, 2.5):
        game = fs.games.Additive(np.ones(3))
        game.n_players = n_players
        with pytest.raises(fs.InputError, match=r"n_players|at least one player"):
            fs.estimate(game)


def test_exact_as_soon_as_everything_is_known_whatever_the_rule():
    game = fs.games.SumOfUnanimity(3, n_terms=3, sizes=(1, 3), seed=0)
    result = fs.estimate(game, "mc", until=fs.Fidelity(at_least=1e9), seed=0)
    assert result.exact
    assert result.evaluations == 8


def test_nothing_seen_is_not_certainty():
    """A needle in a haystack: until it is found no standard error is claimed."""
    needle = tuple(range(0, 20, 3))
    game = fs.games.FunctionGame(lambda s: float(s == needle), 20)
    result = fs.estimate(game, "mc", until=fs.Fidelity(at_least=100), budget=500, seed=0)
    assert "budget" in result.stopped
    assert np.isnan(result.standard_errors).all()
    assert np.isnan(result.min_fidelity)


def test_what_fits_a_budget_does_not_bias_the_values():
    """Small budgets on a small game, where cheap coalitions abound: no bias at 5 sigma."""
    game = fs.games.FunctionGame(lambda s: float(len(s)) ** 3, 5)
    truth = fs.exact(game).values
    method = fs.MonteCarlo(walk=False)
    values = [fs.estimate(game, method, budget=12, seed=seed).values for seed in range(1500)]
    bias = np.mean(values, axis=0) - truth
    assert (np.abs(bias) < 5 * np.std(values, axis=0) / 1500**0.5).all()


def test_whether_a_budget_is_too_small_does_not_depend_on_the_seed():
    game = fs.games.FunctionGame(lambda s: float(len(s)) ** 3, 5)
    for seed in range(20):
        with pytest.raises(fs.errors.BudgetError, match="10 evaluations beside"):
            fs.estimate(game, fs.MonteCarlo(walk=False), budget=11, seed=seed)


def bare_run(game, method, seed=3, **limits):
    n_players = game.n_players
    plan = Plan(
        game=RunGame(n_players=n_players, n_active=n_players),
        estimator=method,
        semivalue=fs.Shapley(),
        xi=1e-3,
        budget=fs.Budget(**limits),
    )
    return Run(plan, Evaluator(game, n_players), RunLog(None, 0, seed), 0.0)


def test_a_run_in_stretches_is_the_same_run(game):
    """The gates stop before a round; going on starts with that round."""
    run = bare_run(game, fs.MonteCarlo(walk=False), evaluations=500)
    for most in (50, 51, 100, 300):
        said = run.advance(
            lambda draw, most=most: (
                "enough" if run.evaluator.tally.requests + len(draw) > most else None
            )
        )
        assert said == "enough"
        assert most - 24 < run.evaluator.tally.requests <= most  # a round asks for 24
    whole = fs.estimate(game, fs.MonteCarlo(walk=False), budget=500, seed=3)
    np.testing.assert_array_equal(run.execute(False).values, whole.values)
    assert run.evaluator.tally.evaluations == whole.evaluations


def test_a_stretch_goes_on_when_everything_is_known():
    """A budget of marginals may be spent on a game with few coalitions; execution then stops."""
    small = fs.games.SumOfUnanimity(3, seed=0)
    run = bare_run(small, fs.MonteCarlo(), marginals=10_000)
    run.advance(lambda _draw: "enough" if (run.marginals or 0) >= 900 else None)
    assert run.marginals >= 900
    assert run.evaluator.complete
    assert not run.estimate().exact
    assert run.execute(False).exact
    assert run.marginals < 1000


@pytest.mark.parametrize("method", ["auto", "mc"])
@pytest.mark.parametrize("engine", ["serial", "threads:32"])
def test_neither_runs_nor_forecasts_report_more_evaluations_than_the_budget(method, engine):
    game = fs.games.FunctionGame(lambda c: sum(c) ** 1.5, 10)
    noisy = fs.games.Random(lambda c, seed: sum(c) + seed % 7, 10)
    for until in (None, fs.Fidelity(at_least=1e9), fs.Fair(epsilon1=0.01, delta=0.05)):
        given = {"method": method, "budget": 200, "until": until, "seed": 0, "engine": engine}
        for played in (game, noisy):
            assert fs.estimate(played, **given).evaluations <= 200
        assert fs.forecast(game, pilot=False, **given).evaluations <= 200
        planned = fs.forecast(game, pilot=80, **given)
        assert planned.evaluations <= planned.allowed <= 200
        assert "1,024 evaluations" not in planned.sentences()[0]
