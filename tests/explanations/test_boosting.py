"""xgboost, lightgbm and catboost: trees in closed form, classes by name, categories of frames."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import fairshapley as fs

# Single precision, in which shap reads the features: no row may lie between it and double.
ROWS = np.random.default_rng(0).normal(size=(200, 11)).astype(np.float32).astype(np.float64)
TARGET = ROWS[:, 0] * ROWS[:, 1] + np.sin(ROWS[:, 2]) + ROWS[:, 3]
CLASSES = np.digitize(TARGET, [-0.7, 0.7])
LIBRARIES = {
    "xgboost": ("XGB", {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}),
    "lightgbm": ("LGBM", {"n_estimators": 5, "max_depth": 3, "n_jobs": 1, "verbose": -1}),
    "catboost": (
        "CatBoost",
        {
            "iterations": 5,
            "depth": 3,
            "thread_count": 1,
            "verbose": 0,
            "allow_writing_files": False,
        },
    ),
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    """Makes a model: "Regressor" or "Classifier", with other options."""
    package = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    start, options = LIBRARIES[request.param]
    return lambda kind, **more: getattr(package, f"{start}{kind}")(**options, **more)


def test_regressors_have_the_closed_form_of_trees(library):
    pytest.importorskip("shap", reason="the extra 'shap' is not installed")
    model = library("Regressor").fit(ROWS, TARGET)
    found = fs.explain(model, ROWS, 8, rows=range(3))
    assert "TreeExplainer" in found.results[0][0].stopped
    exact = fs.explain(partial(model.predict), ROWS, 8, rows=range(3), budget=1 << 11)
    assert "every coalition" in exact.results[0][0].stopped
    assert_allclose(found.values, exact.values, atol=1e-6)


def test_classes_are_explained_by_name(library):
    model = library("Classifier").fit(ROWS, CLASSES)
    found = fs.explain(model, ROWS, 8, rows=range(2), outputs="2", budget=100, seed=0)
    assert found.output_names == ("2",)
    assert_allclose(found.predictions, model.predict_proba(ROWS[:2])[:, 2], atol=1e-6)
    every = fs.explain(model, ROWS, 8, rows=range(2), budget=100, seed=0)
    assert every.output_names == ("0", "1", "2")
    assert_allclose(every.values.sum(axis=2), 0.0, atol=1e-5)


def test_frames_with_categories_reach_the_model(library):
    frame = pd.DataFrame(ROWS[:, :4], columns=list("abcd"))
    frame["colour"] = pd.Categorical(np.where(ROWS[:, 4] > 0, "red", "blue"))
    name = library("Regressor").__class__.__name__
    more = {
        "XGBRegressor": {"enable_categorical": True},
        "CatBoostRegressor": {"cat_features": [4]},
    }
    target = TARGET + 3 * (ROWS[:, 4] > 0)
    model = library("Regressor", **more.get(name, {})).fit(frame, target)
    found = fs.explain(model, frame, 8, rows=range(2))
    assert found.results[0][0].exact
    assert_allclose(found.predictions, model.predict(frame.head(2)), rtol=1e-6)
    assert set(found.data[:, 4]) <= {"red", "blue"}
    assert np.abs(found.values[:, 4]).min() > 0
