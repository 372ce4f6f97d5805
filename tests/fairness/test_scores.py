import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.fairness.guarantees import lower_fidelity


@given(st.floats(-10, 10), st.floats(1e-6, 10), st.floats(0, 1), st.floats(0.1, 10))
def test_fidelity_does_not_depend_on_the_unit(value, variance, xi, unit):
    one = fs.fairness.fidelity([value], [variance], xi)
    other = fs.fairness.fidelity([value * unit], [variance * unit**2], xi * unit)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-300)


def test_by_hand():
    np.testing.assert_allclose(fs.fairness.fidelity([-2.0, 0.0], [4.0, 1.0], 1.0), [2.25, 1.0])
    assert np.isinf(fs.fairness.fidelity([0.0], [0.0], 0.0)).all()
    assert np.isnan(fs.fairness.fidelity([1.0], [np.nan])).all()


@pytest.mark.parametrize("xi", [-1e-9, np.nan, np.inf, "x", None])
def test_bad_xi_is_refused(xi):
    with pytest.raises(fs.InputError, match="xi"):
        fs.fairness.fidelity([1.0], [1.0], xi)


def test_bad_arrays_are_refused():
    with pytest.raises(fs.InputError, match="same shape"):
        fs.fairness.fidelity([1.0], [1.0, 2.0])
    with pytest.raises(fs.InputError, match="negative"):
        fs.fairness.fidelity([1.0], [-1.0])


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
