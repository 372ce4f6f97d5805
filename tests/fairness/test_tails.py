"""The sum of tails: what a certificate risks, however many players are in doubt."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.tails import (
    evaluations_for,
    exceedance,
    fair_failure,
    interval_doubts,
)


def normal(values, errors, counts=10**9, **other):
    values = np.asarray(values, dtype=float)
    errors = np.broadcast_to(np.asarray(errors, dtype=float), values.shape)
    return Evidence(
        values=values,
        standard_errors=errors,
        counts=np.broadcast_to(np.asarray(counts), values.shape),
        evaluations=100,
        **other,
    )


@pytest.mark.parametrize("correlation", [0.0, 0.9, -1 / 6])
@pytest.mark.parametrize(
    ("phi", "xi"),
    [
        (np.full(6, 4.0), 4.0),
        (np.array([9.0, 0.0, 0.0, 30.0, -30.0, 2.0]), 6.0),
        (np.array([4.0, 3.0, -3.5, 0.5, 6.0, 0.0]), 3.5),
        (np.array([2.0, 40.0, 40.0, 40.0, 40.0, 40.0]), 3.0),
    ],
)
def test_certificates_are_wrong_in_at_most_delta_of_all_runs(phi, xi, correlation):
    """Unit errors; 4.5 standard deviations of the share that may be wrong are allowed."""
    rng, delta, runs = np.random.default_rng(7), 0.1, 4000
    covariance = np.full((6, 6), correlation) + (1 - correlation) * np.eye(6)
    draws = phi + rng.multivariate_normal(np.zeros(6), covariance, size=runs)
    wrong = 0
    for values in draws:
        unfair = (np.abs(values - phi) > 0.5 * (np.abs(phi) + xi)).any()
        wrong += unfair and fair_failure(normal(values, 1.0), 0.5, 0.5 * xi) <= delta
    assert wrong <= delta * runs + 4.5 * np.sqrt(delta * (1 - delta) * runs)


def test_equal_contributions_and_known_values_have_tails_of_their_own():
    extremes = np.array([0.0, 3.0, 3.0])
    unseen = normal([0.0, 1.0, 0.2], [0.0, 1.0, 0.2], counts=50, extremes=extremes, n_nulls=1)
    reach = np.array([0.1, 1e9, 0.3])
    np.testing.assert_array_equal(exceedance(unseen, reach), [1.0, 0.0, 0.0])
    known = normal([0.0], [0.0], counts=50, extremes=np.zeros(1), contribution_width=2.0)
    assert exceedance(known, np.array([0.1]))[0] == pytest.approx(np.exp(-0.1 * 50 / 2))
    proven = normal([0.0], [0.0], extremes=np.ones(1))
    assert exceedance(proven, np.array([0.0]))[0] == 0.0
    with np.errstate(all="raise"):
        assert fair_failure(normal([1.0, 0.0], [0.0, 0.1]), 1.5, 0.0) < 2


def test_the_predicted_cost_is_where_the_failure_reaches_the_level():
    """One player, error 1 at 100 evaluations, 1.2816·3 allowed: σ = 0.26, 15 times as many."""
    one = normal([1.0] * 40, [1.0] + [0.0] * 39)
    needed = evaluations_for(one, 0.1, lambda then: fair_failure(then, 0.5, 0.0))
    assert needed == pytest.approx(100 * (3 * 1.28155) ** 2, rel=0.01)
    hopeless = normal([0.0] * 40, 1.0)
    assert evaluations_for(hopeless, 0.1, lambda then: fair_failure(then, 0.5, 0.0)) == 2.0**40


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"counts": 100}, []),
        ({"counts": 60}, ["the mean of 60 contributions, and 100 are needed"]),
        ({"counts": 60, "identically_distributed": False}, []),
        ({"counts": 10, "identically_distributed": False}, ["10 contributions, and 45"]),
        ({"modelled": True}, ["a model of the game"]),
        ({"obstacle": "players were chosen"}, ["players were chosen"]),
        ({"extremes": np.array([1.0, 0.0])}, ["all contributions of 1 player were equal"]),
        ({"counts": 500, "extremes": np.array([1.0, 400.0])}, ["contributions of 1 player"]),
        ({"counts": 5, "modelled": True}, ["a model", "the mean of 5"]),
        ({"counts": 5, "exact": True}, []),
    ],
)
def test_intervals_say_why_they_are_not_to_be_trusted_yet(given, said):
    doubts = interval_doubts(normal([1.0, 2.0], 0.1, **given))
    assert len(doubts) == len(said)
    assert all(part in doubt for part, doubt in zip(said, doubts, strict=True))


def test_a_result_says_so_in_print():
    game = fs.games.SumOfUnanimity(12, seed=1)
    early, late = (fs.estimate(game, "mc", budget=spent, seed=0) for spent in (100, 2000))
    assert "not to be trusted yet: a value is the mean of 8 contributions" in str(early)
    assert late.doubts == ()
    assert "trusted" not in str(late)
