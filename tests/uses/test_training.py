"""The model that is trained by the value of rows keeps scikit-learn's contract."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import fairshapley as fs
from fairshapley.errors import InputError

X, CLEAN = make_classification(300, 6, n_informative=4, class_sep=1.5, random_state=0)
FLIPPED = np.random.default_rng(0).choice(200, 40, replace=False)
Y = CLEAN.copy()
Y[FLIPPED] = 1 - Y[FLIPPED]


class Recorder(LogisticRegression):
    """Keeps the rows and weights that it is fitted to."""

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        self.rows_, self.weights_ = X, sample_weight
        return super().fit(X, y, sample_weight)


def checked(model):
    found = check_estimator(model, on_fail=None, on_skip=None)
    return [one["check_name"] for one in found if one["status"] == "failed"], len(found)


@pytest.mark.parametrize(
    "model",
    [fs.ValuedEstimator(LogisticRegression()), fs.ValuedEstimator(Ridge(), use="weight")],
)
def test_scikit_learns_own_checks(model):
    failed, count = checked(model)
    assert failed == []
    assert count > 50


@pytest.mark.full
@pytest.mark.parametrize("model", [LogisticRegression(), Ridge()])
def test_scikit_learns_own_checks_with_values_of_the_model(model):
    failed, _ = checked(fs.ValuedEstimator(model, values="model", folds=2, budget=16))
    assert failed == []


def test_wrong_labels_are_left_out():
    model = fs.ValuedEstimator(KNeighborsClassifier(1), drop=0.2).fit(X[:200], Y[:200])
    dropped = np.flatnonzero(model.row_weights_ == 0)
    assert len(dropped) == 40
    assert np.isin(dropped, FLIPPED).mean() > 0.7
    plain = KNeighborsClassifier(1).fit(X[:200], Y[:200])
    test = X[200:], CLEAN[200:]
    assert model.score(*test) > plain.score(*test) + 0.05
    lowest = np.argsort(model.row_values_)[:20]
    assert np.isin(lowest, FLIPPED).mean() > 0.9


def test_weights_follow_the_values_and_multiply_those_given():
    given = np.linspace(0.5, 2.0, 200)
    model = fs.ValuedEstimator(Recorder(), use="weight").fit(X[:200], Y[:200], sample_weight=given)
    assert len(model.estimator_.rows_) == 200
    np.testing.assert_allclose(model.estimator_.weights_, given * model.row_weights_)
    assert model.row_weights_.mean() == pytest.approx(1.0)
    assert model.row_weights_[FLIPPED].mean() < 0.5
    piped = fs.ValuedEstimator(make_pipeline(StandardScaler(), Recorder()), use="weight")
    assert piped.fit(X[:200], Y[:200]).estimator_[-1].weights_.shape == (200,)


def test_selected_rows_keep_their_weights():
    given = np.arange(200.0)
    model = fs.ValuedEstimator(Recorder(), drop=0.25).fit(X[:200], Y[:200], sample_weight=given)
    np.testing.assert_array_equal(model.estimator_.weights_, given[model.row_weights_ == 1])


def test_metadata_are_routed():
    given = np.linspace(0.5, 2.0, 200)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = Recorder().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        for use in ("select", "weight"):
            model = fs.ValuedEstimator(asked, use=use)
            model.fit(X[:200], Y[:200], sample_weight=given)
            expected = given * model.row_weights_
            np.testing.assert_allclose(model.estimator_.weights_, expected[model.row_weights_ > 0])
        found = cross_validate(
            fs.ValuedEstimator(asked), X[:200], Y[:200], params={"sample_weight": given}, cv=2
        )
        assert np.isfinite(found["test_score"]).all()
        silent = fs.ValuedEstimator(Recorder())
        with pytest.raises(ValueError, match="sample_weight"):
            silent.fit(X[:200], Y[:200], sample_weight=given)


def test_in_a_pipeline_and_a_grid():
    model = make_pipeline(StandardScaler(), fs.ValuedEstimator(KNeighborsClassifier(1)))
    grid = GridSearchCV(model, {"valuedestimator__drop": [0.0, 0.2]}, cv=2)
    grid.fit(X[:200], Y[:200])
    assert grid.best_params_ == {"valuedestimator__drop": 0.2}
    nested = GridSearchCV(
        fs.ValuedEstimator(LogisticRegression()), {"estimator__C": [1e-4, 1.0]}, scoring="roc_auc"
    )
    assert nested.fit(X[:200], Y[:200]).best_score_ > 0.5


def test_no_class_is_left_out():
    y = np.array([0] * 30 + [1] * 2)
    points = np.r_[np.random.default_rng(0).normal(size=(30, 2)), [[0.0, 0.0], [0.1, 0.1]]]
    for drop in (0.1, 0.9, 0.99):
        model = fs.ValuedEstimator(LogisticRegression(), drop=drop).fit(points, y)
        assert set(model.classes_) == {0, 1}
        assert {0, 1} == set(y[model.row_weights_ == 1])


def test_frames_with_texts_by_the_values_of_the_model():
    frame = pd.DataFrame({"town": ["Ulm", "Bonn"] * 12, "size": np.arange(24.0)})
    labels = np.where(frame["town"] == "Ulm", "no", "yes")
    labels[:2] = ["yes", "no"]
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town"]))
    inner = make_pipeline(columns, LogisticRegression())
    model = fs.ValuedEstimator(inner, values="model", folds=2, budget=30)
    model.fit(frame, labels)
    assert (model.row_weights_ == 0).sum() == 2
    assert list(model.feature_names_in_) == ["town", "size"]
    with pytest.raises(ValueError, match="could not convert"):
        fs.ValuedEstimator(inner).fit(frame, labels)


def test_values_of_a_function_and_of_numbers():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(120, 3))
    targets = points.sum(axis=1)
    targets[:12] += 10.0
    by_neighbours = fs.ValuedEstimator(RandomForestRegressor(10, random_state=0)).fit(
        points, targets
    )
    assert (by_neighbours.row_weights_[:12] == 0).sum() >= 8
    own = fs.ValuedEstimator(Ridge(), values=lambda x, y, *_: -np.abs(y - x.sum(axis=1)))
    assert (own.fit(points, targets).row_weights_[:12] == 0).all()
    wrapped = fs.ValuedEstimator(LogisticRegression(), values=fs.knn_shapley).fit(X, Y)
    assert wrapped.row_values_.shape == (300,)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"use": "drop"}, "use must be one of 'select', 'weight'"),
        ({"drop": 1.0}, "drop must be a number of at least 0 and below 1"),
        ({"values": "loo"}, "values must be one of 'knn', 'model'"),
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"values": lambda *_: [1.0]}, "values must be one number for each of the 240 rows"),
    ],
)
def test_settings_that_cannot_be_used(settings, words):
    with pytest.raises(InputError, match=words):
        fs.ValuedEstimator(LogisticRegression(), **settings).fit(X, Y)


def test_names_and_models_without_weights():
    with pytest.raises(InputError, match="use seed=0"):
        fs.ValuedEstimator(LogisticRegression(), random_state=0)
    with pytest.raises(InputError, match="takes no weights"):
        fs.ValuedEstimator(KNeighborsClassifier(), use="weight").fit(X, Y)
    assert not hasattr(fs.ValuedEstimator(Ridge()), "predict_proba")
