"""Proposition 1: worked values, both forms, both bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

import fairshapley as fs
from fairshapley.fairness import guarantee
from fairshapley.fairness.guarantees import contributions_needed, lower_fidelity

scores = arrays(np.float64, st.integers(1, 6), elements=st.floats(0.01, 1e4))


def test_published_figures():
    """n = 100, ε1 = 0.5, δ = 0.1."""
    published = {
        (True, "chebyshev"): 3798.5,
        (False, "chebyshev"): 4000,
        (True, "normal"): 42.93,
        (False, "normal"): 43.31,
    }
    for kind, wanted in published.items():
        needed = fs.fairness.required_fidelity(100, 0.5, 0.1, *kind)
        assert needed == pytest.approx(wanted, rel=2e-4)


def test_one_and_two_players_by_hand():
    """n = 1, ε1 = 0.5, f = 40: δ = 1/(0.25·40) = 0.1. Two: 1 − 0.9² = 0.19, or 0.2."""
    assert guarantee([40.0], 0.5, xi=0.0, independent=True).delta == pytest.approx(0.1)
    assert guarantee([40.0, 40.0], 0.5, xi=0.0, independent=True).delta == pytest.approx(0.19)
    assert guarantee([40.0, 40.0], 0.5, xi=0.0, independent=False).delta == pytest.approx(0.2)
    mixed = guarantee([40.0, 80.0], 0.5, xi=0.01, independent=False)
    assert mixed.delta == pytest.approx(0.15)
    assert mixed.delta_from_minimum == pytest.approx(0.2)
    assert mixed.epsilon2 == pytest.approx(0.005)
    np.testing.assert_allclose(mixed.failures, [0.1, 0.05])
    normal = guarantee([16.0], 0.5, xi=0.0, independent=True, bound="normal")
    assert normal.delta == pytest.approx(2 * norm.sf(2.0))
    assert fs.fairness.required_fidelity(1, 0.5, 0.1) == pytest.approx(40)
    assert fs.fairness.required_fidelity(2, 0.5, 0.19) == pytest.approx(40)


@pytest.mark.parametrize("bound", ["chebyshev", "normal"])
@given(scores, st.floats(0.05, 2), st.booleans())
def test_required_fidelity_is_just_enough(bound, fidelity, epsilon1, independent):
    n, delta = len(fidelity), 0.2
    needed = fs.fairness.required_fidelity(n, epsilon1, delta, independent, bound)
    enough = guarantee(np.full(n, needed), epsilon1, xi=0.0, independent=independent, bound=bound)
    assert enough.delta == pytest.approx(delta)


@given(scores, st.floats(0.05, 2))
def test_each_players_own_score_is_never_worse_and_independence_helps(fidelity, epsilon1):
    both = [guarantee(fidelity, epsilon1, xi=0.0, independent=known) for known in (True, False)]
    for one in both:
        assert one.delta <= one.delta_from_minimum + 1e-12
        assert 0 <= one.delta <= 1
    assert both[0].delta <= both[1].delta + 1e-12


def test_exact_values_are_certain():
    result = fs.exact(fs.games.Airport([1.0, 2.0]))
    assert result.guarantee(0.1).delta == 0.0
    assert result.certificate(0.1, 0.05).holds


def test_independence_is_known_from_the_estimator():
    game = fs.games.SumOfUnanimity(12, seed=0)
    single = fs.estimate(game, fs.MonteCarlo(walk=False), budget=1000, seed=0)
    walks = fs.estimate(game, fs.MonteCarlo(), budget=1000, seed=0)
    assert single.guarantee(0.5).independent
    assert not walks.guarantee(0.5).independent
    assert "Shapley fairness by chebyshev" in str(walks.guarantee(0.5))


def test_the_contributions_that_are_needed_are_about_right():
    """Fidelity grows with the number of contributions; 20 % on average over 20 runs."""
    game = fs.games.SumOfUnanimity(14, seed=0)
    ratios = []
    for seed in range(20):
        short, long = (
            fs.estimate(game, "mc", budget=fs.Budget(marginals=14 * each), xi=0.05, seed=seed)
            for each in (300, 900)
        )
        ratios.append(long.min_fidelity / short.min_fidelity / 3)
        needed = contributions_needed(short.fidelity(), short.counts, 3 * short.min_fidelity)
        assert 3 * short.counts.min() < needed < 3 * short.counts.sum()
    assert 0.8 < np.mean(ratios) < 1.2


@pytest.mark.parametrize("wrong", [0, -1, np.nan, np.inf, "a", None, True])
def test_bad_tolerances_and_levels_are_refused(wrong):
    with pytest.raises(fs.InputError, match="epsilon1"):
        guarantee([1.0], wrong, xi=0.0, independent=True)
    with pytest.raises(fs.InputError, match="delta"):
        fs.fairness.required_fidelity(3, 0.5, wrong)


def test_other_bad_input_is_refused():
    for scores, message in (([np.nan], "not known"), ([-1.0], "negative")):
        with pytest.raises(fs.InputError, match=message):
            guarantee(scores, 0.5, xi=0.0, independent=True)


def test_a_fidelity_of_zero_cannot_be_raised():
    with pytest.raises(fs.InputError, match="player 1 has a fidelity of 0"):
        contributions_needed(np.array([3.0, 0.0]), np.array([9, 9]), 40.0)


# Fidelity


@given(st.floats(-10, 10), st.floats(1e-6, 10), st.floats(0, 1), st.floats(0.1, 10))
def test_fidelity_does_not_depend_on_the_unit(value, variance, xi, unit):
    one = fs.fairness.fidelity([value], [variance], xi)
    other = fs.fairness.fidelity([value * unit], [variance * unit**2], xi * unit)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-300)


def test_fidelity_by_hand():
    np.testing.assert_allclose(fs.fairness.fidelity([-2.0, 0.0], [4.0, 1.0], 1.0), [2.25, 1.0])
    assert np.isinf(fs.fairness.fidelity([0.0], [0.0], 0.0)).all()
    assert np.isnan(fs.fairness.fidelity([1.0], [np.nan])).all()


def test_bad_arrays_are_refused():
    with pytest.raises(fs.InputError, match="same shape"):
        fs.fairness.fidelity([1.0], [1.0, 2.0])


@given(st.floats(-10, 10), st.floats(1e-6, 10), st.floats(0, 1))
def test_the_low_reading_is_lower(value, variance, xi):
    low = lower_fidelity([value], [variance], xi)
    assert low <= fs.fairness.fidelity([value], [variance], xi)
    assert low >= xi**2 / variance * (1 - 1e-12)


def test_the_low_minimum_lies_below_the_true_one():
    """In at least 90 % of 200 runs on three games, where the plain one does in fewer."""
    below = plain = 0
    games = [fs.games.SumOfUnanimity(10, seed=s) for s in (1, 2)]
    for game in [*games, fs.testing.PlantedGame(10, seed=3)]:
        xi = 0.1 * float(np.abs(game.shapley_values).mean())
        report = fs.audit(game, "mc", budget=fs.Budget(marginals=400), repeats=200, xi=xi)
        for seed in range(200):
            run = fs.estimate(game, "mc", budget=fs.Budget(marginals=400), xi=xi, seed=seed)
            below += (
                lower_fidelity(run.values, run.evidence.variances, xi).min()
                <= report.min_true_fidelity
            )
            plain += run.min_fidelity <= report.min_true_fidelity
    assert below > 0.9 * 600
    assert plain < below
