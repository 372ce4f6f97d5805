"""Greedy active estimation as a whole: its parameters, its bootstrap, and evaluations that fail."""

import numpy as np
import pytest
from tests.estimators.greedy.samples import problem, rounds

import fairshapley as fs
from fairshapley.draws import SingleMarginals
from fairshapley.estimators.greedy.greedy_active import GreedyActive


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": -1},
        {"bootstrap": 1},
        {"batch": 0},
        {"xi": -1.0},
        {"epsilon1": 0.0},
        {"selection": None},
        {"proposal": ("a", "b")},
        {"honest": 1},
        {"honest": True, "selection": "uniform"},
    ],
)
def test_parameters_that_cannot_be_used(parameters):
    name = next(reversed(parameters))
    with pytest.raises(fs.InputError, match=name):
        GreedyActive(**parameters)


CONFIGURATIONS = [
    GreedyActive(bootstrap=2),
    GreedyActive(bootstrap=2, batch=1),
    GreedyActive(bootstrap=2, honest=True),
    GreedyActive(bootstrap=2, honest=True, epsilon1=0.5),
    GreedyActive(bootstrap=2, selection="uniform", proposal="per-player"),
    GreedyActive(bootstrap=2, batch=30),
]


@pytest.mark.parametrize("method", CONFIGURATIONS, ids=repr)
@pytest.mark.parametrize("n_players", [2, 3, 10])
def test_small_games_and_failed_evaluations(method, n_players):
    """No warning (they are errors), no imputation: a skipped evaluation leaves its marginal out."""
    game = fs.games.SumOfUnanimity(n_players, n_terms=12, seed=n_players)
    _, whole = rounds(method, game, 25)
    state, log = rounds(
        method, game, 25, spoil=lambda values: values.__setitem__(slice(None, None, 5), np.nan)
    )
    now = method.estimate(state)
    assert (now.counts < sum(draw.marginals for draw, _ in log)).all()
    known = now.counts > 1
    assert np.isfinite(now.values[known]).all()
    assert (now.variances[known] > 0).all()
    marginals = sum(draw.marginals for draw, _ in whole)
    clean = method.estimate(rounds(method, game, 25)[0])
    assert 0 < clean.counts.sum() <= marginals
    if not method.honest:
        assert clean.counts.sum() == marginals


class FailsFor:
    """The utility of `game`, NaN for coalitions with the player while `on`."""

    def __init__(self, game, player):
        self.game, self.player, self.n_players, self.on = game, player, game.n_players, False

    def __call__(self, c):
        values = self.game(c)
        return np.where(c[:, self.player] & self.on, np.nan, values)


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("from_the_start", [True, False])
def test_a_player_whose_evaluations_fail_leaves_the_others_their_turn(batch, from_the_start):
    """Of one player every selection fails, of the others, all alike, those behind it do."""
    game = FailsFor(fs.games.FunctionGame(lambda s: len(s) ** 0.5, 6), 0)
    method = GreedyActive(bootstrap=8, batch=batch)
    state, rng = method.start(problem(game)), np.random.default_rng(0)
    chosen = np.zeros(6, dtype=np.int64)
    while chosen.sum() < 300:
        game.on = from_the_start or state.bootstrapped == 48
        draw = method.ask(state, rng)
        method.tell(state, draw, game(draw.masks(0, len(draw))))
        if state.bootstrapped == 48 and isinstance(draw, SingleMarginals):
            chosen += np.bincount(draw.players, minlength=6)
    # The share is by its score, which cannot rise with contributions; all 300 if failures did not
    # count.
    assert chosen[0] <= 250
    assert (chosen[1:] > 0).all()
    assert state.failed[0] == chosen[0]


def test_a_run_that_ends_in_the_bootstrap_has_monte_carlo_values():
    game = fs.games.SumOfUnanimity(12, seed=4)
    run = fs.estimate(game, GreedyActive(), budget=60, seed=1)
    assert run.values.sum() == pytest.approx(game(np.ones((1, 12), dtype=bool))[0])
    assert (run.counts == run.counts[0]).all()
    with pytest.raises(fs.errors.BudgetError):
        fs.estimate(game, GreedyActive(), budget=8)
