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
        {"alpha": np.inf},
        {"bootstrap": 1},
        {"bootstrap": 2.5},
        {"batch": 0},
        {"xi": -1.0},
        {"epsilon1": 0.0},
        {"proposal": "best"},
        {"selection": "random"},
        {"reuse": "all"},
        {"selection": None},
        {"reuse": 1},
        {"proposal": None},
        {"proposal": 5},
        {"proposal": ()},
        {"proposal": ("a", "b")},
        {"proposal": ((0.5, 0.5), (1.0,))},
        {"proposal": (0.5, (0.5, 0.5))},
        {"proposal": [[[1.0]]]},
        {"proposal": {"a": 1.0}},
        {"alpha": None},
        {"bootstrap": None},
        {"epsilon1": "0.1"},
        {"honest": 1},
        {"honest": True, "reuse": "walk"},
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
    GreedyActive(bootstrap=2, honest=True, keep_bootstrap=False, epsilon1=0.5),
    GreedyActive(bootstrap=2, keep_bootstrap=False, batch=1),
    GreedyActive(bootstrap=2, selection="uniform", proposal="per-player"),
    GreedyActive(bootstrap=2, reuse="walk", alpha=0.0),
    GreedyActive(bootstrap=2, reuse="walk", proposal="per-player", batch=3),
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
    if method.keep_bootstrap and not method.honest:
        assert clean.counts.sum() == marginals


def test_without_the_bootstrap_its_contributions_are_not_averaged():
    game = fs.games.SumOfUnanimity(6, seed=2)
    method = GreedyActive(bootstrap=3, keep_bootstrap=False, selection="uniform", batch=6)
    state, _ = rounds(method, game, 4)
    np.testing.assert_array_equal(method.estimate(state).counts, np.full(6, 3))
    state, log = rounds(method, game, 5)
    fresh = np.array([values[1::2] - values[::2] for _, values in log[3:]])
    sizes = np.array([draw.sizes for draw, _ in log[3:]])
    expected = (fresh / (6 * state.proposal[sizes])).mean(axis=0)
    np.testing.assert_allclose(method.estimate(state).values, expected, rtol=1e-9)
    np.testing.assert_array_equal(method.estimate(state).counts, np.full(6, 2))


class Mix:
    """Player 0 has a large r, the last ten a small one."""

    n_players = 12

    def __call__(self, c):
        return 5.0 * c[:, 0] + 1e-3 * (c[:, 0] & c[:, 1]) + (c[:, 2:].sum(axis=1) % 2) * 1.0


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("epsilon1", [None, 0.5])
def test_without_the_bootstrap_everybody_gets_two_contributions_first(batch, epsilon1):
    """Or the bootstrap's three would be all that is reported, however large the budget."""
    method = GreedyActive(bootstrap=3, keep_bootstrap=False, batch=batch, epsilon1=epsilon1)
    state, log = rounds(method, Mix(), 103)
    now = method.estimate(state)
    fresh = np.concatenate([draw.players for draw, _ in log[3:]])
    np.testing.assert_array_equal(np.sort(fresh[:24]), np.repeat(np.arange(12), 2))
    np.testing.assert_array_equal(now.counts, np.bincount(fresh, minlength=12))
    run = fs.estimate(Mix(), method, budget=3000, seed=0)
    assert (run.counts >= 2).all()
    assert run.counts.sum() > 1000


class FailsFor:
    """The utility of `game`, NaN for coalitions with the player while `on`."""

    def __init__(self, game, player):
        self.game, self.player, self.n_players, self.on = game, player, game.n_players, False

    def __call__(self, c):
        values = self.game(c)
        return np.where(c[:, self.player] & self.on, np.nan, values)


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("keep_bootstrap", [True, False])
@pytest.mark.parametrize("from_the_start", [True, False])
def test_a_player_whose_evaluations_fail_leaves_the_others_their_turn(
    batch, keep_bootstrap, from_the_start
):
    """Of one player every selection fails, of the others, all alike, those behind it do."""
    game = FailsFor(fs.games.FunctionGame(lambda s: len(s) ** 0.5, 6), 0)
    method = GreedyActive(bootstrap=8, batch=batch, keep_bootstrap=keep_bootstrap)
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
    np.testing.assert_array_equal(
        (state.average.counts + state.failed)[0],
        chosen[0] + (state.bootstrap.counts[0] if keep_bootstrap else 0),
    )


def test_a_run_that_ends_in_the_bootstrap_has_monte_carlo_values():
    game = fs.games.SumOfUnanimity(12, seed=4)
    run = fs.estimate(game, GreedyActive(), budget=60, seed=1)
    assert run.values.sum() == pytest.approx(game(np.ones((1, 12), dtype=bool))[0])
    assert (run.counts == run.counts[0]).all()
    with pytest.raises(fs.errors.BudgetError):
        fs.estimate(game, GreedyActive(), budget=8)
