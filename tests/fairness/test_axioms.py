"""F1–F3 by enumeration: premises found where planted, violations found where made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs
from fairshapley.draws import AllCoalitions
from fairshapley.fairness import check_axioms, desirable_pairs, null_players, symmetric_pairs


def table_of(game):
    return game(AllCoalitions(game.n_players).masks(0, 1 << game.n_players))


def slow_swap(table, i, j):
    """v(C ∪ {i}) − v(C ∪ {j}) for every C without i and j, one by one."""
    masks = [m for m in range(len(table)) if not (m >> i & 1 or m >> j & 1)]
    return [table[m | 1 << i] - table[m | 1 << j] for m in masks]


@given(arrays(np.float64, 16, elements=st.sampled_from([0.0, 1.0])))
def test_premises_agree_with_the_definitions(table):
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    swaps = {pair: slow_swap(table, *pair) for pair in pairs}
    assert set(symmetric_pairs(table)) == {
        (i, j) for (i, j) in pairs if i < j and not any(swaps[i, j])
    }
    assert set(desirable_pairs(table)) == {
        pair for pair in pairs if min(swaps[pair]) >= 0 and max(swaps[pair]) > 0
    }
    assert set(desirable_pairs(table, strict_everywhere=True)) == {
        pair for pair in pairs if min(swaps[pair]) > 0
    }
    nulls = [i for i in range(4) if all(table[m | 1 << i] == table[m] for m in range(16))]
    assert list(null_players(table)) == nulls


def test_planted_players_are_found():
    game = fs.games.PlantedGame(10, seed=3)
    table = table_of(game)
    slack = 1e-12
    assert set(game.null_players) <= set(null_players(table, tolerance=slack))
    found = {frozenset(pair) for pair in symmetric_pairs(table, tolerance=slack)}
    assert {frozenset(pair) for pair in game.duplicate_pairs} <= found
    strict = set(desirable_pairs(table, strict_everywhere=True, tolerance=slack))
    assert set(game.dominated_pairs) <= strict
    assert all(check.premises for check in check_axioms(table, game.shapley_values))
    assert all(check.holds for check in check_axioms(table, game.shapley_values))


def test_each_violation_is_found():
    game = fs.games.PlantedGame(10, seed=3)
    table = table_of(game)
    for axiom, player in (
        (0, game.null_players[0]),
        (1, game.duplicate_pairs[0][0]),
        (2, game.dominated_pairs[0][0]),
    ):
        values = np.array(game.shapley_values)
        values[player] -= 100.0
        check = check_axioms(table, values)[axiom]
        assert not check.holds
        assert any(player in case for case in check.violations)
        assert "violated" in str(check)


def test_estimates_break_symmetry():
    """The paper's point: two identical players get different estimates."""
    game = fs.games.PlantedGame(12, seed=3)
    estimate = fs.estimate(game, "mc", budget=100, seed=0)
    assert not check_axioms(table_of(game), estimate.values)[1].holds


@pytest.mark.parametrize("table", [[], [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_bad_tables_are_refused(table):
    with pytest.raises(fs.InputError, match="utilities"):
        null_players(table)


def test_values_must_match_the_table():
    with pytest.raises(fs.InputError, match="2 players"):
        check_axioms([0, 1, 2, 3], [1.0])
