import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairshapley as fs


@given(st.floats(-10, 10), st.floats(1e-6, 10), st.floats(0, 1), st.floats(0.1, 10))
def test_fidelity_does_not_depend_on_the_unit(value, variance, xi, unit):
    one = fs.fidelity([value], [variance], xi)
    other = fs.fidelity([value * unit], [variance * unit**2], xi * unit)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_by_hand():
    np.testing.assert_allclose(fs.fidelity([-2.0, 0.0], [4.0, 1.0], 1.0), [2.25, 1.0])
    assert np.isinf(fs.fidelity([0.0], [0.0], 0.0)).all()
    assert np.isnan(fs.fidelity([1.0], [np.nan])).all()


@pytest.mark.parametrize("xi", [-1e-9, np.nan, np.inf, "x", None])
def test_bad_xi_is_refused(xi):
    with pytest.raises(fs.InputError, match="xi"):
        fs.fidelity([1.0], [1.0], xi)


def test_bad_arrays_are_refused():
    with pytest.raises(fs.InputError, match="same shape"):
        fs.fidelity([1.0], [1.0, 2.0])
    with pytest.raises(fs.InputError, match="negative"):
        fs.fidelity([1.0], [-1.0])
