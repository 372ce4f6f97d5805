"""Numpy and torch, chunks and batches, pickles: the same predictions."""

# ruff: noqa: N806 - features are X, as in scikit-learn

import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from threadpoolctl import threadpool_limits

from fairshapley.errors import InputError, MissingExtraError
from fairshapley.games.learners import batch_learner

CLASSIFIERS = [
    LogisticRegression(C=3.0),
    LogisticRegression(class_weight="balanced", fit_intercept=False),
    RidgeClassifier(),
    KNeighborsClassifier(3),
    GaussianNB(),
]
BINARY = [LogisticRegression(solver="liblinear"), *CLASSIFIERS]
REGRESSORS = [
    Ridge(),
    KNeighborsRegressor(3),
]
CASES = [
    *((model, "three") for model in CLASSIFIERS),
    *((model, "two") for model in BINARY),
    *((model, "values") for model in REGRESSORS),
]


def problem(target):
    """50 training rows, 20 test rows, and 70 sets of all sizes with at least two classes."""
    X, y = (load_diabetes if target == "values" else load_wine)(return_X_y=True)
    rng = np.random.default_rng(5)
    order = rng.permutation(len(y))[:70]
    X, y = X[order] / X[order].std(axis=0), y[order]
    if target == "two":
        y = y == 1
    sets = rng.random((70, 50)) < rng.random((70, 1))
    for rows in sets:
        rows[[np.flatnonzero(y[:50] == label)[0] for label in np.unique(y)[:2]]] = True
    return X[:50], y[:50], X[50:], sets


def ids(case):
    return f"{case[0]}-{case[1]}" if isinstance(case, tuple) else None


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_batches_chunks_and_threads_give_the_same_bits(case):
    model, target = case
    X, y, X_test, sets = problem(target)
    learner = batch_learner(model, X, y, X_test)
    for kind in learner.kinds:
        whole = learner.predict(sets, kind)
        assert whole.shape[:2] == (70, 20)
        for start, stop in ((0, 1), (3, 10), (20, 57), (10, 10)):
            part = learner.predict(sets[start:stop], kind)
            np.testing.assert_array_equal(part, whole[start:stop])
            assert part.dtype == whole.dtype
    learner._chunk = 32
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            np.testing.assert_array_equal(learner.predict(sets, kind), whole)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_torch_equals_numpy(case):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model, target = case
    X, y, X_test, sets = problem(target)
    learner = batch_learner(model, X, y, X_test)
    other = batch_learner(model, X, y, X_test, device="cpu")
    rough = batch_learner(model, X, y, X_test, device="cpu", dtype="float32")
    for kind in learner.kinds:
        expected = learner.predict(sets, kind)
        got = other.predict(sets, kind)
        assert isinstance(got, torch.Tensor)
        assert str(got.dtype).removeprefix("torch.") == str(expected.dtype)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-9, atol=1e-9)
        if kind in ("probability", "value"):
            got = rough.predict(sets, kind)
            assert got.dtype == torch.float32
            # Single precision: 1e−7 times a condition that only the smallest sets make large.
            error = np.quantile(np.abs(got.numpy() - expected), 0.9)
            assert error < 1e-3 * np.abs(expected).max()


def test_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install .torch"):
        batch_learner(Ridge(), [[0.0]], [1.0], [[0.0]], device="cpu")


@pytest.mark.parametrize(
    ("device", "dtype", "message"),
    [
        ("tpu!", None, "cannot be used"),
        ("cuda:99", None, "cannot be used"),
        (None, "float16", "'float64' or 'float32'"),
    ],
)
def test_unknown_device_or_type(device, dtype, message):
    pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(InputError, match=message):
        batch_learner(Ridge(), [[0.0]], [1.0], [[0.0]], device=device, dtype=dtype)
