import numpy as np
import pytest

import fairshapley as fs
from fairshapley.uses.forecasting import forecast


class Slow:
    """A game that takes 20 ms for each player of a coalition, by its own clock."""

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players
        self.now = 0.0
        self.asked = 0

    def __call__(self, coalitions):
        self.now += 0.02 * int(coalitions.sum())
        self.asked += len(coalitions)
        return coalitions.sum(axis=1).astype(float)

    def clock(self) -> float:
        return self.now


def test_a_long_run_is_forecast_from_coalitions_of_all_sizes():
    game = Slow(100)
    planned = forecast(game, budget=10_000, clock=game.clock)
    # A coalition has 50 players on average, which take a second.
    assert planned.allowed == planned.evaluations == 10_000
    assert 0.5 < planned.seconds_each < 1.5
    assert game.asked < 20


def test_a_short_run_is_forecast_from_one_coalition():
    game = Slow(100)
    assert forecast(game, budget=2, clock=game.clock).seconds == pytest.approx(4)
    assert game.asked == 2  # the first may set something up


def test_limits_are_those_of_the_run():
    game = Slow(100)
    assert forecast(game, clock=game.clock).allowed == 100 * 100
    assert forecast(Slow(5), "exact", clock=game.clock).allowed == 32
    assert forecast(Slow(5), budget=10_000, clock=game.clock).allowed == 32
    timed = forecast(game, budget=fs.Budget(seconds=50), clock=game.clock)
    assert timed.seconds == 50
    assert timed.evaluations == pytest.approx(50 / timed.seconds_each, abs=1)
    assert timed.cache_bytes < 10**6


def test_processes_share_the_work():
    game = Slow(20)
    alone = forecast(game, budget=1000, clock=game.clock)
    shared = forecast(game, budget=1000, engine="processes:2", clock=game.clock)
    assert shared.workers == 2
    assert shared.seconds == pytest.approx(alone.all_seconds / 2, rel=0.3)


def test_masks_of_many_players_stay_small():
    class Wide(Slow):
        def __call__(self, coalitions):
            assert coalitions.nbytes < 2**26
            self.now += float(len(coalitions))
            return np.zeros(len(coalitions))

    game = Wide(2_000_000)
    assert forecast(game, budget=100, clock=game.clock).seconds == pytest.approx(100)
