"""Certificates: the condition is exact, the intervals cover, the words are right."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

import fairshapley as fs
from fairshapley.fairness import Certificate, Evidence
from fairshapley.fairness.certificate import half_widths, rounded_up
from fairshapley.fairness.tails import allowed_half_width

reals = st.floats(-10, 10)
tolerances = st.floats(0.01, 3)


def evidence(values, errors, counts=1000, **more):
    values = np.atleast_1d(np.asarray(values, dtype=float))
    facts = {"evaluations": 5000, "exact": False, "independent": False} | more
    return Evidence(
        values=values,
        standard_errors=np.broadcast_to(errors, values.shape).astype(float),
        counts=np.broadcast_to(counts, values.shape).astype(int),
        **facts,
    )


def worst_margin(published, centre, half_width, epsilon1, epsilon2):
    """max over φ in the interval of |φ̂ − φ| − ε1|φ| − ε2; its ends and zero are the corners."""
    corners = [centre - half_width, centre + half_width, published]
    if abs(centre) <= half_width:
        corners.append(0.0)
    return max(
        abs(published - phi) - epsilon1 * abs(phi) - epsilon2
        for phi in corners
        if centre - half_width <= phi <= centre + half_width
    )


@given(reals, tolerances, st.floats(0, 2))
def test_the_allowed_width_is_the_largest_with_which_a0_holds(value, epsilon1, epsilon2):
    limit = float(allowed_half_width(np.array([value]), epsilon1, epsilon2)[0])
    inside = min(limit, 1e6) * (1 - 1e-9)
    assert worst_margin(value, value, inside, epsilon1, epsilon2) <= 1e-9
    if limit < 1e6:
        beyond = limit * (1 + 1e-6) + 1e-6
        assert worst_margin(value, value, beyond, epsilon1, epsilon2) > 0


def test_half_widths_by_hand():
    one = evidence([1.0], 0.1, counts=20)
    assert half_widths(one, 0.05)[0] == pytest.approx(0.1 * t.isf(0.025, 19))
    assert half_widths(one, 0.04, "chebyshev")[0] == pytest.approx(0.5)
    two = evidence([1.0, 2.0], 0.1, counts=10**9)
    assert half_widths(two, 0.1)[0] == pytest.approx(0.1 * norm.isf(0.025))
    apart = replace(two, independent=True)
    assert half_widths(apart, 0.19)[0] == pytest.approx(0.1 * norm.isf(0.05))
    ranged = evidence([1.0], 0.1, counts=101, contribution_width=2.0)
    log = np.log(4 / 0.05)
    expected = 0.1 * np.sqrt(2 * log) + 7 * 2.0 * log / (3 * 100)
    assert half_widths(ranged, 0.05, "bernstein")[0] == pytest.approx(expected)
    assert half_widths(replace(one, exact=True), 0.05)[0] == 0.0


def test_a_normal_certificate_is_one_sided_and_spends_the_level_where_it_is_needed():
    """n = 100, ε1 = 0.5, δ = 0.1: 3.09²·9 when |φ̂| ≫ ξ; of one doubtful player 1.28²·9."""
    one = evidence(np.ones(100), np.append(1 / 1.3 / 3, np.full(99, 1e-3)), counts=10**9)
    assert Certificate(one, 0.5, 0.1, xi=0.0).holds
    assert Certificate(one, 0.5, 0.1, xi=0.0).failure == pytest.approx(norm.sf(1.3) + norm.sf(3.9))
    needed = 9 * norm.isf(0.001) ** 2
    for factor, holds in ((1.01, True), (0.99, False)):
        errors = 1.0 / np.sqrt(factor * needed)
        many = evidence(np.ones(100), errors, counts=10**9)
        assert Certificate(many, 0.5, 0.1, xi=0.0).holds is holds


def test_the_statement_says_who_how_much_how_sure_and_from_what():
    certificate = Certificate(evidence(np.ones(7), 0.01), 0.5, 0.1, xi=0.2)
    text = str(certificate)
    for words in (
        "Each of the 7 values",
        f"at most {rounded_up(certificate.tightest):.6g} times the size of the true value plus",
        "probability of at least 0.9; the request was 0.5.",
        "5,000 evaluations",
        "normally distributed",
        "possibly dependent",
        "not cover the choice of the test set behind it",
    ):
        assert words in text
    assert certificate.worst_players.size == 0


def test_what_is_missing_is_said():
    certificate = Certificate(evidence([1.0, 0.5, 2.0], [0.01, 1.0, 2.0]), 0.5, 0.1, xi=0.0)
    assert not certificate.holds
    assert certificate.worst_players.tolist() == [1, 2]
    assert "2 of 3 players are too wide; player 1" in str(certificate)


@pytest.mark.parametrize("bound", ["normal", "chebyshev"])
def test_an_obstacle_refuses_whatever_the_numbers(bound):
    blocked = evidence(np.ones(3), 1e-9, obstacle="it reuses its samples")
    certificate = Certificate(blocked, 0.5, 0.1, xi=0.0, bound=bound)
    assert not certificate.holds
    assert str(certificate) == "Not certified at ε1 = 0.5: it reuses its samples."


def test_a_large_tolerance_near_zero_is_warned_of():
    assert "says very little" in str(Certificate(evidence(np.ones(2), 1e-3), 0.5, 0.1, xi=5.0))
    assert not Certificate(evidence(np.ones(2), 1e-3), 0.5, 0.1, xi=0.0).warning


def test_equal_contributions_need_a_range():
    """All that was seen was equal: what was not seen is bounded by the range alone."""
    odd = fs.games.FunctionGame(lambda s: len(s) + 30.0 * (s == (0, 1)), 14)
    result = fs.estimate(odd, "mc", budget=1500, xi=0.1, seed=1)
    assert (result.evidence.extremes == 0).any()
    certificate = result.certificate(0.1, 0.1)
    assert not certificate.holds
    assert "declared range" in certificate.reason
    odd.value_range = (0.0, 32.0)
    ranged = fs.estimate(odd, "mc", budget=1500, xi=0.1, seed=1)
    equal = ranged.evidence.extremes == 0
    expected = 64.0 * np.log(140) / ranged.counts
    np.testing.assert_allclose(ranged.certificate(0.1, 0.1).half_widths[equal], expected[equal])


@pytest.mark.parametrize("method", ["mc", "sobol", "orthogonal", "owen", "stratified", "kernel"])
def test_nothing_seen_is_no_certificate(method):
    needle = tuple(range(10))
    game = fs.games.FunctionGame(lambda s: float(s == needle), 20)
    result = fs.estimate(game, method, budget=2000, seed=0)
    assert not (result.standard_errors == 0).any()
    found = result.certificate(0.1, 0.01, xi=0.0)
    assert not found.holds
    assert "every contribution seen was 0" in found.reason


def test_the_error_of_a_declared_null_player_is_known():
    game = fs.testing.with_null_players(fs.games.SumOfUnanimity(12, seed=1), 2)
    walks = fs.estimate(game, "mc", budget=2000, xi=0.1, seed=0)
    assert np.isinf(walks.fidelity()[-2:]).all()
    kernel = fs.estimate(game, "kernel", budget=2000, xi=0.1, seed=0)
    widths = kernel.certificate(0.5, 0.1).half_widths
    np.testing.assert_array_equal(widths[-2:], np.abs(kernel.values[-2:]))


def test_confidence_sequences_hold_at_all_times():
    """400 players' means followed from 100 to 2000 samples; at level 0.05 at most 20 + 4.5 sd."""
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(2000, 400)) - 1.0
    counts = np.arange(1, 2001)[:, None]
    means = np.cumsum(samples, axis=0) / counts
    squares = np.cumsum(np.square(samples), axis=0) / counts
    variances = (squares - np.square(means)) / np.maximum(counts - 1, 1)
    missed = np.zeros(400, dtype=bool)
    for time in range(100, 2001, 5):
        for player in np.flatnonzero(~missed):
            one = evidence([means[time - 1, player]], variances[time - 1, player] ** 0.5, time)
            missed[player] = abs(one.values[0]) > half_widths(one, 0.05, sequential=True)[0]
    assert missed.sum() <= 20 + 4.5 * (400 * 0.05 * 0.95) ** 0.5
    assert np.isinf(half_widths(evidence([1.0], 0.1, 99), 0.05, sequential=True)).all()


def test_bernstein_needs_a_range_and_gets_it_from_the_game():
    table = fs.games.FunctionGame(lambda s: float(len(s) > 6), 14, value_range=(0.0, 1.0))
    result = fs.estimate(table, fs.MonteCarlo(), budget=3000, seed=0)
    assert result.evidence.contribution_width == pytest.approx(2.0)
    wide = result.certificate(0.5, 0.1, xi=1.0, bound="bernstein")
    assert (wide.half_widths > result.certificate(0.5, 0.1, xi=1.0).half_widths).all()
    beta = fs.estimate(table, "mc", budget=3000, seed=0, semivalue="beta(16,1)")
    width = 2 * 14 * fs.BetaShapley(16, 1).weights(14)[0]
    assert beta.evidence.contribution_width == pytest.approx(width)
    plain = fs.games.FunctionGame(lambda s: float(len(s) > 6), 14)
    unknown = fs.estimate(plain, "mc", budget=3000, seed=0)
    with pytest.raises(fs.InputError, match="value_range"):
        unknown.certificate(0.5, 0.1, bound="bernstein")
    plain.value_range = (1.0, 0.0)
    with pytest.raises(fs.InputError, match="value_range"):
        fs.estimate(plain, "mc", budget=100)


def test_skipped_evaluations_and_partial_results_get_no_certificate():
    game = fs.games.FunctionGame(
        lambda s: float("nan") if s == (0,) else float(len(s)), 12, key="skip"
    )
    result = fs.estimate(game, "mc", budget=1000, seed=0, on_error="skip")
    certificate = result.certificate(0.5, 0.1)
    assert not certificate.holds
    assert "skipped" in certificate.reason
    with pytest.raises(fs.InputError, match="skipped"):
        result.decisions()
    with pytest.raises(fs.errors.GameError) as caught:
        fs.estimate(game, "mc", budget=1000, seed=0)
    assert "did not finish" in caught.value.partial.evidence.obstacle


def test_a_run_stopped_by_its_fidelity_is_held_to_a_confidence_sequence():
    game = fs.games.SumOfUnanimity(14, seed=0)
    rule = fs.Fidelity(at_least=40)
    stopped = fs.estimate(game, "mc", until=rule, budget=15_000, xi=0.1, seed=0)
    assert stopped.run.sequential
    fixed = fs.estimate(game, "mc", budget=stopped.evaluations, xi=0.1, seed=0)
    assert fixed.values.tobytes() == stopped.values.tobytes()
    widths = [run.certificate(0.5, 0.1).half_widths for run in (stopped, fixed)]
    assert (widths[0] > widths[1]).all()
    np.testing.assert_allclose(stopped.decisions(0.1).upper, stopped.values + widths[0])
    assert "looked at its estimates" in stopped.certificate(0.5, 0.1, bound="chebyshev").reason
    with pytest.raises(fs.InputError, match="normal bound"):
        stopped.decisions(0.1, bound="chebyshev")


@pytest.mark.parametrize(
    "arguments", [{"epsilon1": 0}, {"delta": 1}, {"delta": 0}, {"xi": -1}, {"bound": "magic"}]
)
def test_bad_arguments_are_refused(arguments):
    result = fs.estimate(fs.games.SumOfUnanimity(12, seed=0), "mc", budget=500, seed=0)
    with pytest.raises(fs.InputError, match=next(iter(arguments))):
        result.certificate(**({"epsilon1": 0.5, "delta": 0.1} | arguments))


def test_a_single_contribution_is_not_enough():
    game = fs.games.SumOfUnanimity(30, seed=0)
    one = fs.estimate(game, "mc", budget=40, seed=0)
    assert "fewer than 2 contributions" in one.certificate(0.5, 0.1).reason
    with pytest.raises(fs.InputError, match="not known"):
        one.guarantee(0.5)
