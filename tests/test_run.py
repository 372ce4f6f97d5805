"""The run loop: methods, budgets, rules, what is counted, and bad input."""

import math

import numpy as np
import pytest

import fairshapley as fs


@pytest.fixture
def game():
    return fs.games.SumOfUnanimity(12, seed=0)


def test_auto_is_exact_when_everything_fits(game):
    assert fs.estimate(game, budget=4096).method == "exact"
    assert fs.estimate(game, budget=4095, seed=0).method == "mc"


def test_without_a_budget_100_evaluations_per_player_are_allowed_and_said(game):
    result = fs.estimate(game)
    assert 1100 < result.evaluations <= 1200
    assert "1,200 evaluations, 100 per player" in result.notes[0]
    assert not fs.estimate(game, budget=1200).notes


def test_the_budget_is_never_exceeded_and_hardly_wasted(game):
    for budget in (50, 100, 333, 1000):
        result = fs.estimate(game, "mc", budget=budget, seed=budget)
        assert budget - 33 < result.evaluations <= budget
        assert "budget" in result.stopped


def test_evaluations_are_what_the_game_was_asked():
    asked = []

    def fn(coalition):
        asked.append(coalition)
        return float(len(coalition) ** 0.5)

    result = fs.estimate(fs.games.FunctionGame(fn, 10, key="k"), "mc", budget=500, seed=0)
    assert len(asked) == len(set(asked)) == result.evaluations == result.computed
    assert result.cache_hits > 0


def test_marginals_are_counted_in_the_papers_unit(game):
    walks = fs.estimate(game, fs.MonteCarlo(), budget=fs.Budget(marginals=480), seed=0)
    assert walks.marginals == walks.counts.sum() <= 480
    assert walks.marginals > 480 - 36
    single = fs.estimate(game, fs.MonteCarlo(walk=False), budget=fs.Budget(marginals=480), seed=0)
    assert single.marginals == single.counts.sum() == 480
    assert single.evaluations <= 960


def test_marginals_have_no_meaning_for_exact_values(game):
    with pytest.raises(fs.InputError, match="budget of evaluations"):
        fs.estimate(game, "exact", budget=fs.Budget(marginals=100))


def test_players_take_turns_in_single_marginals():
    game = fs.games.Additive(np.arange(100.0))
    result = fs.estimate(game, fs.MonteCarlo(walk=False), budget=fs.Budget(marginals=640), seed=0)
    assert set(result.counts.tolist()) == {6, 7}


def test_rules_stop_a_run(game):
    result = fs.estimate(game, "mc", until=fs.Fidelity(at_least=20), seed=0)
    assert result.min_fidelity >= 20
    assert result.stopped.startswith("the minimum fidelity is")
    both = fs.Evaluations(at_least=200) & fs.Marginals(at_least=500)
    result = fs.estimate(game, "mc", until=both, seed=0)
    assert result.evaluations >= 200
    assert result.marginals >= 500
    result = fs.estimate(game, "mc", until=fs.Evaluations(at_least=9999), budget=100, seed=0)
    assert result.evaluations <= 100


def test_seconds_stop_a_run_inside_a_round():
    slow = fs.games.FunctionGame(lambda s: __import__("time").sleep(0.01) or float(len(s)), 30)
    result = fs.estimate(slow, "mc", budget=fs.Budget(seconds=1.5), seed=0)
    assert result.seconds < 10
    assert "1.5 seconds" in result.stopped
    assert (result.counts > 0).all()


def test_a_method_that_asks_for_nothing_new_is_stopped():
    class Stuck(fs.MonteCarlo):
        def ask(self, state, rng):
            return super().ask(state, np.random.default_rng(0))

    result = fs.estimate(fs.games.SumOfUnanimity(12, seed=0), Stuck(), budget=10_000)
    assert "requests brought no coalition" in result.stopped
    assert result.evaluations < 100


def test_the_seed_is_recorded_and_repeats_the_run(game):
    one = fs.estimate(game, "mc", budget=500)
    again = fs.estimate(game, "mc", budget=500, seed=one.seed)
    assert one.values.tobytes() == again.values.tobytes()
    assert one.seed != fs.estimate(game, "mc", budget=500).seed


def test_provenance_is_complete(game):
    result = fs.estimate(game, "mc", budget=500, semivalue="beta(4,1)", xi=0.01, seed=5)
    assert result.configuration == {
        "method": {"name": "mc", "walk": True, "antithetic": False},
        "semivalue": "beta(4.0,1.0)",
        "xi": 0.01,
    }
    assert result.fingerprint == fs.games.fingerprint(game)
    assert result.versions.keys() == {"python", "fairshapley", "numpy", "scipy"}
    assert result.versions["fairshapley"] == fs.__version__


@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf", "beta(16,1)"])
@pytest.mark.parametrize("method", ["auto", "mc", fs.MonteCarlo(walk=False), "exact"])
def test_one_player_gets_everything(method, semivalue):
    game = fs.games.TableGame([2.0, 5.0])
    result = fs.estimate(game, method, budget=2, semivalue=semivalue)
    assert result.values.tolist() == [3.0]
    assert result.exact


def test_player_names_travel(game):
    named = fs.games.TableGame([0, 1, 2, 3], player_names=["ann", "<b>"])
    assert fs.estimate(named).player_names == ("ann", "<b>")


def test_skipped_evaluations_leave_no_silent_trace():
    def fn(coalition):
        return math.nan if coalition == (0,) else float(sum(coalition))

    game = fs.games.FunctionGame(fn, 10)
    with pytest.raises(fs.GameError, match=r"\(0,\)") as caught:
        fs.estimate(game, "mc", budget=500, seed=0)
    assert caught.value.partial.complete is False
    result = fs.estimate(game, "mc", budget=500, seed=0, on_error="skip")
    assert result.skipped == 1
    assert "cannot be certified" in result.notes[-1]
    np.testing.assert_allclose(result.values[1:], np.arange(1, 10))
    assert result.counts[0] < result.counts[5]


def test_a_failure_leaves_the_partial_result():
    calls = []

    def fn(coalition):
        calls.append(coalition)
        if len(calls) > 200:
            raise RuntimeError("out of licences")
        return float(len(coalition))

    with pytest.raises(fs.GameError, match="out of licences") as caught:
        fs.estimate(fs.games.FunctionGame(fn, 20, key="k"), "mc", budget=1000, seed=0)
    np.testing.assert_allclose(caught.value.partial.values, 1.0)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"budget": 0}, fs.BudgetError, "positive"),
        ({"budget": -3}, fs.BudgetError, "positive"),
        ({"budget": 1.5}, fs.BudgetError, "whole"),
        ({"budget": fs.Budget()}, fs.BudgetError, "empty"),
        ({"budget": 1}, fs.BudgetError, "take 2 evaluations"),
        ({"budget": 10, "method": "mc"}, fs.BudgetError, "11 evaluations beside"),
        ({"budget": fs.Budget(marginals=5), "method": "mc"}, fs.BudgetError, "12 marginals"),
        ({"method": "mcmc"}, fs.InputError, "'exact', 'mc'"),
        ({"until": 100}, fs.InputError, "budget="),
        ({"xi": -1}, fs.InputError, "xi"),
        ({"xi": "small"}, fs.InputError, "xi"),
        ({"seed": -1}, fs.InputError, "seed"),
        ({"semivalue": "owen"}, fs.InputError, "banzhaf"),
        ({"engine": "clusters"}, fs.InputError, "engine"),
        ({"on_error": "ignore"}, fs.InputError, "'skip'"),
        ({"verify": -1}, fs.InputError, "verify"),
    ],
)
def test_bad_arguments_name_the_remedy(game, arguments, error, words):
    with pytest.raises(error, match=words):
        fs.estimate(game, **arguments)


def test_a_budget_that_leaves_players_out_is_refused():
    game = fs.games.Additive(np.ones(100))
    with pytest.raises(fs.BudgetError, match="36 of 100 players"):
        fs.estimate(game, fs.MonteCarlo(walk=False), budget=140, seed=0)


def test_what_is_not_a_game_is_refused():
    with pytest.raises(fs.InputError, match="FunctionGame"):
        fs.estimate(lambda masks: masks.sum(axis=1))
    for n_players in (0, -1, 2.5, "3"):
        game = fs.games.Additive(np.ones(3))
        game.n_players = n_players
        with pytest.raises(fs.InputError, match=r"n_players|at least one player"):
            fs.estimate(game)


def test_antithetic_needs_walks():
    with pytest.raises(fs.InputError, match="whole walks"):
        fs.MonteCarlo(walk=False, antithetic=True)


def test_walks_and_their_reverses_cancel_pairwise_interactions():
    """On a game of pairs each walk with its reverse gives the exact values."""
    pairs = np.triu(np.random.default_rng(0).normal(size=(15, 15)), 1)
    game = fs.games.FunctionGame(lambda s: float(pairs[np.ix_(s, s)].sum()), 15)
    result = fs.estimate(game, fs.MonteCarlo(antithetic=True), budget=100, seed=0)
    np.testing.assert_allclose(result.values, (pairs + pairs.T).sum(axis=1) / 2)
