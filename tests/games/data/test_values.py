"""Data games: utilities by hand, and the same by vectorised learners and by one fit at a time."""

# ruff: noqa: N806 - features are X, as in scikit-learn

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fairshapley as fs
from fairshapley.games.data import DataGame
from fairshapley.games.learners import NotVectorisedError
from tests.games.data_samples import CANCER, DIABETES, IRIS, all_coalitions, coalitions_of

CLASS_METRICS = ("accuracy", "log_likelihood", "f1", "auc")


def test_nearest_neighbour_by_hand():
    """Training points at 0 ("a"), 1 ("b"), 3 ("a"); test points at 0.4 ("a") and 1.9 ("b")."""
    train, test = ([[0.0], [1.0], [3.0]], ["a", "b", "a"]), ([[0.4], [1.9]], ["a", "b"])
    game = DataGame(KNeighborsClassifier(1), train, test)
    #           ∅    {2}  {1}  {1,2} {0}  {0,2} {0,1} N
    expected = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0]
    np.testing.assert_array_equal(game(all_coalitions(3)), expected)
    assert game.classes.tolist() == ["a", "b"]
    # Players 0 and 1 gain ½ together, with or without 2: φ_0 = φ_1 = ¼, φ_2 = 0.
    np.testing.assert_allclose(fs.exact(game).values, [0.25, 0.25, 0.0], atol=1e-15)


def test_ridge_by_hand():
    """Without an intercept the weight is Σxy / (Σx² + 1)."""
    train, test = ([[1.0], [2.0]], [2.0, 2.0]), ([[1.0], [1.0]], [1.0, 2.0])
    weights = np.array([3 / 2, 4 / 5, 2 / 2, 6 / 6])  # nobody predicts the mean of the test rows
    errors = ((1 - weights) ** 2 + (2 - weights) ** 2) / 2
    for vectorised in (None, False):
        model = Ridge(1.0, fit_intercept=False)
        game = DataGame(model, train, test, "neg_mse", vectorised=vectorised)
        np.testing.assert_allclose(game(all_coalitions(2)), -errors)
        assert game.value_range is None


@pytest.mark.parametrize(
    ("metric", "empty", "one_class"),
    [
        ("accuracy", 1 / 2, 1 / 4),
        ("log_likelihood", -1.5 * np.log(2), 3 * np.log(1e-10) / 4),
        ("f1", (2 / 3) / 3, (2 / 5) / 3),
        ("auc", 0.5, 0.5),
    ],
)
@pytest.mark.parametrize("model", [GaussianNB(), DecisionTreeClassifier()])
def test_coalitions_that_cannot_be_fitted(metric, empty, one_class, model):
    """Three classes; the test rows hold one "b" and two "c" among four."""
    train = ([[0.0], [1.0], [2.0], [2.5]], ["a", "b", "c", "b"])
    test = ([[0.0], [1.0], [2.0], [2.0]], ["a", "b", "c", "c"])
    game = DataGame(model, train, test, metric)
    rows = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 1]], dtype=bool)
    np.testing.assert_allclose(game(rows), [empty, one_class, one_class])
    other = DataGame(model, train, test, metric, empty_value=-50.0)
    np.testing.assert_allclose(other(rows), [-50.0, one_class, one_class])
    assert other.value_range[0] == -50.0
    assert other.value_range[1] == game.value_range[1]


@pytest.mark.parametrize("vectorised", [None, False])
@pytest.mark.parametrize("wrapped", [False, True])
def test_few_rows_are_all_neighbours(vectorised, wrapped):
    """Three of five wanted neighbours: the majority of all."""
    model = KNeighborsClassifier(5)
    if wrapped:
        model = make_pipeline(StandardScaler(), model)
    train, test = ([[0.0], [1.0], [9.0]], [1, 1, 0]), ([[0.0], [9.0]], [1, 0])
    game = DataGame(model, train, test, "log_likelihood", vectorised=vectorised)
    assert game.vectorised == (not wrapped and vectorised is None)
    assert game(np.ones((1, 3), dtype=bool)) == pytest.approx((np.log(2 / 3) + np.log(1 / 3)) / 2)


def test_base_rows_are_always_there():
    """The base alone is what no player adds to."""
    (X, y), test = IRIS
    base, rest = (X[:6], y[:6]), (X[6:], y[6:])
    whole = DataGame(LogisticRegression(), (X, y), test, "log_likelihood")
    game = DataGame(LogisticRegression(), rest, test, "log_likelihood", base=base)
    rows = coalitions_of(18, 30)
    with_base = np.concatenate([np.ones((30, 6), dtype=bool), rows], axis=1)
    np.testing.assert_allclose(game(rows), whole(with_base), rtol=1e-9)
    loop = DataGame(
        LogisticRegression(tol=1e-10), rest, test, "log_likelihood", base=base, vectorised=False
    )
    np.testing.assert_allclose(loop(rows[:5]), game(rows[:5]), rtol=1e-6)
    assert game(np.zeros((1, 18), dtype=bool)) != -np.log(3)


TIGHT = {"tol": 1e-10, "max_iter": 10_000}


PAIRS = [
    *itertools.product(
        [
            LogisticRegression(**TIGHT),
            KNeighborsClassifier(3),
            GaussianNB(),
        ],
        [CANCER, IRIS],
        CLASS_METRICS,
    ),
    (LogisticRegression(C=0.05, solver="liblinear", **TIGHT), CANCER, "auc"),
    *itertools.product([Ridge(), KNeighborsRegressor(2)], [DIABETES], ["neg_mse", "r2"]),
]


@pytest.mark.parametrize(("model", "data", "metric"), PAIRS)
def test_vectorised_equals_one_at_a_time(model, data, metric):
    fast = DataGame(model, *data, metric, vectorised=True)
    slow = DataGame(model, *data, metric, vectorised=False)
    assert fast.vectorised
    assert not slow.vectorised
    assert fast.not_vectorised_because == ""
    rows = coalitions_of(24, 25)
    values = fast(rows)
    np.testing.assert_allclose(values, slow(rows), rtol=1e-6)
    if metric in ("accuracy", "f1"):
        np.testing.assert_array_equal(values, slow(rows))
    parts = [fast(rows[:1]), fast(rows[1:1]), fast(rows[1:8]), fast(rows[8:])]
    np.testing.assert_allclose(np.concatenate(parts), values, rtol=1e-12)
    if fast.value_range is not None:
        assert values.min() >= fast.value_range[0]
        assert values.max() <= fast.value_range[1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"model": DecisionTreeClassifier()}, "DecisionTreeClassifier"),
        ({"metric": "recall_macro", "empty_value": 0.0}, "a scorer needs fitted models"),
        ({"seeds": 2}, "averaged over seeds"),
    ],
)
def test_what_is_not_vectorised_says_why(options, reason):
    options = {"model": LogisticRegression(), **options}
    model = options.pop("model")
    game = DataGame(model, *IRIS, **options)
    assert not game.vectorised
    assert reason in game.not_vectorised_because
    for demand in ({"vectorised": True}, {"device": "cpu"}, {"dtype": "float32"}):
        with pytest.raises(NotVectorisedError, match=f"{next(iter(demand))}=.*{reason}"):
            DataGame(model, *IRIS, **options, **demand)
    assert DataGame(model, *IRIS, **options, vectorised=False).not_vectorised_because == (
        "vectorised=False"
    )
