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


def test_logistic_three_classes_and_two_of_them():
    # Rows e_k of class k. With all three, w_kk − w_jk = C (1 − p + p′) = ln(p/p′) by symmetry,
    # which p = 1/2 and p′ = 1/4 solve at C = ln 2 / (3/4).
    strength = math.log(2) / 0.75
    X, y = np.eye(3), ["a", "b", "c"]
    learner = batch_learner(LogisticRegression(C=strength), X, y, X)
    chances = learner.predict(rows("111", "101"), "probability")
    np.testing.assert_allclose(chances[0], 0.25 + 0.25 * np.eye(3), rtol=1e-12)
    # Two classes are a binary problem, one vector w = v (e_3 − e_1) with v = C/(1 + e^v), not a
    # multinomial one, where the penalty would be shared by two vectors.
    v = 0.3
    for _ in range(60):
        v -= (v * (1 + math.exp(v)) - strength) / (1 + math.exp(v) + v * math.exp(v))
    high = 1 / (1 + math.exp(-v))
    np.testing.assert_allclose(chances[1, 2], [1 - high, 0.0, high], rtol=1e-12)
    np.testing.assert_allclose(chances[1, 1], [0.5, 0.0, 0.5], rtol=1e-12)
    labels = learner.predict(rows("111", "101"), "label")
    assert labels.tolist() == [[0, 1, 2], [0, 0, 2]]


def test_neighbours_vote():
    X, y = [[0.0], [1.0], [2.0], [4.0]], ["b", "a", "a", "b"]
    learner = batch_learner(KNeighborsClassifier(3), X, y, [[-1.0], [4.5]])
    got = learner.predict(rows("1111", "1001", "1010", "0001"), "label")
    # All: b a a and b a a. Rows 0, 3: b. Rows 0, 2: one vote each, the first class. Row 3: b.
    assert got.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    chances = learner.predict(rows("1111", "1010"), "probability")
    np.testing.assert_array_equal(chances[:, 0, 0], [2 / 3, 1 / 2])


def test_neighbours_at_equal_distance_come_in_order():
    learner = batch_learner(KNeighborsClassifier(1), [[1.0], [-1.0]], [1, 0], [[0.0]])
    assert learner.predict(rows("11"), "label").tolist() == [[1]]


def test_many_neighbours():
    # More votes than a byte holds.
    X, y = np.arange(600.0)[:, None], np.arange(600) % 3 == 0
    learner = batch_learner(KNeighborsClassifier(300), X, y, [[0.0]])
    chances = learner.predict(np.ones((1, 600), dtype=bool), "probability")
    np.testing.assert_array_equal(chances, [[[2 / 3, 1 / 3]]])


def test_naive_bayes():
    # Means 1 and 8, variances 1 + ε with ε = 1e−9 times the variance of 0, 2, 7, 9, 13.25.
    learner = batch_learner(GaussianNB(), [[0.0], [2.0], [7.0], [9.0]], [0, 0, 1, 1], [[4.4]])
    chances = learner.predict(rows("1111"), "probability")[0, 0]
    expected = (3.6**2 - 3.4**2) / 2 / (1 + 13.25e-9)
    np.testing.assert_allclose(math.log(chances[0] / chances[1]), expected, rtol=1e-11)
    # One row of the second class: its variance is ε, the other's 1 + ε, the priors 2 to 1.
    learner = batch_learner(
        GaussianNB(var_smoothing=0.1), [[0.0], [2.0], [7.0]], [0, 0, 1], [[5.0]]
    )
    epsilon = 0.1 * np.var([0.0, 2.0, 7.0])
    first = math.log(2 / 3) - 0.5 * math.log(1 + epsilon) - 16 / 2 / (1 + epsilon)
    second = math.log(1 / 3) - 0.5 * math.log(epsilon) - 4 / 2 / epsilon
    chances = learner.predict(rows("111"), "probability")[0, 0]
    np.testing.assert_allclose(math.log(chances[0] / chances[1]), first - second, rtol=1e-12)


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
