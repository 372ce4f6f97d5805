from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.planning import equal_share, forecast


class Clock:
    """The clock that games move on as they compute."""

    now = 0.0


@pytest.fixture
def _clock(monkeypatch):
    monkeypatch.setattr(Clock, "now", 0.0)
    seen = SimpleNamespace(perf_counter=lambda: Clock.now)
    monkeypatch.setattr("fairshapley.planning.time", seen)


clocked = pytest.mark.usefixtures("_clock")


class Slow:
    """A game that takes 20 ms for each player of a coalition."""

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players
        self.asked = 0

    def __call__(self, coalitions):
        Clock.now += 0.02 * int(coalitions.sum())
        self.asked += len(coalitions)
        return coalitions.sum(axis=1).astype(float)


@clocked
def test_a_long_run_is_forecast_from_coalitions_of_all_sizes():
    game = Slow(100)
    planned = forecast(game, budget=10_000)
    # A coalition has 50 players on average, which take a second.
    assert planned.allowed == planned.evaluations == 10_000
    assert 0.5 < planned.seconds_each < 1.5
    assert game.asked < 20


@clocked
def test_a_short_run_is_forecast_from_one_coalition():
    game = Slow(10)
    assert 0 < forecast(game, budget=2).seconds <= 0.41
    assert game.asked == 2  # the first may set something up


@clocked
def test_a_coalition_of_all_may_be_cheaper_than_others():
    """Fits begin at the fit to all rows: 200 evaluations took 22 s, and 2.2 s were promised."""

    class Begun(Slow):
        def __call__(self, coalitions):
            Clock.now += float((~coalitions.all(axis=1)).sum())
            return np.zeros(len(coalitions))

    assert forecast(Begun(20), budget=100).seconds == pytest.approx(100, rel=0.01)


def test_what_a_method_takes_for_itself_counts():
    assert forecast(fs.games.Additive(np.ones(30)), "mc", budget=10**6).seconds > 5


@clocked
def test_limits_are_those_of_the_run():
    game = Slow(100)
    assert forecast(game).allowed == 100 * 100
    assert forecast(Slow(5), "exact").allowed == 32
    assert forecast(Slow(5), budget=10_000).allowed == 32
    timed = forecast(game, budget=fs.Budget(seconds=50))
    assert timed.seconds == 50
    assert timed.evaluations == pytest.approx(50 / timed.seconds_each, abs=1)
    assert timed.cache_bytes < 10**6


@clocked
def test_processes_share_the_work():
    game = Slow(20)
    alone = forecast(game, budget=1000)
    shared = forecast(game, budget=1000, engine="processes:2")
    assert shared.workers == 2
    assert shared.seconds == pytest.approx(alone.all_seconds / 2, rel=0.3)


@clocked
def test_masks_of_many_players_stay_small():
    class Wide(Slow):
        def __call__(self, coalitions):
            assert coalitions.nbytes < 2**26
            Clock.now += float(len(coalitions))
            return np.zeros(len(coalitions))

    game = Wide(2_000_000)
    assert forecast(game, budget=100).seconds == pytest.approx(100, rel=0.01)


def test_a_pilot_predicts_what_an_aim_takes(tmp_path):
    game = fs.games.SumOfUnanimity(20, seed=3)
    fair = fs.Fair(epsilon1=0.5, delta=0.1, xi=1.0)
    journal = tmp_path / "run.db"
    planned = forecast(game, "mc", until=fair, budget=50_000, pilot=True, seed=5, journal=journal)
    assert 180 <= planned.pilot <= 202
    run = fs.estimate(game, "mc", until=fair, budget=50_000, seed=5, journal=journal)
    assert planned.needed / 1.5 <= run.evaluations <= planned.needed * 1.5
    assert planned.evaluations == planned.needed
    assert run.run.computed == run.evaluations - planned.pilot, "those of the pilot are kept"
    decided = forecast(game, "mc", until=fs.Decided(top=1), budget=9000, pilot=200, seed=5, xi=0.3)
    assert decided.needed is not None
    assert any("pilot of" in said for said in decided.sentences())


def test_a_pilot_predicts_the_tolerance_of_a_budget():
    game = fs.games.SumOfUnanimity(20, seed=3)
    planned = forecast(game, "mc", budget=3000, pilot=True, seed=5, xi=1.0)
    run = fs.estimate(game, "mc", budget=3000, seed=5, xi=1.0)
    assert planned.needed is None
    assert planned.epsilon1 / 1.5 < run.findings().certificate.tightest < 1.5 * planned.epsilon1
    small = forecast(fs.games.SumOfUnanimity(4, seed=1), "mc", budget=100, pilot=True)
    assert small.epsilon1 == 0.0


def test_a_pilot_must_say_something():
    with pytest.raises(fs.errors.BudgetError, match="at least 42, not 30: give pilot=True"):
        forecast(fs.games.SumOfUnanimity(20, seed=3), budget=3000, pilot=30)


def test_an_aim_reached_within_the_pilot_is_predicted():
    game = fs.games.Additive(np.arange(1.0, 21.0))
    given = {"until": fs.Fair(epsilon1=0.5, delta=0.1, xi=5.0), "budget": 2000, "seed": 1}
    run = fs.estimate(game, "adjusted", **given)
    planned = forecast(game, "adjusted", pilot=True, **given)
    assert run.evaluations <= planned.pilot <= planned.needed < 1.5 * planned.pilot


def test_coalitions_that_come_again_make_contributions_cheaper():
    game = fs.games.SumOfUnanimity(11, seed=0)
    given = {"until": fs.Fair(epsilon1=0.5, delta=0.1, xi=1.0), "budget": 2047, "seed": 1}
    run = fs.estimate(game, "kernel", **given)
    planned = forecast(game, "kernel", pilot=True, **given)
    assert planned.needed / 1.5 < run.evaluations < 1.5 * planned.needed


@clocked
def test_the_tolerance_is_that_of_the_evaluations_that_the_time_allows():
    class Timed(fs.games.SumOfUnanimity):
        def __call__(self, coalitions):
            Clock.now += 0.1 * len(coalitions)
            return super().__call__(coalitions)

    game, given = Timed(20, seed=3), {"pilot": True, "seed": 5, "xi": 1.0}
    limited = fs.Budget(evaluations=30_000, seconds=100)
    timed = forecast(game, "mc", budget=limited, **given)
    assert timed.evaluations == pytest.approx(1000, abs=2)
    plain = forecast(game, "mc", budget=timed.evaluations, **given)
    assert timed.epsilon1 == pytest.approx(plain.epsilon1)


def test_the_tolerance_is_the_one_that_the_aim_reaches():
    """At its own ξ and δ, and at the level that its last look has."""
    game = fs.games.SumOfUnanimity(20, seed=3)
    fair = fs.Fair(epsilon1=0.3, delta=0.02, xi=1.0)
    planned = forecast(game, "mc", until=fair, budget=10**5, pilot=True, seed=5)
    assert planned.needed == planned.evaluations > planned.pilot
    assert 0.3 / 1.3 < planned.epsilon1 <= 0.3
    short = forecast(game, "mc", until=fair, budget=planned.needed // 4, pilot=True, seed=5)
    assert short.epsilon1 > 0.3


def test_a_forecast_says_what_it_would_take_if_errors_shrink_slowly():
    """Rows of a table are harder to learn than the games that powers were measured on."""
    iris = load_iris(as_frame=True).frame
    game = fs.table_game(iris, "target").game
    fair = fs.Fair(epsilon1=0.5, delta=0.1)
    planned = fs.forecast(game, until=fair, pilot=True, budget=50_000, xi=0.005, seed=0)
    # A run is certified after 59,473 evaluations.
    assert 2 * planned.needed < 59_473 < 1.1 * planned.needed_at_most
    said = planned.sentences()[1]
    assert f"({planned.needed_at_most:,} if errors shrink no faster" in said
    assert "the 50,000 allowed may not do" in said
    plain = fs.forecast(game, "mc", until=fair, pilot=True, budget=50_000, xi=0.005, seed=0)
    assert plain.needed_at_most == plain.needed


# --- ξ ------------------------------------------------------------------------------------------


def test_an_equal_share_is_at_most_the_mean():
    for seed in range(5):
        game = fs.games.SumOfUnanimity(15, seed=seed)
        assert equal_share(game) <= np.abs(game.shapley_values).mean() + 1e-12


def test_an_equal_share_of_nothing_is_refused():
    with pytest.raises(InputError, match="give ξ as a number"):
        equal_share(fs.games.Additive([1.0, -1.0]))
