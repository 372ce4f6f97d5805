"""Models by the place they are imported from."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

from fairshapley.errors import InputError
from fairshapley.tables import table_game
from fairshapley.tables.models import imported_object


def test_a_file_beside_the_data_takes_nobodys_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(before))
    (tmp_path / "jinja2.py").write_text("raise SystemExit('run')")
    (tmp_path / "own_model_here.py").write_text(
        "import importlib.util\nfrom sklearn.svm import SVC as Own\n"
        "FOUND = importlib.util.find_spec('jinja2').origin\n"
    )
    imported_object("sklearn.svm:SVC", "model")
    assert str(tmp_path) not in sys.path
    imported_object("own_model_here:Own", "model")
    assert sys.path == [*before, str(tmp_path)]
    assert str(tmp_path) not in sys.modules.pop("own_model_here").FOUND


class Foreign(BaseEstimator):
    """A regressor of another library: it does not say what it predicts."""

    def fit(self, X, y):  # noqa: N803
        self.mean_ = float(np.mean(np.asarray(y, dtype=float)))
        return self

    def predict(self, X):  # noqa: N803
        return np.full(len(X), self.mean_)


class ForeignRegressor(RegressorMixin, Foreign):
    """One that says it."""


ROWS = pa.table(
    {
        "x": np.arange(20.0),
        "answer": ["yes", "no"] * 10,
        "price": np.arange(20.0) ** 1.5,
    }
)


@pytest.mark.parametrize("model", [ForeignRegressor(), Ridge()])
def test_an_estimator_object_is_a_model(model):
    made = table_game(ROWS, "price", model=model, drop=["answer"])
    assert np.isfinite(made.game(np.ones((1, 16), dtype=bool))).all()


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (ForeignRegressor(), "answer", "target 'answer' holds texts"),
        (Foreign(), "price", "neither that it is a classifier nor that it is a regressor"),
        (Ridge, "price", "give an instance"),
        (3, "price", "must be a scikit-learn estimator"),
    ],
)
def test_a_model_for_something_else_is_an_error_in_words(model, target, message):
    other = {"answer": "price", "price": "answer"}[target]
    with pytest.raises(InputError, match=message):
        table_game(ROWS, target, model=model, drop=[other])
