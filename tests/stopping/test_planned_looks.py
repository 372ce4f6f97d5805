"""A run that is to become fair makes estimates at its planned looks, not after every round."""

import fairshapley as fs
from fairshapley.fairness.levels import spent_share

FAIR = fs.Fair(epsilon1=0.1, delta=0.1, xi=1e-3)


def test_estimates_are_few(monkeypatch):
    calls = []
    plain = fs.MonteCarlo.estimate

    def counted(self, state):
        calls.append(state.told)
        return plain(self, state)

    monkeypatch.setattr(fs.MonteCarlo, "estimate", counted)
    game = fs.games.SumOfUnanimity(20, seed=1)
    near = fs.Fair(epsilon1=0.3, delta=0.1, xi=0.1)
    result = fs.estimate(game, "mc", until=near, budget=5000, seed=0)
    assert len(calls) == len(set(calls)), "between two rounds an estimate is computed once"
    rounds = int(result.counts.max())
    assert rounds > 150
    # Planned looks, those of the history, and rounds until there is enough to look at.
    assert len(calls) < rounds / 4


def test_a_rule_waits_from_one_planned_look_to_the_next():
    shares = [spent_share(evaluations, 100) for evaluations in range(1, 5001)]
    assert shares[198] == 0 < shares[199]
    for last, now in ((2000, 2100), (2000, 2300), (3300, 3340)):
        same = shares[last - 1] == shares[now - 1]
        assert FAIR.waits(now, last, 100) is same
    assert not FAIR.waits(5000, 1, 100)


def test_rules_that_look_freely_never_wait():
    assert FAIR.waits(10, 10, 100)
    assert not fs.Fidelity(at_least=10).waits(10, 10, 100)
