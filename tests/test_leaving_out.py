"""Leave-one-out values: by hand, at n + 1 evaluations, through the journal."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from fairshapley.games.data import DataGame
from fairshapley.leaving_out import leave_one_out


class Counted:
    """The size of a coalition squared; counts what it is asked."""

    n_players = 5
    fingerprint = "sizes squared"

    def __init__(self):
        self.asked = 0

    def __call__(self, coalitions):
        self.asked += len(coalitions)
        return coalitions.sum(axis=1) ** 2.0


def test_by_hand_and_at_what_cost():
    game = Counted()
    np.testing.assert_array_equal(leave_one_out(game), [25.0 - 16.0] * 5)
    assert game.asked == 6


def test_an_additive_game_has_its_weights():
    """Exact in binary, so that the sums are too."""
    weights = np.array([1.0, -2.5, 0.25, 8.0])
    np.testing.assert_array_equal(leave_one_out(fs.games.Additive(weights)), weights)
    alone = leave_one_out(fs.games.TableGame([1.0, 3.0]))
    np.testing.assert_array_equal(alone, [2.0])


def test_duplicates_are_worth_nothing_and_null_players_cost_nothing():
    game = fs.games.FunctionGame(lambda coalition: float(bool({0, 1} & set(coalition))), 3)
    np.testing.assert_array_equal(leave_one_out(game), [0.0, 0.0, 0.0])
    counted = Counted()
    padded = fs.testing.with_null_players(counted, 3)
    np.testing.assert_array_equal(leave_one_out(padded), [9.0] * 5 + [0.0] * 3)
    assert counted.asked == 6


@pytest.mark.parametrize("chunk", [1, 4, None])
def test_engines_give_the_same(chunk):
    features, labels = load_iris(return_X_y=True)
    train, test = (features[::10], labels[::10]), (features[1::5], labels[1::5])
    game = DataGame(LogisticRegression(), train, test, "log_likelihood")
    expected = game(np.ones((1, 15), dtype=bool)) - game(~np.eye(15, dtype=bool))
    values = leave_one_out(game, engine=fs.SerialEngine(chunk))
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


def test_a_journal_is_shared_with_estimates(tmp_path):
    game = Counted()
    path = tmp_path / "run.db"
    fs.estimate(game, "exact", journal=path, progress=False)
    assert game.asked == 32
    np.testing.assert_array_equal(leave_one_out(game, journal=path), [9.0] * 5)
    assert game.asked == 32
    with pytest.raises(fs.errors.JournalError, match="another game"):
        leave_one_out(fs.games.Additive([1.0]), journal=path)


def test_what_cannot_be_used_is_named():
    with pytest.raises(fs.InputError, match="a game is a callable"):
        leave_one_out(lambda coalition: 0.0)
    with pytest.raises(fs.InputError, match="engine"):
        leave_one_out(Counted(), engine=5)
    broken = fs.games.FunctionGame(lambda coalition: 0.0 if 2 in coalition else np.nan, 4)
    with pytest.raises(fs.errors.GameError, match="returned nan") as error:
        leave_one_out(broken)
    assert error.value.coalition == (0, 1, 3)
