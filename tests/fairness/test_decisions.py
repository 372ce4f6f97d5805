"""Signs, differences, orders and the top k: right by definition, and true often enough."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.fairness import Decisions

intervals = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=7)


def decisions(pairs):
    lower = np.array([low for low, _ in pairs], dtype=float)
    return Decisions(lower, lower + [width for _, width in pairs], 0.1)


@given(intervals, st.data())
def test_every_statement_is_true_of_all_values_inside(pairs, data):
    known = decisions(pairs)
    n = len(pairs)
    values = np.array([data.draw(st.floats(low, low + width)) for low, width in pairs], dtype=float)
    for i in range(n):
        assert known.signs()[i] in (0, np.sign(values[i]))
        for j in range(n):
            low, high = known.difference(i, j)
            assert low <= values[i] - values[j] <= high
            order = known.order(i, j)
            assert order == 0 or np.sign(values[i] - values[j]) == order
    k = data.draw(st.integers(1, n))
    top = known.top(k)
    threshold = np.sort(values)[-k]
    assert all(values[player] >= threshold for player in top.certain)
    others = set(range(n)) - set(top.certain) - set(top.possible)
    if not top.settled:
        assert all(values[player] <= threshold for player in others)
    assert len(top.certain) <= k <= len(top.certain) + len(top.possible)


def test_exact_values_settle_everything():
    known = fs.exact(fs.games.Airport([1.0, 2.0, 4.0, 4.0])).decisions()
    assert known.order(1, 0) == 1
    assert known.order(2, 3) == 0
    assert known.top(2).settled
    assert set(known.top(2).certain) == {2, 3}
    assert known.top(3).settled
    assert known.signs().tolist() == [1, 1, 1, 1]


def test_statements_fail_as_rarely_as_stated():
    """400 runs at δ = 0.2: at most 80 + 2.5·√(400·0.2·0.8) = 100 may contain a false one."""
    game = fs.games.SumOfUnanimity(10, seed=4)
    truth = game.shapley_values
    failures = claims = 0
    for seed in range(400):
        known = fs.estimate(game, "mc", budget=fs.Budget(marginals=1000), seed=seed).decisions(0.2)
        inside = (known.lower <= truth) & (truth <= known.upper)
        signs = known.signs()
        assert (np.sign(truth)[inside] * signs[inside] >= 0).all()
        failures += not inside.all()
        claims += np.abs(signs).sum()
    assert failures <= 100
    assert claims > 400


def test_bad_questions_are_refused():
    known = decisions([(0, 1), (2, 1)])
    with pytest.raises(fs.InputError, match="no player"):
        known.order(0, 9)
    with pytest.raises(fs.InputError, match="from 1 to 2"):
        known.top(0)


def test_decisions_are_readable_in_console_and_notebook():
    named = Decisions(np.array([-2.0, 1.0]), np.array([-1.0, 3.0]), 0.1, ("<b>", "Ann"))
    assert str(named).splitlines() == [
        "2 intervals; with a probability of at least 0.9 all of them hold",
        "Ann: 1 to 3, above zero",
        "<b>: -2 to -1, below zero",
    ]
    assert "&lt;b&gt;" in named._repr_html_()
    assert "<b>" not in named._repr_html_()
    assert "… 80 more" in str(Decisions(np.zeros(100), np.ones(100), 0.1))


def test_a_player_without_an_interval_is_not_known():
    """No infinity is printed, and no warning raised."""
    game = fs.games.FunctionGame(lambda s: float(sum(i < 12 for i in s) >= 10) + 0.02 * len(s), 13)
    found = fs.estimate(game, "mc", budget=400, seed=0).decisions()
    assert np.isinf(found.upper).tolist() == [False] * 12 + [True]
    assert "player 12: not known, sign open" in str(found)
    assert "inf" not in str(found) + found._repr_html_()
    assert found.order(0, 12) == 0
    assert 12 in found.top(1).possible
    assert found.settled_pairs() == 0
