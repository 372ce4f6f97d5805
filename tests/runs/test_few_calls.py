"""Few, paid, random calls of plain functions: the door, the answer, and what is counted."""

import functools
import re

import numpy as np
import pytest

import fairshapley as fs

FRUIT = {"apple": 3.0, "pear": -2.0, "plum": 0.5, "fig": 0.0}


def basket(chosen):
    return sum(FRUIT[name] for name in chosen) + 0.25 * ("plum" in chosen and "fig" in chosen)


async def awaited(chosen):
    return basket(chosen)


def with_a_seed(chosen, seed):
    return basket(chosen) + 1e-3 * np.random.default_rng(seed).normal()


@pytest.mark.parametrize("function", [basket, awaited, with_a_seed, functools.partial(basket)])
def test_a_plain_function_of_its_players_is_valued(function):
    result = fs.estimate(function, players=[*FRUIT], budget=60, seed=0)
    assert result.names() == tuple(FRUIT)
    assert result["apple"] == pytest.approx(3.0, abs=0.01)
    assert result["plum"] == result[2] == pytest.approx(0.625, abs=0.01)
    assert result["pear"] == pytest.approx(-2.0, abs=0.01)


def test_players_are_objects_with_names():
    weights = [np.array([2.0]), np.array([5.0])]
    result = fs.exact(lambda chosen: float(sum(map(np.sum, chosen))), players=weights)
    assert result.names() == ("0", "1")
    assert (result["0"], result["1"]) == (2.0, 5.0)
    tools = fs.exact(len, players=[max, min, "x" * 100])
    assert tools.names() == ("max", "min", "x" * 39 + "…")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_players": 4}, "use 'players'"),
        ({"budgte": 60}, "did you mean 'budget'"),
        ({"players": "abcd"}, "a list of the players"),
        ({}, "players=…|players=\\["),
    ],
)
def test_what_peers_call_it_answers_with_our_name(given, said):
    with pytest.raises(fs.InputError, match=said):
        fs.estimate(basket, **given)


@pytest.mark.parametrize(("theirs", "ours"), [("KernelSHAP", "'kernel'"), ("GameError", "errors")])
def test_names_of_peers_answer_with_ours(theirs, ours):
    with pytest.raises(AttributeError, match=ours):
        getattr(fs, theirs)


def test_names_that_are_not_there_or_twice_are_refused():
    twice = fs.exact(len, players=["a", "a", "b"])
    with pytest.raises(fs.InputError, match="several players"):
        twice["a"]
    with pytest.raises(fs.InputError, match=r"no player.*did you mean 'apple'"):
        fs.exact(basket, players=[*FRUIT])["aple"]
    with pytest.raises(fs.InputError, match="no player"):
        twice[3]


def saturating(chosen):
    return 1.0 - 0.6 ** sum(1 + (player % 3) for player in chosen)


@pytest.mark.parametrize("until", [None, fs.Decided(top=3)])
@pytest.mark.parametrize("n_players", [4, 15, 40])
def test_print_begins_with_the_values_and_has_15_lines(until, n_players):
    players = range(n_players)
    result = fs.estimate(saturating, players=players, budget=60, until=until, seed=0)
    for lines in (str(result).splitlines(), repr(result).splitlines()):
        assert len(lines) <= 15
        best = int(np.argmax(result.values))
        assert lines[1].split()[0] == str(best)
        assert float(lines[1].split()[1]) == pytest.approx(result[best], rel=1e-3)
        terms = [at for at, line in enumerate(lines) if "fidelity" in line]
        assert not terms or terms[0] > min(n_players, 8)
    said = "".join([str(result), repr(result), result._repr_html_(), str(result.findings())])
    assert "inf" not in said


def test_grades_say_who_helps_and_who_hurts():
    result = fs.exact(basket, players=FRUIT.keys())
    assert result.findings().grades[:2] == ("clearly helps", "clearly hurts")
    assert fs.exact(lambda chosen: 0.0, players=["a"]).findings().grades == ("no effect",)
    noise = fs.estimate(with_a_seed, players=[*FRUIT], budget=60, seed=0).findings().grades
    assert noise[:2] == ("clearly helps", "clearly hurts")


def shaky(sigma, seed):
    """A function that is random and does not say so."""
    chance = np.random.default_rng(seed)
    return lambda chosen: saturating(chosen) + sigma * chance.normal()


@pytest.mark.parametrize(("n_players", "method"), [(5, "auto"), (12, "auto"), (12, "kernel")])
def test_noise_that_is_not_declared_is_in_the_errors(n_players, method):
    truth = fs.exact(saturating, players=range(n_players)).values
    apart, grades = [], []
    for seed in range(16):
        function = shaky(0.1, seed)
        result = fs.estimate(function, method, players=range(n_players), budget=60, seed=seed)
        assert "not reproducible" in str(result)
        assert not result.exact
        assert not result.findings().certificate.holds
        apart += list((result.values - truth) / result.standard_errors)
        grades += list(result.findings().grades)
    assert np.mean(np.abs(apart) < 1.96) >= 0.93
    assert "no effect" not in grades
    assert "clearly hurts" not in grades


@pytest.mark.parametrize(("n_players", "budget"), [(15, 60), (4, 60), (15, 22), (15, None)])
def test_repeats_are_within_the_budget_and_counted(n_players, budget):
    calls = []

    def counted(chosen):
        calls.append(chosen)
        return saturating(chosen)

    limits = fs.Budget(cost=0.6) if budget is None else budget
    game = fs.games.FunctionGame(counted, players=range(n_players), cost=lambda chosen: 0.01)
    result = fs.estimate(game, "kernel" if n_players > 4 else "auto", budget=limits, seed=0)
    repeats = len(calls) - len(set(calls))
    assert len(calls) == result.run.computed <= (budget or 60)
    assert repeats == (4 if budget != 22 and n_players > 4 else 0)
    assert (f"({len(calls)} calls)" in str(result)) == bool(repeats)
    planned = "".join(fs.forecast(game, budget=60).sentences())
    assert ("4 calls are made again" in planned) == (n_players > 4)


def test_a_forecast_says_what_a_pilot_costs_and_calls_once():
    calls = []
    game = fs.games.FunctionGame(
        lambda chosen: float(len(calls.append(chosen) or chosen)),
        players=range(15),
        cost=lambda chosen: 0.01,
        cost_unit="euros",
    )
    planned = fs.forecast(game, budget=fs.Budget(cost=1.0))
    assert len(calls) == 1
    assert "a pilot (pilot=True) would make 100 calls, for about 1 euros" in planned.sentences()
    calls.clear()
    fs.forecast(game, "kernel", budget=fs.Budget(cost=0.5), pilot=True, seed=0)
    assert len(calls) <= 51


def test_the_budget_that_a_result_names_repeats_a_run_of_your_own_function():
    """Some calls of such a function are made again at the end, within a budget of evaluations."""
    worth = np.random.default_rng(0).random(30)

    game = fs.games.FunctionGame(lambda chosen: float(np.sqrt(worth[list(chosen)].sum())), 30)
    for _ in range(5):  # a machine that slows down in the midst stops a run between two rungs
        first = fs.estimate(game, "mc", budget=fs.Budget(seconds=0.5, rungs=True), seed=0)
        if found := re.search(r"a budget of (\d+) repeats", first.stopped):
            break
    named = int(found.group(1))
    again = fs.estimate(game, "mc", budget=named, seed=0)
    np.testing.assert_array_equal(again.values, first.values)
