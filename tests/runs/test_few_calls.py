"""Few, paid, random calls of plain functions: the door, the answer, and what is counted."""

import functools

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
    named = dict(zip(["two", "five"], weights, strict=True))
    assert fs.exact(lambda chosen: float(sum(map(np.sum, chosen))), players=named)["five"] == 5.0
    tools = fs.exact(len, players=[max, min, "x" * 100])
    assert tools.names() == ("max", "min", "x" * 39 + "…")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_players": 4}, "use 'players'"),
        ({"random_state": 0}, "use 'seed'"),
        ({"nsamples": 60}, "use 'budget'"),
        ({"budgte": 60}, "did you mean 'budget'"),
        ({"players": "abcd"}, "a list of the players"),
        ({}, "players=…|players=\\["),
    ],
)
def test_what_peers_call_it_answers_with_our_name(given, said):
    with pytest.raises(fs.InputError, match=said):
        fs.estimate(basket, **given)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("FunctionGame", "fs.games.FunctionGame"),
        ("KernelSHAP", "'kernel'"),
        ("GameError", "errors"),
    ],
)
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
