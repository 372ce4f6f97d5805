"""Small linear systems in batches, and Newton's method on functions with known minima."""

from dataclasses import dataclass
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley.games.learners.arrays import Backend
from fairshapley.games.learners.newton import minimise, solve


@given(width=st.integers(1, 20), count=st.integers(1, 5), seed=st.integers(0, 1000))
def test_solutions_solve(width, count, seed):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(count, width, width))
    matrices = np.moveaxis(roots @ roots.transpose(0, 2, 1) + np.eye(width), 0, 2)
    right = rng.normal(size=(width, 2, count))
    before = matrices.copy(), right.copy()
    solution = solve(xp, matrices, right)
    product = np.einsum("ijs,jks->iks", matrices, solution)
    np.testing.assert_allclose(product, right, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(matrices, before[0])
    np.testing.assert_array_equal(right, before[1])


@dataclass
class Steep:
    """Σ_s (√(1 + (x − a_s)²)): full Newton steps from |x − a| > 1 run away."""

    centres: Any

    def margins(self, parameters):
        return parameters

    def derivatives(self, margins, parameters):
        away = margins - self.centres
        root = np.sqrt(1.0 + away**2)
        return away / root, (1.0 / root**3)[None]

    def take(self, columns):
        return Steep(self.centres[columns])


@pytest.mark.parametrize("count", [32, 96])
def test_newton_holds_back_where_full_steps_diverge(count):
    centres = np.linspace(-30.0, 30.0, count)
    found = minimise(Steep(centres), np.zeros((1, count)), Backend())
    np.testing.assert_allclose(found[0], centres, atol=1e-9)
