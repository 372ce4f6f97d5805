"""The sum of tails: what a certificate risks, however many players are in doubt."""

from dataclasses import replace

import numpy as np
import pytest

from fairshapley.estimators.moments import Moments
from fairshapley.fairness.certificate import Certificate, half_widths
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.tails import (
    allowances,
    doubts,
    evaluations_for,
    exceedance,
    fair_tails,
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
        (np.zeros(6), 4.0),
        (np.zeros(6), 5.0),
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
        wrong += unfair and Certificate(normal(values, 1.0), 0.5, delta, xi).holds
    assert wrong <= delta * runs + 4.5 * np.sqrt(delta * (1 - delta) * runs)


def test_equal_contributions_and_known_values_have_tails_of_their_own():
    extremes = np.array([0.0, 3.0, 3.0])
    unseen = normal([0.0, 1.0, 0.2], [0.0, 1.0, 0.2], counts=50, extremes=extremes, n_nulls=1)
    reach = np.array([0.1, 1e9, 0.3])
    np.testing.assert_array_equal(exceedance(unseen, reach, 0.1), [1.0, 0.0, 0.0])
    known = normal([0.0], [0.0], counts=50, extremes=np.zeros(1), contribution_width=2.0)
    assert exceedance(known, np.array([0.1]), 0.1)[0] == pytest.approx(np.exp(-0.1 * 50 / 2))
    proven = normal([0.0], [0.0], extremes=np.ones(1))
    assert exceedance(proven, np.array([0.0]), 0.1)[0] == 0.0
    with np.errstate(all="raise"):
        assert fair_tails(normal([1.0, 0.0], [0.0, 0.1]), 1.5, 0.0, 0.1).tolist() == [0.0, 2.0]


@pytest.mark.parametrize(("epsilon1", "xi"), [(0.5, 5.0), (0.5, 6.0), (0.2, 15.0)])
def test_many_players_without_effect_do_not_make_certificates_wrong(epsilon1, xi):
    """ε2 is 2.5 and 3 errors: of 60 values some are farther off, as 60 tails are above δ.

    With the width of an interval allowed, (ε2 − ε1|φ̂|)/(1 − ε1), half of the certificates at ξ = 5
    were wrong, and 7 in 10 at the tightest ε1.
    """
    rng, delta, runs, wrong = np.random.default_rng(3), 0.1, 150, 0
    for _ in range(runs):
        values = rng.normal(size=60)
        certificate = Certificate(normal(values, 1.0), epsilon1, delta, xi)
        held = min(certificate.tightest, epsilon1 if certificate.holds else np.inf)
        wrong += (np.abs(values) > held * xi * (1 + 1e-9)).any()
    assert wrong <= delta * runs + 4 * np.sqrt(delta * (1 - delta) * runs)


def test_the_predicted_cost_is_where_the_failure_reaches_the_level():
    """One player, error 1 at 100 evaluations, 1.2816·3 allowed: σ = 0.26, 15 times as many."""
    one = normal([1.0] * 40, [1.0] + [0.0] * 39)

    def certified(then):
        return Certificate(then, 0.5, 0.1, 0.0).holds

    needed = evaluations_for(one, certified)
    assert needed == pytest.approx(100 * (3 * 1.28155) ** 2, rel=0.01)
    hopeless = normal([0.0] * 40, 1.0)
    assert evaluations_for(hopeless, certified) == 2.0**40


@pytest.mark.parametrize("skewness", [0.5, 2.0])
def test_skewness_moves_tails_as_half_widths_do(skewness):
    """Half-widths and tails are one formula, solved for either."""
    evidence = normal([5.0, -3.0], 0.1, counts=40, skewness=np.array([skewness, -skewness]))
    widths = half_widths(evidence, 0.02)
    np.testing.assert_allclose(exceedance(evidence, widths, 0.1), 0.005, rtol=1e-6)
    assert (widths > half_widths(normal([5.0, -3.0], 0.1, counts=40), 0.02)).all()


def test_a_mean_without_rare_contributions_is_covered():
    """One contribution in 10 is 1, the others 0: of 60 draws few may show it."""
    rng, truth, missed, plain = np.random.default_rng(1), 0.1, 0, 0
    for _ in range(2000):
        moments = Moments(1)
        moments.add((rng.random((60, 1)) < truth).astype(float))
        found = moments.estimate()
        known = {"counts": found.counts, "extremes": found.extremes}
        evidence = normal(found.values, np.sqrt(found.variances), **known)
        plain += abs(found.values[0] - truth) > half_widths(evidence, 0.02)[0]
        evidence = replace(evidence, skewness=found.skewness)
        missed += abs(found.values[0] - truth) > half_widths(evidence, 0.02)[0]
    # 4 standard deviations above 40 of 2000, which Student's t alone exceeds.
    assert missed < 40 + 4 * np.sqrt(39.2) < plain


def test_calm_players_may_have_missed_what_others_show():
    counts, extremes = np.full(3, 50), np.array([9.0, 9.0, 4.0])
    evidence = normal([1.0, 1.0, 0.02], [0.1, 0.1, 1e-4], counts=counts, extremes=extremes)
    largest = np.sqrt(9.0 * 50) * 0.1
    np.testing.assert_allclose(
        allowances(evidence, 0.1), [0.0, 0.0, largest * np.log(3 / 0.1) / 50]
    )


def test_one_contribution_that_is_most_of_the_spread_may_be_too_rare_a_sight():
    extremes = np.array([40.0, 9.0])
    evidence = normal([1.0, 1.0], 0.1, counts=50, extremes=extremes)
    largest = np.sqrt(40.0 * 50) * 0.1
    np.testing.assert_allclose(allowances(evidence, 0.1), [largest / 50, 0.0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"counts": 100}, []),
        ({"counts": 10}, ["the mean of 10 contributions"]),
        ({"obstacle": "players were chosen"}, ["players were chosen"]),
        ({"counts": 5, "exact": True}, []),
    ],
)
def test_doubts_say_why_nothing_is_stated(given, said):
    evidence = normal([1.0, 2.0], 0.1, **given)
    found = doubts(evidence)
    assert len(found) == len(said)
    assert all(part in doubt for part, doubt in zip(said, found, strict=True))
    if found:
        assert np.isinf(half_widths(evidence, 0.1)).all()
        assert not Certificate(evidence, 0.9, 0.5, 1e6).holds
