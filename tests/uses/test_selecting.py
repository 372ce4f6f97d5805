"""Selecting by value against chance."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.errors import InputError


def test_additive_games_reward_selection():
    game = fs.games.Additive(np.arange(20.0))
    found = fs.better_than_chance(game, fs.exact(fs.games.Additive([1.0])).values.repeat(20))
    assert not found.better  # equal values choose the first players, which are the worst
    found = fs.better_than_chance(game, np.arange(20.0))
    assert found.better
    assert found.p_value == pytest.approx(0.01)
    assert found.consistency == pytest.approx(1.0)
    assert "better than chance" in str(found)


def test_players_of_high_value_that_repeat_each_other_are_no_selection():
    # Half of the players are copies of one good row, the others are worth a little each, together
    # more: the copies have the highest values, and a group of them is worth one of them.
    def utility(groups):
        return groups[:, :10].any(axis=1) + 0.3 * groups[:, 10:].sum(axis=1)

    values = np.repeat([0.4, 0.3], 10)
    found = fs.better_than_chance(utility, values, keep=10)
    assert not found.better
    assert found.utility == 1
    assert found.random.mean() > 2
    assert found.consistency < 0
    assert "no better than chance" in str(found)


def test_a_utility_of_one_value_has_no_order():
    found = fs.better_than_chance(lambda groups: np.ones(len(groups)), np.arange(6.0))
    assert found.consistency == 0
    assert found.p_value == 1


@pytest.mark.parametrize("options", [{"draws": 5}, {"keep": 0}, {"keep": 9}, {"seed": -1}])
def test_bad_input_is_answered(options):
    with pytest.raises(InputError):
        fs.better_than_chance(fs.games.Additive([1.0, 2.0]), [1.0, 2.0], **options)
