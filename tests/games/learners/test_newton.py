"""Small linear systems in batches, Newton's method, and quasi-Newton steps of wide tables."""

from dataclasses import dataclass
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from fairshapley.games.learners import batch_learner
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


# --- wide tables ---------------------------------------------------------------------------------


def table(n_rows=150, n_test=40):
    """Numbers and one-hot columns, some of them rare, and sets of all sizes with both classes."""
    rng = np.random.default_rng(3)
    n_all = n_rows + n_test
    codes = np.minimum(rng.geometric(0.12, (n_all, 4)), 15) - 1
    hot = [np.eye(15)[column] for column in codes.T]
    x = np.hstack([rng.normal(size=(n_all, 4)), *hot])
    y = x[:, 0] + codes[:, 1] / 5 - codes[:, 2] / 5 + rng.logistic(size=n_all) > 0
    sets = rng.random((100, n_rows)) < rng.random((100, 1))
    sets[:, [np.flatnonzero(y == label)[0] for label in (False, True)]] = True
    return x[:n_rows], y[:n_rows], x[n_rows:], sets


def both(model):
    """A learner that takes quasi-Newton steps, and one with Newton's method for the same."""
    x, y, x_test, sets = table()
    quick, newton = (batch_learner(model, x, y, x_test) for _ in range(2))
    assert quick._quasi
    newton._by_size = newton._quasi = False
    return quick, newton, sets


def unfinished(learner, sets):
    """Which of the first sets quasi-Newton steps do not finish."""
    with learner.where.quiet:
        return learner._full_fit.minimise(learner._weighed(sets[:96].T)[0])[1]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"solver": "liblinear", "C": 0.1},
        {"class_weight": "balanced"},
        {"class_weight": "balanced", "fit_intercept": False},
    ],
    ids=str,
)
def test_the_fits_are_those_of_newton_s_method(parameters):
    quick, newton, sets = both(LogisticRegression(**parameters))
    decisions = newton.predict(sets, "decision")
    np.testing.assert_allclose(quick.predict(sets, "decision"), decisions, rtol=0, atol=2e-11)
    np.testing.assert_array_equal(quick.predict(sets, "label"), newton.predict(sets, "label"))
    assert not unfinished(quick, sets).any()


def test_what_takes_too_many_steps_is_left_to_newton_s_method():
    quick, newton, sets = both(LogisticRegression(C=1e6))
    assert 0 < unfinished(quick, sets).sum() < 96
    np.testing.assert_allclose(
        quick.predict(sets, "probability"), newton.predict(sets, "probability"), rtol=0, atol=1e-9
    )


def test_batches_and_chunks_give_the_same_bits():
    quick, _, sets = both(LogisticRegression())
    whole = quick.predict(sets, "decision")
    for start, stop in ((0, 1), (3, 10), (20, 57), (10, 10)):
        np.testing.assert_array_equal(
            quick.predict(sets[start:stop], "decision"), whole[start:stop]
        )
    quick._chunk = 32
    np.testing.assert_array_equal(quick.predict(sets, "decision"), whole)
