"""Weights over coalition sizes: known values, probabilities, no overflow."""

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.semivalues import parse_semivalue


def beta_weight(n: int, k: int, a: int, b: int) -> Fraction:
    """C(n−1,k)·B(k+b, n−1−k+a)/B(a,b) in exact arithmetic, for integer a and b."""

    def beta(x: int, y: int) -> Fraction:
        return Fraction(factorial(x - 1) * factorial(y - 1), factorial(x + y - 1))

    return comb(n - 1, k) * beta(k + b, n - 1 - k + a) / beta(a, b)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (16, 1), (4, 1), (1, 8), (3, 5)])
def test_beta_weights_agree_with_exact_arithmetic(n, a, b):
    expected = [float(beta_weight(n, k, a, b)) for k in range(n)]
    np.testing.assert_allclose(fs.BetaShapley(a, b).weights(n), expected, rtol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_banzhaf_weights_are_binomial(n):
    expected = [comb(n - 1, k) / 2 ** (n - 1) for k in range(n)]
    np.testing.assert_allclose(fs.Banzhaf().weights(n), expected, rtol=1e-12)


@given(st.integers(1, 10_000), st.floats(0.1, 50), st.floats(0.1, 50))
def test_weights_are_probabilities_at_any_size(n, a, b):
    for semivalue in (fs.Shapley(), fs.Banzhaf(), fs.BetaShapley(a, b)):
        weights = semivalue.weights(n)
        assert weights.shape == (n,)
        assert np.isfinite(semivalue.log_weights(n)).all()
        assert weights.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("semivalue", [fs.Shapley(), fs.Banzhaf(), fs.BetaShapley(16, 1)])
def test_coalition_weights_do_not_overflow_at_10000_players(semivalue):
    log_weights = semivalue.log_coalition_weights(10_000)
    assert np.isfinite(log_weights).all()
    assert log_weights.min() < -6000  # far below the smallest float: only logarithms can hold it


@pytest.mark.parametrize("semivalue", [fs.Shapley(), fs.Banzhaf(), fs.BetaShapley(16.5, 0.25)])
def test_names_lead_back(semivalue):
    assert parse_semivalue(semivalue.name) == semivalue


@pytest.mark.parametrize("name", ["shap", "beta(1)", "beta(1,)", "beta(0,1)", "beta(1,-2)", "", 7])
def test_unknown_names_are_refused(name):
    with pytest.raises(fs.InputError, match=r"use|above 0"):
        parse_semivalue(name)
