"""Every learner against scikit-learn, fitted to one random set of rows after another."""

# ruff: noqa: N803, N806

import warnings
from functools import cache

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from threadpoolctl import threadpool_limits

from fairshapley.games.learners import batch_learner

LOADERS = {
    "breast cancer": load_breast_cancer,
    "wine": load_wine,
    "diabetes": load_diabetes,
}


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other make forty rows take a hundred times as long."""
    with threadpool_limits(1):
        yield


@cache
def data(name):
    """90 training rows, features standardised by them, and 40 test rows."""
    X, y = LOADERS[name](return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))[:130]
    X, y = X[order], y[order]
    X = (X - X[:90].mean(axis=0)) / X[:90].std(axis=0)
    return X[:90], y[:90], X[90:], y[90:]


def random_sets(y, count, classifier, seed=0):
    """Sets of all sizes alike, from two rows up; for classifiers with more rows than classes."""
    rng = np.random.default_rng(seed)
    sets = []
    while len(sets) < count:
        rows = np.zeros(len(y), dtype=bool)
        rows[rng.permutation(len(y))[: rng.integers(2, len(y) + 1)]] = True
        n_classes = len(np.unique(y[rows]))
        if not classifier or 1 < n_classes < rows.sum():
            sets.append(rows)
    return np.array(sets)


def fitted(model, X, y):
    model = clone(model)
    if hasattr(model, "n_neighbors"):
        model.set_params(n_neighbors=min(model.n_neighbors, len(y)))
    with warnings.catch_warnings():
        # The tolerance asked for is below what liblinear can reach.
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        # A class with one row has a covariance of 0, as it should.
        warnings.filterwarnings("ignore", "Only one sample available")
        return model.fit(X, y)


def probabilities(model, X_test, classes):
    """predict_proba with a column for each of `classes`."""
    full = np.zeros((len(X_test), len(classes)))
    full[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X_test)
    return full


def compare(name, model, count, *, reference=None, rtol=1e-6, atol=1e-9, every=1):
    """All labels and values; of probabilities and decisions those of every so many sets."""
    X, y, X_test, y_test = data(name)
    classifier = is_classifier(model)
    sets = random_sets(y, count, classifier)
    learner = batch_learner(model, X, y, X_test)
    got = {kind: np.asarray(learner.predict(sets, kind)) for kind in learner.kinds}
    classes = np.unique(y)
    differing = 0
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for i, rows in enumerate(sets):
            one = fitted(reference or model, X[rows], y[rows])
            if "value" in got:
                expected = one.predict(X_test)
                scale = np.abs(expected).max()
                np.testing.assert_allclose(got["value"][i], expected, rtol=rtol, atol=rtol * scale)
            if "probability" in got and i % every == 0:
                expected = probabilities(one, X_test, classes)
                np.testing.assert_allclose(got["probability"][i], expected, rtol=rtol, atol=atol)
            if "decision" in got and i % every == 0:
                expected = one.decision_function(X_test)
                scale = np.abs(expected).max()
                np.testing.assert_allclose(
                    got["decision"][i], expected, rtol=rtol, atol=rtol * scale + atol
                )
            if "label" in got:
                accuracy = np.mean(one.predict(X_test) == y_test)
                differing += np.mean(classes[got["label"][i]] == y_test) != accuracy
    assert differing <= 0.001 * count


def tight(**parameters):
    """scikit-learn's exact Newton solver, to the last digits."""
    return LogisticRegression(**parameters, solver="newton-cholesky", tol=1e-12, max_iter=10_000)


LIBLINEAR = LogisticRegression(solver="liblinear", C=0.05)
# liblinear stops earlier than its tolerance asks for.
LIBLINEAR_TIGHT = LogisticRegression(solver="liblinear", C=0.05, tol=1e-12, max_iter=10_000)

# Data, model, how many sets in the short form, and what to compare with.
CASES = {
    "logistic, liblinear": ("breast cancer", LIBLINEAR, 200, LIBLINEAR_TIGHT, 1e-6, 1e-6),
    "logistic": ("breast cancer", LogisticRegression(C=0.5), 60, tight(C=0.5)),
    "logistic, three classes": ("wine", LogisticRegression(), 60, tight()),
    "logistic, balanced": (
        "breast cancer",
        LogisticRegression(class_weight="balanced", fit_intercept=False),
        30,
        tight(class_weight="balanced", fit_intercept=False),
    ),
    "ridge": ("diabetes", Ridge(), 200),
    "ridge, no intercept": ("breast cancer", Ridge(alpha=0.1, fit_intercept=False), 60),
    "ridge classifier": ("breast cancer", RidgeClassifier(), 60),
    "ridge classifier, three classes": ("wine", RidgeClassifier(alpha=0.5), 60),
    "5 neighbours": ("breast cancer", KNeighborsClassifier(), 200),
    "1 neighbour, three classes": ("wine", KNeighborsClassifier(1), 60),
    "neighbours, Manhattan": ("wine", KNeighborsClassifier(7, p=1), 60),
    "neighbours, regression": ("diabetes", KNeighborsRegressor(), 60),
    "naive Bayes": ("breast cancer", GaussianNB(), 200),
    "naive Bayes, three classes": ("wine", GaussianNB(var_smoothing=1e-3), 60),
}


def run(case, count=None, every=1):
    name, model, short, *rest = CASES[case]
    reference, rtol, atol = (*rest, *(None, 1e-6, 1e-9)[len(rest) :])
    count = count or short
    compare(name, model, count, reference=reference, rtol=rtol, atol=atol, every=every)


@pytest.mark.parametrize("case", CASES)
def test_equals_scikit_learn(case):
    run(case, every=4)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_equals_scikit_learn_at_length(case):
    run(case, count=1000)


@pytest.mark.parametrize(("scaling", "fit_intercept"), [(1.0, True), (5.0, True), (1.0, False)])
def test_liblinear_is_a_penalised_constant_column(scaling, fit_intercept):
    """liblinear's own answer is rough; the same objective has an exact solver."""
    X, y, X_test, _ = data("breast cancer")
    model = LogisticRegression(
        solver="liblinear", C=2.0, intercept_scaling=scaling, fit_intercept=fit_intercept
    )
    sets = random_sets(y, 20, True)
    got = batch_learner(model, X, y, X_test).predict(sets, "decision")
    column = [scaling] if fit_intercept else []
    wide, wide_test = (np.hstack([Z, np.tile(column, (len(Z), 1))]) for Z in (X, X_test))
    exact = tight(C=2.0, fit_intercept=False)
    for i, rows in enumerate(sets):
        expected = fitted(exact, wide[rows], y[rows]).decision_function(wide_test)
        np.testing.assert_allclose(got[i], expected, rtol=1e-7, atol=1e-7)


def test_features_on_their_own_scale():
    """Features from 1e−3 to 1e3 in size: normal equations and Newton steps still hold."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y, X_test = X[:90], y[:90], X[90:150]
    sets = random_sets(y, 25, True)
    for model, reference in (
        (LogisticRegression(), tight()),
        (GaussianNB(), GaussianNB()),
    ):
        got = batch_learner(model, X, y, X_test).predict(sets, "probability")
        for i, rows in enumerate(sets):
            expected = fitted(reference, X[rows], y[rows]).predict_proba(X_test)
            np.testing.assert_allclose(got[i], expected, rtol=1e-6, atol=1e-8)


def test_more_features_than_rows():
    """Coordinates in the space of the rows: 64 features of 40 rows."""
    X, y = sklearn.datasets.load_digits(return_X_y=True)
    X, y, X_test = X[:40], y[:40] % 2, X[40:80]
    sets = random_sets(y, 25, True)
    got = batch_learner(LogisticRegression(C=0.01), X, y, X_test).predict(sets, "probability")
    values = batch_learner(Ridge(alpha=10.0), X, y, X_test).predict(sets, "value")
    for i, rows in enumerate(sets):
        expected = fitted(tight(C=0.01), X[rows], y[rows]).predict_proba(X_test)
        np.testing.assert_allclose(got[i], expected, rtol=1e-6, atol=1e-9)
        expected = Ridge(alpha=10.0).fit(X[rows], y[rows]).predict(X_test)
        np.testing.assert_allclose(values[i], expected, rtol=1e-9, atol=1e-9)


def test_columns_that_are_constant_or_equal_in_a_set():
    """Sets without rank: a column repeated, one that only a few rows have, a constant one."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 6))
    X[:, 3] = X[:, 2]
    X[:, 4] = np.arange(40) < 5
    X[:, 5] = 2.0
    y = X @ rng.normal(size=6) + rng.normal(size=40)
    X_test = rng.normal(size=(10, 6))
    sets = random_sets(y, 60, False, seed=3)
    model = Ridge(alpha=0.1)
    got = batch_learner(model, X, y, X_test).predict(sets, "value")
    for i, rows in enumerate(sets):
        expected = model.fit(X[rows], y[rows]).predict(X_test)
        np.testing.assert_allclose(got[i], expected, rtol=1e-7, atol=1e-7)
