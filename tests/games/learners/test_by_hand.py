"""Tiny fits whose answers are known in closed form."""

# ruff: noqa: N806 - features are X, as in scikit-learn

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fairshapley.games.learners import batch_learner
from fairshapley.games.learners.arrays import Backend
from fairshapley.games.learners.learner import Products


def rows(*sets):
    """Sets written as strings of 0 and 1."""
    return np.array([[mark == "1" for mark in one] for one in sets])


@pytest.mark.parametrize("solver", ["liblinear", "lbfgs", "newton-cg", "saga"])
def test_logistic_of_two_opposite_rows(solver):
    # At x = ±1 the intercept is 0 and w = 2C/(1 + e^w), which w = ln 3 solves at C = 2 ln 3.
    model = LogisticRegression(C=2 * math.log(3), solver=solver)
    learner = batch_learner(model, [[-1.0], [1.0]], ["no", "yes"], [[1.0], [2.0], [0.0]])
    chances = learner.predict(rows("11"), "probability")
    np.testing.assert_allclose(chances[0, :, 1], [3 / 4, 9 / 10, 1 / 2], rtol=1e-12)
    np.testing.assert_allclose(
        learner.predict(rows("11"), "decision")[0], [math.log(3), math.log(9), 0.0], atol=1e-12
    )
    assert learner.predict(rows("11"), "label").tolist() == [[1, 1, 0]]


def test_neighbours_at_equal_distance_come_in_order():
    learner = batch_learner(KNeighborsClassifier(1), [[1.0], [-1.0]], [1, 0], [[0.0]])
    assert learner.predict(rows("11"), "label").tolist() == [[1]]


def test_many_neighbours():
    # More votes than a byte holds.
    X, y = np.arange(600.0)[:, None], np.arange(600) % 3 == 0
    learner = batch_learner(KNeighborsClassifier(300), X, y, [[0.0]])
    chances = learner.predict(np.ones((1, 600), dtype=bool), "probability")
    np.testing.assert_array_equal(chances, [[[2 / 3, 1 / 3]]])


def test_naive_bayes_of_equal_rows_has_no_variance():
    # Three equal values whose mean is not exact in binary.
    X, y = [[0.1], [0.1], [0.1], [0.5], [0.9]], [0, 0, 0, 1, 1]
    learner = batch_learner(GaussianNB(), X, y, [[0.1], [0.2]])
    assert learner.predict(rows("11111"), "label").tolist() == [[0, 1]]


def test_products_that_are_too_many_to_be_kept():
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(3000, 150)), rng.random((3000, 2))
    products = Products(features, Backend())
    assert products._kept is None
    expected = features.T @ (weights[:, 1:] * features)
    np.testing.assert_allclose(products.sums(weights)[:, :, 1], expected, rtol=1e-9, atol=1e-9)
