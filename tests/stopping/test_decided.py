"""Decisions as aims: they stop runs early, are right, and end although players are equal."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.stopping import rule_from_configuration

GAME = fs.games.Airport(np.array([1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 30, 31, 60, 90]) / 10.0)

NEIGHBOURS = [(i, (i + 1) % 30) for i in range(30)]
EQUAL = fs.games.SumOfUnanimity(30, coalitions=NEIGHBOURS, weights=np.ones(30))


@pytest.mark.parametrize(
    "aim", [{"signs": True}, {"top": 2}, {"bottom": 4}, {"order": True}, {"top": 1}]
)
def test_a_decision_is_right_and_cheaper_than_the_end(aim):
    rule = fs.Decided(**aim, delta=0.1)
    xi = 0.3
    wrong = 0
    for seed in range(4):
        run = fs.estimate(GAME, "mc", until=rule, budget=12_000, xi=xi, seed=seed)
        assert run.stopped.startswith("decided at δ = 0.1")
        assert run.decided(**aim)
        assert not run.run.sequential
        found, truth = run.values, GAME.shapley_values
        if "signs" in aim:
            wrong += bool(((found > 0) != (truth > 0))[truth > xi].any())
        else:
            k = aim.get("top") or aim.get("bottom") or 14
            sign = 1 if "bottom" in aim else -1
            chosen = np.argsort(sign * found, kind="stable")[:k]
            others = np.setdiff1d(np.arange(14), chosen)
            if len(others):
                wrong += (sign * truth[chosen]).max() > (sign * truth[others]).min() + xi
            else:
                wrong += (np.diff(truth[chosen]) > xi).any()
    # Three wrong of four have a probability of 0.4 % at δ itself.
    assert wrong <= 2
    assert run.evaluations < 12_000


def test_equal_players_do_not_keep_a_run_going():
    """All values are 1: the order is that of ties, settled once differences are within ξ."""
    run = fs.estimate(EQUAL, "mc", until=fs.Decided(top=5), xi=0.5, seed=0)
    assert run.stopped.startswith("decided")
    assert run.stopped.endswith("what differs by no more than ξ = 0.5 may go either way")
    clear = fs.estimate(fs.games.Airport([1.0, 2.0, 9.0]), "mc", until=fs.Decided(top=1), seed=0)
    assert "either way" not in clear.stopped
    hopeless = fs.estimate(EQUAL, "mc", until=fs.Decided(order=True), budget=3000, xi=0, seed=0)
    assert "would take" in hopeless.stopped


def test_a_run_without_budget_is_given_up_with_a_word(monkeypatch):
    monkeypatch.setattr(fs.Decided, "_most_per_player", 50)
    run = fs.estimate(EQUAL, "mc", until=fs.Decided(order=True), xi=0, seed=0)
    assert run.stopped.startswith("given up after")
    assert "give a larger ξ, or a budget" in run.stopped


def test_it_is_kept_in_journals_and_combines(tmp_path):
    rule = fs.Decided(bottom=3, delta=0.2) & fs.Fidelity(at_least=100)
    assert rule_from_configuration(rule.configuration()) == rule
    one = fs.estimate(
        GAME, "mc", until=fs.Decided(top=1), budget=5000, seed=1, journal=tmp_path / "j.db"
    )
    again = fs.resume(tmp_path / "j.db", GAME)
    assert again.stopped == one.stopped
    free = fs.Decided(top=1) | fs.Fidelity(at_least=1e9)
    held = fs.estimate(GAME, "mc", until=free, budget=4000, seed=1)
    assert held.run.sequential
    assert held.decided(top=1) == held.stopped.startswith("decided")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({}, "give one of signs=True, top=k"),
        ({"top": 2, "signs": True}, "two things at once"),
        ({"top": 2.5}, "top"),
        ({"top": 2, "delta": 1}, "delta"),
    ],
)
def test_bad_aims_are_refused(bad, words):
    with pytest.raises(fs.InputError, match=words):
        fs.Decided(**bad)


def test_there_must_be_something_to_decide():
    for aim in ({"top": 14}, {"bottom": 20}):
        with pytest.raises(fs.InputError, match="give a number below 14"):
            fs.estimate(GAME, until=fs.Decided(**aim), budget=100)
