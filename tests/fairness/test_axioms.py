"""F1–F3 by enumeration: premises found where planted, violations found where made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs
from fairshapley.draws import AllCoalitions
from fairshapley.fairness import check_axioms, desirable_pairs, null_players, symmetric_pairs
from fairshapley.fairness.axioms import check_fairness, within_tolerance


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
    game = fs.testing.PlantedGame(10, seed=3)
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
    game = fs.testing.PlantedGame(10, seed=3)
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
    """The paper's point: identical players get different estimates, unless they are declared."""
    game = fs.testing.PlantedGame(12, seed=3)
    table = table_of(game)
    undeclared = fs.estimate(fs.games.TableGame(table), "mc", budget=100, seed=0)
    assert not check_axioms(table, undeclared.values)[1].holds
    declared = fs.estimate(game, "mc", budget=100, seed=0)
    assert check_axioms(table, declared.values)[1].holds


@pytest.mark.parametrize("table", [[], [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_bad_tables_are_refused(table):
    with pytest.raises(fs.InputError, match="utilities"):
        null_players(table)


# A0–A3, of estimates


@st.composite
def estimates_within_a0(draw):
    """Values with ties and nulls, tolerances, and estimates anywhere inside A0, ends included."""
    n_players = draw(st.integers(1, 8))
    level = st.sampled_from([-2.5, 0.0, 0.0, 1.0, 1.0, 1.0 + 1e-13, 3e-11, 0.1, 1e4])
    truth = draw(arrays(np.float64, n_players, elements=level))
    epsilon1 = draw(st.floats(1e-6, 1e6))
    xi = draw(st.sampled_from([0.0, 1e-3, 1.0, 1e5]))
    share = draw(
        arrays(np.float64, n_players, elements=st.floats(-1, 1) | st.sampled_from([-1, 1]))
    )
    estimate = truth + share * (epsilon1 * np.abs(truth) + epsilon1 * xi)
    return truth, estimate, epsilon1, xi


@given(estimates_within_a0())
def test_closeness_of_all_implies_the_three_axioms(case):
    """The step from A0 to A1–A3 in the proof of Proposition 1, at any ε1 and ξ."""
    truth, estimate, epsilon1, xi = case
    inside = within_tolerance(estimate, truth, epsilon1, xi)
    # φ + t rounds: where A0 fails by a rounding error, the exact value is as close as can be.
    estimate = np.where(inside, estimate, truth)
    assert within_tolerance(estimate, truth, epsilon1, xi).all()
    stronger = [(i, j) for i, a in enumerate(truth) for j, b in enumerate(truth) if a > b]
    checks = check_fairness(
        estimate, truth=truth, epsilon1=epsilon1, xi=xi, desirable_pairs=stronger
    )
    assert all(check.holds for check in checks)
    assert len(checks[2].premises) == len(stronger)


@given(arrays(np.float64, st.integers(1, 7), elements=st.sampled_from([0.0, 1.0, -1.0, 2.0])))
def test_premises_are_found_from_the_truth(truth):
    nullity, symmetry, desirability = check_fairness(truth, truth=truth, epsilon1=0.1, xi=0.0)
    n_players = len(truth)
    assert nullity.premises == tuple((i,) for i in range(n_players) if truth[i] == 0)
    assert symmetry.premises == tuple(
        (i, j) for i in range(n_players) for j in range(i + 1, n_players) if truth[i] == truth[j]
    )
    assert desirability.premises == ()


def test_values_equal_up_to_rounding_are_equal():
    truth = [0.1 + 0.2, 0.3, 1e-14, 0.3 + 1e-6]
    nullity, symmetry, _ = check_fairness(truth, truth=truth, epsilon1=0.1, xi=0.0)
    assert nullity.premises == ((2,),)
    assert symmetry.premises == ((0, 1),)
    exact = check_fairness(truth, truth=truth, epsilon1=0.1, xi=0.0, tolerance=0.0)
    assert all(check.premises == () for check in exact)


TRUTH = [2.0, 2.0, 0.0, 1.0]
# At ε1 = 0.1 and ξ = 0.5 the tolerances are 0.25, 0.25, 0.05 and 0.15.
FAIR = {"epsilon1": 0.1, "xi": 0.5, "truth": TRUTH, "desirable_pairs": [(0, 3)]}


@pytest.mark.parametrize(
    ("values", "broken"),
    [
        ([2.0, 2.0, 0.0, 1.0], []),
        ([1.8, 2.29, -0.049, 1.0], []),
        ([2.0, 2.0, 0.051, 1.0], [(2,)]),
        ([1.75, 2.2501, 0.0, 1.0], [(0, 1)]),  # 0.5001 over 0.5
        ([1.0, 1.0, 0.0, 1.39], []),  # 0.39 under 0.4
        ([1.0, 1.0, 0.0, 1.41], [(0, 3)]),
    ],
)
def test_each_axiom_holds_up_to_its_tolerance_and_no_further(values, broken):
    checks = check_fairness(values, **FAIR)
    assert [case for check in checks for case in check.violations] == broken
    assert [check.axiom[:2] for check in checks] == ["A1", "A2", "A3"]
    assert [len(check.premises) for check in checks] == [1, 1, 1]


def test_axioms_can_hold_where_closeness_fails():
    """The converse of the lemma is false: a common shift keeps A2 and A3."""
    shifted = [5.0, 5.0, 0.0, 1.0]
    assert within_tolerance(shifted, TRUTH, 0.1, 0.5).tolist() == [False, False, True, True]
    assert all(check.holds for check in check_fairness(shifted, **FAIR))


def test_what_is_known_of_the_game_takes_the_place_of_the_truth():
    known = {"null_players": [2], "symmetric_pairs": [(0, 1)], "desirable_pairs": [(0, 3)]}
    # Plug-in tolerances at ε1 = 0.1, ξ = 0.5: 0.15 + 0.185 for the pair (0, 1), A1 has ε2 = 0.05.
    values = [1.0, 1.35, 0.06, 1.2]
    nullity, symmetry, desirability = check_fairness(values, epsilon1=0.1, xi=0.5, **known)
    assert nullity.violations == ((2,),)
    assert symmetry.violations == ((0, 1),)
    assert desirability.holds  # −0.2 against −(0.15 + 0.17)
    low = check_fairness([1.0, 1.3, 0.05, 1.5], epsilon1=0.1, xi=0.5, **known)
    assert [check.holds for check in low] == [True, True, False]
    assert not any(check.premises for check in check_fairness(values, epsilon1=0.1, xi=0.5))
    # With ε1 ≥ 1 the plug-in of A2 cannot fail, as documented.
    assert check_fairness([-9.0, 9.0], epsilon1=1.0, xi=0.0, symmetric_pairs=[(0, 1)])[1].holds


def test_known_nulls_may_be_a_mask_and_override_the_truth():
    mask = [False, True]
    alone = check_fairness([1.0, 0.2], epsilon1=0.5, xi=0.1, null_players=mask)
    assert alone[0].violations == ((1,),)
    rough = check_fairness([1.0, 0.2], epsilon1=0.5, xi=0.1, null_players=mask, truth=[1.0, 0.3])
    assert rough[0].violations == ((1,),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon1": 0.0}, "epsilon1"),
        ({"truth": [1.0, np.nan]}, "player 1 has nan"),
        ({"null_players": [2]}, "no player 2"),
        ({"symmetric_pairs": [0, 1]}, "pairs as"),
        ({"desirable_pairs": [(1, 1)]}, "two players"),
    ],
)
def test_bad_questions_of_fairness_are_refused(change, message):
    with pytest.raises(fs.InputError, match=message):
        check_fairness([1.0, 2.0], **{"epsilon1": 0.1, "xi": 0.1, **change})
