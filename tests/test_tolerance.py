"""ξ read before a run: never above the mean |value| but by chance, and not far below it."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.tolerance import equal_share, mean_value


def test_an_equal_share_is_at_most_the_mean():
    for seed in range(5):
        game = fs.games.SumOfUnanimity(15, seed=seed)
        assert equal_share(game).xi <= np.abs(game.shapley_values).mean() + 1e-12


def test_an_equal_share_of_nothing_is_refused():
    with pytest.raises(InputError, match="give ξ as a number"):
        equal_share(fs.games.Additive([1.0, -1.0]))


def noisy_game():
    """Many values near zero and of both signs, which noise makes look large."""
    weights = np.random.default_rng(0).normal(size=70)
    noise = np.random.default_rng(1).normal(size=(70, 3))

    def utility(coalitions):
        rough = np.sin(50.0 * (coalitions @ noise)).sum(axis=1)
        return 0.1 * (coalitions @ weights) + rough

    utility.n_players = 70
    return utility


def test_noise_does_not_enlarge_the_reading():
    game = noisy_game()
    truth = fs.estimate(game, "mc", budget=200_000, seed=9).values
    mean = np.abs(truth).mean()
    readings, naive = [], []
    for seed in range(20):
        readings.append(mean_value(game, budget=250, seed=seed).xi)
        naive.append(np.abs(fs.estimate(game, "adjusted", budget=250, seed=seed).values).mean())
    assert np.mean(naive) > 1.5 * mean, "the game is not noisy enough to tell"
    # The reading is the larger of two; its mean over 20 seeds is within 3 standard errors.
    error = np.std(readings) / np.sqrt(len(readings))
    assert np.mean(readings) < mean + 3 * error


def test_a_small_game_is_read_exactly():
    game = fs.games.SumOfUnanimity(6, seed=1)
    pilot = mean_value(game)
    assert pilot.xi == pytest.approx(np.abs(game.shapley_values).mean())
    assert "exact" in pilot.sentence


def test_the_reading_depends_on_the_seed_alone():
    """Values of both signs, so that an equal share is far below the mean and never read."""
    weights = np.random.default_rng(0).normal(size=40)

    def utility(coalitions):
        sums = coalitions @ weights
        return sums + 0.05 * sums**2

    utility.n_players = 40
    first, again, other = (mean_value(utility, budget=300, seed=seed).xi for seed in (3, 3, 4))
    assert first == again != other


def test_other_semivalues_are_read_too():
    game = fs.games.SumOfUnanimity(12, seed=1)
    truth = np.abs(fs.exact(game, "banzhaf").values).mean()
    reading = mean_value(game, semivalue="banzhaf", budget=200).xi
    assert 0.7 * truth < reading < 1.1 * truth
