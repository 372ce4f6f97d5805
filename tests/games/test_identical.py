"""Identical players found by content, and reported as pairs of axiom A2."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.fairness import check_fairness


def test_results_report_them_as_pairs_of_symmetry():
    """The paper's point: two identical points get two prices, until the estimate is fair."""

    def axioms(result, epsilon1):
        pairs = result.game.identical_players
        return check_fairness(result.values, epsilon1=epsilon1, xi=result.xi, symmetric_pairs=pairs)

    game = fs.testing.PlantedGame(12, seed=3)
    # The only method that may tell them apart.
    method = fs.RegressionAdjusted(pool=False, proxy="none")
    rough = fs.estimate(game, method, budget=100, xi=1e-3, seed=0)
    assert rough.game.identical_players == game.duplicate_pairs
    symmetry = axioms(rough, 0.001)[1]
    assert set(symmetry.premises) == {tuple(sorted(pair)) for pair in game.duplicate_pairs}
    assert not symmetry.holds
    assert axioms(fs.exact(game), 1e-9)[1].holds
    assert fs.Result.from_dict(rough.to_dict()).game.identical_players == game.duplicate_pairs


@pytest.mark.parametrize("pairs", [[(0, 0)], [(0, 9)], [(0, 1, 2)], "ab"])
def test_bad_pairs_are_refused(pairs):
    game = fs.games.FunctionGame(len, 3, key="len")
    game.identical_players = pairs
    with pytest.raises(fs.InputError, match=r"pair|player"):
        fs.estimate(game)


def test_pairs_do_not_change_what_a_game_computes():
    plain = fs.games.FunctionGame(len, 3)
    paired = fs.games.FunctionGame(len, 3, identical_players=[(0, 1)])
    assert fs.games.fingerprint(plain) == fs.games.fingerprint(paired)
    assert np.array_equal(fs.exact(plain).values, fs.exact(paired).values)
