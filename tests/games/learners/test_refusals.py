"""What has no learner is refused with the reason; bad data and sets are named."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairshapley.errors import GameError
from fairshapley.games.learners import NotVectorisedError, batch_learner
from fairshapley.games.learners.arrays import Backend
from fairshapley.games.learners.learner import Products
from fairshapley.games.learners.newton import minimise

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 3.0]])
Y = np.array([0, 1, 0, 1])


class OwnRidge(Ridge):
    """May fit in another way."""


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomForestClassifier(), "RandomForestClassifier has no vectorised learner"),
        (OwnRidge(), "OwnRidge is a subclass of Ridge"),
        (make_pipeline(StandardScaler(), Ridge()), "Pipeline fits its steps"),
        (LogisticRegression(C=np.inf), "no minimum"),
        (LogisticRegression(penalty=None), "penalty=None"),
        (LogisticRegression(penalty="l1", solver="saga"), "penalty='l1'"),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), "l1_ratio=0.5"),
        (LogisticRegression(max_iter=5), "max_iter=5"),
        (LogisticRegression(tol=0.1), "tol=0.1"),
        (LogisticRegression(class_weight="heavy"), "class_weight='heavy'"),
        (LogisticRegression(solver="liblinear", intercept_scaling=0), "intercept_scaling=0"),
        (LinearRegression(), "LinearRegression has no vectorised learner"),
        (Ridge(alpha=0.0), "alpha=0.0"),
        (Ridge(solver="sag"), "solver='sag'"),
        (Ridge(positive=True), "positive=True"),
        (RidgeClassifier(class_weight="balanced"), "class_weight='balanced'"),
        (KNeighborsClassifier(0), "n_neighbors must be a whole number of at least 1, not 0"),
        (KNeighborsRegressor(weights="distance"), "weights='distance'"),
        (KNeighborsClassifier(metric="cosine"), "metric='cosine'"),
        (KNeighborsClassifier(p=0.5), "p=0.5"),
        (KNeighborsClassifier(metric_params={"w": [1, 2]}), "metric_params="),
        (GaussianNB(priors=[0.5, 0.5]), "priors=[0.5, 0.5]"),
    ],
)
def test_models_without_a_learner(model, reason):
    with pytest.raises(NotVectorisedError, match=re.escape(reason)):
        batch_learner(model, X, Y, X)


@pytest.mark.parametrize(
    ("features", "targets", "test", "reason"),
    [
        (csr_array(X), Y, X, "X is a sparse matrix"),
        (X, Y, csr_array(X), "X_test is a sparse matrix"),
        (np.where(X > 4, np.nan, X), Y, X, "X holds NaN"),
        (X, Y, X + np.inf, "X_test holds NaN"),
    ],
)
def test_data_without_a_learner(features, targets, test, reason):
    with pytest.raises(NotVectorisedError, match=reason):
        batch_learner(LogisticRegression(), features, targets, test)


@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_distances_do_not_overflow(p):
    learner = batch_learner(KNeighborsClassifier(1, p=p), 1e307 * X, Y, -1e307 * X)
    assert np.isfinite(learner.predict(np.ones((1, len(X)), dtype=bool), "probability")).all()


def test_three_classes_with_liblinear():
    with pytest.raises(NotVectorisedError, match="two classes"):
        batch_learner(LogisticRegression(solver="liblinear"), X, [0, 1, 2, 0], X)


def test_too_large():
    with pytest.raises(NotVectorisedError, match=r"401 columns .* at most 400 are fitted"):
        Products(np.zeros((2, 401)), Backend())
    with pytest.raises(NotVectorisedError, match=r"sorted neighbours would take 3\.2 GB"):
        batch_learner(
            KNeighborsClassifier(), np.ones((10_000, 1)), [0, 1] * 5_000, np.ones((10_000, 1))
        )
    wide = np.random.default_rng(0).normal(size=(30, 70))
    with pytest.raises(NotVectorisedError, match="10 classes of 30 coefficients"):
        batch_learner(LogisticRegression(), wide, np.arange(30) % 10, wide)


class Exponential:
    """exp(p) − 10·p, whose minimum log 10 takes some steps from 0."""

    def derivatives(self, margins, parameters):
        return np.exp(margins) - 10.0, np.exp(margins)[None]

    def margins(self, parameters):
        return parameters

    def take(self, columns):
        return self


def test_a_fit_that_does_not_converge_says_what_to_do():
    start = np.zeros((1, 32))
    np.testing.assert_allclose(minimise(Exponential(), start, Backend()), np.log(10.0))
    with pytest.raises(GameError, match="32 fits did not converge in 2 Newton steps: scale"):
        minimise(Exponential(), start, Backend(), max_iterations=2)
