"""Small data sets that ship with scikit-learn, and coalitions of their rows, for the tests."""

# ruff: noqa: N806 - features are X, as in scikit-learn

import itertools

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler


def sample(load, n_train, n_test, seed=0):
    """Standardised training and test rows of a data set that ships with scikit-learn."""
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return (X[train], y[train]), (X[test], y[test])


def coalitions_of(n_players, count, seed=0):
    """Coalitions of all sizes."""
    rng = np.random.default_rng(seed)
    return rng.random((count, n_players)) < rng.random((count, 1))


def all_coalitions(n_players):
    return np.array(list(itertools.product([False, True], repeat=n_players)))


CANCER = sample(load_breast_cancer, 24, 40)
IRIS = sample(load_iris, 24, 40)
DIABETES = sample(load_diabetes, 24, 40)
