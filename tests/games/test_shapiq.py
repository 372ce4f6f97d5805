"""shapiq's games work here, and ours in shapiq's approximators."""

import numpy as np
import pytest
import shapiq

import fairshapley as fs


class ShapiqGame(shapiq.Game):
    """A game written for shapiq: Σ of member weights, squared."""

    def __init__(self):
        self.weights = np.arange(1.0, 8.0)
        super().__init__(n_players=7, normalize=False)

    def value_function(self, coalitions):
        return (coalitions @ self.weights) ** 2


def test_a_shapiq_game_is_valued_here():
    game = ShapiqGame()
    expected = game.weights * game.weights.sum()  # Σ of pairs, each shared in halves
    np.testing.assert_allclose(fs.exact(game).values, expected)
    estimate = fs.estimate(game, fs.MonteCarlo(antithetic=True), budget=100, seed=0)
    np.testing.assert_allclose(estimate.values, expected)


def test_a_shapiq_game_can_be_journalled(tmp_path):
    """shapiq gives every game an id of its own; a fingerprint says that two are the same."""
    computed = []
    for _ in range(2):
        game = ShapiqGame()
        game.fingerprint = "squares of 1 to 7"
        run = fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j.db")
        computed.append(run.run.computed)
    assert computed[0] > 0
    assert computed[1] == 0


@pytest.mark.parametrize(
    "game", [fs.games.SumOfUnanimity(8, seed=3), fs.games.Airport(np.arange(1.0, 9.0))]
)
def test_our_games_work_in_all_of_shapiqs_approximators(game):
    for name in ("PermutationSamplingSV", "SVARM", "KernelSHAP", "StratifiedSamplingSV"):
        approximator = getattr(shapiq, name)(n=8, random_state=0)
        values = approximator.approximate(budget=200, game=game)
        theirs = np.array([values[(player,)] for player in range(8)])
        assert np.corrcoef(theirs, fs.exact(game).values)[0, 1] > 0.8
