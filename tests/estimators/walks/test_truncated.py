"""Truncated Monte Carlo: what it asks, what it leaves out, and what it says of that."""

from itertools import pairwise

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.estimators import TruncatedMonteCarlo, from_configuration
from fairshapley.estimators.estimator import Problem
from fairshapley.randomness import round_generator
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley


def saturating(n, most):
    """v(S) = min(|S|, most): walks are over when `most` players are in."""
    return fs.games.FunctionGame(lambda s: float(min(len(s), most)), n_players=n)


def by_hand(estimator, game, rounds, semivalue=None):
    """The state and the (masks, values) of each round."""
    n = game.n_players
    ends = game(np.array([[False] * n, [True] * n]))
    problem = Problem(n, semivalue or Shapley(), float(ends[0]), float(ends[1]), 1e-3)
    state, log = estimator.start(problem), []
    for index in range(rounds):
        draw = estimator.ask(state, round_generator(0, index))
        masks = draw.masks(0, len(draw))
        values = game(masks)
        log.append((draw, masks, values))
        estimator.tell(state, draw, values)
    return state, log


def test_nothing_is_asked_after_truncation():
    """One walk takes 4 coalitions of 11: the next walk follows at once."""
    state, log = by_hand(TruncatedMonteCarlo(), saturating(12, 4), 8)
    assert [int(masks.sum()) for _, masks, _ in log] == [1, 2, 3, 4] * 2
    for (_, before, _), (_, after, _) in pairwise(log[:4]):
        assert (before <= after).all()
    assert (state.walks, state.steps, state.shortfall) == (2, 8, 0.0)


def test_walks_under_way_go_on_without_randomness():
    """`go_on` gives what `ask` does, and a part of the round is the same in any slices."""
    estimator, game = TruncatedMonteCarlo(), saturating(60, 57)
    state, _ = by_hand(estimator, game, 66)
    draw, asked = estimator.go_on(state), estimator.ask(state, round_generator(7, 7))
    assert draw.width > 1
    masks = draw.masks(0, len(draw))
    np.testing.assert_array_equal(masks, asked.masks(0, len(asked)))
    parts = [draw.masks(at, min(at + 4, len(draw))) for at in range(0, len(draw), 4)]
    np.testing.assert_array_equal(masks, np.concatenate(parts))
    assert estimator.go_on(estimator.start(state.problem)) is None


def test_the_estimate_by_hand():
    """Every truncated walk gives 1 to its first three players and 0 to the others."""
    state, log = by_hand(TruncatedMonteCarlo(tolerance=0.3), saturating(12, 4), 6)
    # |4 − 3| < 0.3·4: walks end with three players, and 1 is left over on each.
    members = [masks[0] for draw, masks, _ in log if draw.size == 3]
    np.testing.assert_allclose(state.moments.means, np.mean(members, axis=0))
    assert (state.walks, state.steps, state.shortfall) == (2, 6, 2.0)
    (sentence,) = TruncatedMonteCarlo().remarks(state)
    assert sentence.startswith("18 of 24 marginal contributions (75.0 %) were truncated")
    assert "on average 1 of v(N) − v(∅) = 4" in sentence


def test_patience_waits():
    """Utilities that cross v(N) early: the last players are worth nothing, or −2 and +2."""
    n = 8
    path = [0.0, 1.0, 3.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0]
    game = fs.games.FunctionGame(lambda s: path[len(s)], n_players=n)
    hasty, hasty_log = by_hand(TruncatedMonteCarlo(), game, 2)
    assert (hasty.walks, hasty.steps) == (1, 2)
    assert hasty.moments.means.sum() == pytest.approx(3.0)
    patient, log = by_hand(TruncatedMonteCarlo(patience=2), game, 6)
    assert [draw.size for draw, _, _ in log] == [1, 2, 3, 4, 5, 6]
    assert (patient.walks, patient.steps) == (1, 6)
    assert len(hasty_log) == 2


@pytest.mark.parametrize("semivalue", [Shapley(), Banzhaf(), BetaShapley(4, 1)], ids=str)
def test_without_tolerance_it_is_monte_carlo(semivalue):
    """Some 1000 whole walks: unbiased, 4.5 standard errors for 9 players, false alarm 1e−4."""
    game = fs.games.SumOfUnanimity(9, seed=1)
    estimator = TruncatedMonteCarlo(tolerance=0.0)
    state, _ = by_hand(estimator, game, 600, semivalue)
    estimate = estimator.estimate(state)
    assert state.walks > 1000
    errors = np.abs(estimate.values - fs.exact(game, semivalue).values)
    assert (errors < 4.5 * np.sqrt(estimate.variances)).all()
    assert estimator.remarks(state) == ()
    assert estimator.traits.certifiable


def test_the_bias_is_at_most_the_tolerance_on_a_monotone_game():
    """An airport game: every walk loses less than 10 % of v(N), and the values add up to that."""
    game = fs.games.Airport(np.linspace(1.0, 4.0, 20) ** 2)
    result = fs.estimate(game, TruncatedMonteCarlo(tolerance=0.1), budget=3000, seed=0)
    total = result.values.sum()
    assert 0.9 * 16.0 < total < 16.0
    state_note = next(note for note in result.notes if "truncated" in note)
    left = float(state_note.split("on average ")[1].split(" of")[0])
    assert total == pytest.approx(16.0 - left, rel=1e-2)
    assert not result.certificate(0.5, 0.1).holds
    assert "biased" in result.obstacle


def test_walks_in_lockstep_are_whole_batches():
    """A batch counts when its last walk has ended: early ends must not count alone."""
    game = fs.games.Airport(np.linspace(1.0, 4.0, 10) ** 2)
    estimator = TruncatedMonteCarlo(tolerance=0.1)
    state, log = by_hand(estimator, game, 400)
    sizes = [len(draw.ranks) for draw, _, _ in log if draw.size == 1]
    told = np.cumsum([0, *sizes[:-1]])
    np.testing.assert_array_equal(sizes, np.clip(told // 8, 1, 32))
    finished = sum(sizes) - (len(state.batch.ranks) if len(state.batch.going) else 0)
    assert state.walks == finished
    np.testing.assert_array_equal(state.moments.counts, finished)


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_steps_that_are_taken_together_give_the_same_walks(patience):
    """Rounds of several steps on a game of 60 players, against the rule applied walk by walk."""
    weights = np.random.default_rng(3).normal(size=60)

    def utility(players):
        return float(np.tanh(weights[list(players)].sum()))

    game = fs.games.FunctionGame(utility, 60)
    estimator = TruncatedMonteCarlo(tolerance=0.02, patience=patience)
    state, log = by_hand(estimator, game, 500)
    assert max(draw.width for draw, _, _ in log) > 1
    ranks = np.concatenate([draw.ranks for draw, _, _ in log if draw.size == 1])[: state.walks]
    full, contributions, steps = utility(range(60)), np.zeros((state.walks, 60)), 0
    for walk, order in enumerate(np.argsort(ranks, axis=1)):
        value, near = 0.0, 0
        for place, player in enumerate(order):
            after = utility(order[: place + 1])
            contributions[walk, player], value = after - value, after
            near = near + 1 if abs(full - value) < 0.02 * abs(full) else 0
            steps += 1
            if near == patience and place < 58:
                break
    assert state.steps == steps
    np.testing.assert_allclose(state.moments.means, contributions.mean(axis=0), atol=1e-12)


def test_the_marginals_of_a_round():
    """One for each walk, two at the last coalition: n for a whole walk."""
    _, log = by_hand(TruncatedMonteCarlo(tolerance=0.0), fs.games.Additive(np.ones(6)), 5)
    assert [draw.marginals for draw, _, _ in log] == [1, 1, 1, 1, 2]
    game = fs.games.SumOfUnanimity(12, seed=0)
    result = fs.estimate(game, "tmc", budget=fs.Budget(marginals=100), seed=0)
    assert result.marginals <= 100


def test_the_last_marginal_is_never_truncated():
    """At n − 1 players v(N) is known: a walk that would end there ends in v(N)."""
    game = saturating(6, 5)
    state, _ = by_hand(TruncatedMonteCarlo(tolerance=0.1), game, 5)
    assert (state.walks, state.steps) == (1, 6)
    assert state.moments.means.sum() == pytest.approx(5.0)


def test_weights_of_semivalues_go_with_the_places():
    game = saturating(8, 3)
    state, log = by_hand(TruncatedMonteCarlo(), game, 3, Banzhaf())
    weights = 8 * Banzhaf().weights(8)
    order = [int(np.flatnonzero(after & ~before)[0]) for before, after in walk_steps(log, 8)]
    np.testing.assert_allclose(state.moments.means[order], weights[:3])
    assert state.moments.means.sum() == pytest.approx(weights[:3].sum())


def walk_steps(log, n):
    masks = [np.zeros(n, dtype=bool), *(masks[0] for _, masks, _ in log)]
    return pairwise(masks)


def test_skipped_evaluations_are_left_out():
    """Coalitions of two players fail: both marginals beside them are missing, the walk goes on."""
    n = 6

    def value(s):
        if len(s) == 2:
            raise ValueError("two are too few")
        return float(len(s))

    game = fs.games.FunctionGame(value, n_players=n)
    result = fs.estimate(game, TruncatedMonteCarlo(), budget=60, seed=0, on_error="skip")
    np.testing.assert_allclose(result.values, 1.0)
    assert result.skipped > 0


def test_a_game_worth_nothing_is_never_truncated():
    """v(N) = v(∅): there is no scale, so that nothing is close to v(N)."""
    game = fs.games.FunctionGame(lambda s: float(len(s) * (6 - len(s))), n_players=6)
    state, _ = by_hand(TruncatedMonteCarlo(tolerance=0.5), game, 15)
    assert (state.walks, state.steps) == (3, 18)


def test_continuing_equals_one_run(tmp_path):
    game = fs.games.Airport(np.linspace(1.0, 4.0, 14) ** 2)
    journal = fs.Journal(tmp_path / "runs.db")
    fs.estimate(game, "tmc", budget=101, seed=5, journal=journal)
    longer = fs.estimate(game, "tmc", budget=600, seed=5, journal=journal)
    once = fs.estimate(game, "tmc", budget=600, seed=5)
    assert longer.values.tobytes() == once.values.tobytes()
    assert longer.notes == once.notes


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_games(n):
    game = fs.games.SumOfUnanimity(n, n_terms=4, sizes=(1, n), seed=2)
    result = fs.estimate(game, TruncatedMonteCarlo(tolerance=0.0), seed=0)
    assert result.exact
    np.testing.assert_allclose(result.values, fs.exact(game).values)


def test_a_budget_below_one_walk_is_said():
    with pytest.raises(fs.BudgetError, match="larger budget"):
        fs.estimate(fs.games.SumOfUnanimity(20, seed=0), "tmc", budget=10, seed=0)


def test_parameters_are_checked():
    for tolerance in (-0.1, np.nan, np.inf, "x", None, True):
        with pytest.raises(fs.InputError, match="tolerance must be"):
            TruncatedMonteCarlo(tolerance=tolerance)
    with pytest.raises(fs.InputError, match="below 1"):
        TruncatedMonteCarlo(tolerance=1.0)
    for patience in (0, 1.5, "x", None, True):
        with pytest.raises(fs.InputError, match="patience must be"):
            TruncatedMonteCarlo(patience=patience)


def test_the_configuration_leads_back():
    for estimator in (
        TruncatedMonteCarlo(),
        TruncatedMonteCarlo(tolerance=np.float64(0.05), patience=np.int64(5)),
    ):
        configuration = estimator.configuration()
        assert from_configuration(configuration) == estimator
        assert type(configuration["tolerance"]) is float
        assert type(configuration["patience"]) is int
