"""Fits of a data game: chance, threads and memory, scorers, and fits that fail."""

# ruff: noqa: N803, N806 - features are X, as in scikit-learn

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import get_scorer, recall_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import (
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fairshapley as fs
from fairshapley.games.data import DataGame
from tests.games.data_samples import CANCER, DIABETES, IRIS, coalitions_of


def test_random_models_are_repeatable_and_averaged_over_seeds():
    data, rows = CANCER, coalitions_of(24, 3)
    forest = RandomForestClassifier(3)
    plain = DataGame(forest, *data)
    np.testing.assert_array_equal(plain(rows), plain(rows))
    single = [DataGame(forest.set_params(random_state=seed), *data)(rows) for seed in (0, 1, 2)]
    np.testing.assert_array_equal(plain(rows), single[0])
    assert not np.array_equal(single[0], single[1])
    averaged = DataGame(forest, *data, seeds=3)
    np.testing.assert_allclose(averaged(rows), np.mean(single, axis=0), rtol=1e-15)
    listed = DataGame(make_pipeline(StandardScaler(), forest), *data, seeds=[1, 2])
    assert listed.seeds == (1, 2)
    assert forest.random_state == 2, "the user's model is left alone"


def test_threads_and_warm_starts_do_not_matter():
    rows = coalitions_of(24, 3)
    plain = DataGame(RandomForestClassifier(3), *CANCER, "log_likelihood")
    model = RandomForestClassifier(3, n_jobs=2, warm_start=True)
    game = DataGame(make_pipeline(model), *CANCER, "log_likelihood")
    assert game._fitter.models[0][-1].n_jobs is None
    np.testing.assert_array_equal(game(rows), plain(rows))


def test_models_of_others_run_in_one_thread():
    """To LightGBM no number of jobs means all processors."""
    lightgbm = pytest.importorskip("lightgbm")
    game = DataGame(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1), *CANCER, "auc")
    assert game._fitter.models[0].n_jobs == 1
    assert game._fitter.models[0].random_state == 0
    assert 0 <= game(np.ones((1, 24), dtype=bool))[0] <= 1


@pytest.mark.parametrize("model", [Ridge(), LinearRegression(), KNeighborsRegressor(1)])
def test_scores_that_overflow_are_silent(model):
    """An infinite utility is named by whoever asked for it."""
    game = DataGame(model, ([[1.0], [2.0]], [1e200, 2e200]), ([[1.0]], [1.0]), "neg_mse")
    assert game(np.ones((1, 2), dtype=bool)) == -np.inf
    with pytest.raises(fs.errors.GameError, match="-inf"):
        fs.exact(game)


@pytest.mark.parametrize("name", ["neg_log_loss", "roc_auc_ovr", "recall_macro"])
def test_scorers_work_when_classes_are_missing(name):
    """Of three classes a coalition may hold one or two: the others have probability 0."""
    (X, y), test = IRIS
    game = DataGame(GaussianNB(), (X, y), test, name, empty_value=0.0)
    zero, one, two = (np.flatnonzero(y == label)[:3] for label in range(3))
    rows = np.zeros((3, 24), dtype=bool)
    rows[0, zero] = rows[1, np.append(zero, two)] = rows[2, np.append(zero, one)] = True
    values = game(rows)
    model = GaussianNB().fit(X[rows[1]], y[rows[1]])
    padded = np.insert(model.predict_proba(test[0]), 1, 0.0, axis=1)
    tiny = np.finfo(float).eps
    clipped = np.clip(padded[np.arange(40), test[1]], tiny, 1)
    constant, expected = {
        "neg_log_loss": (np.log(tiny) * np.mean(test[1] != 0), np.log(clipped).mean()),
        "roc_auc_ovr": (0.5, roc_auc_score(test[1], padded, multi_class="ovr")),
        "recall_macro": (
            1 / 3,
            recall_score(test[1], model.predict(test[0]), average="macro"),
        ),
    }[name]
    assert values[0] == pytest.approx(constant)
    assert values[1] == pytest.approx(expected, rel=1e-6)
    assert np.isfinite(values).all()


def test_scorers_of_one_s_own():
    def coefficients(model, X, y):
        return float(np.abs(model.coef_).sum()) if hasattr(model, "coef_") else -1.0

    (X, y), test = CANCER
    game = DataGame(LogisticRegression(), (X, y), test, coefficients, empty_value=0.0)
    rows = np.zeros((3, 24), dtype=bool)
    rows[1], rows[2, np.flatnonzero(y == 0)] = True, True
    full = np.abs(LogisticRegression().fit(X, y).coef_).sum()
    np.testing.assert_allclose(game(rows), [0.0, full, -1.0])
    (X3, y3), test3 = IRIS
    shown = DataGame(GaussianNB(), (X3, y3), test3, lambda m, *_: len(repr(m)), empty_value=0.0)
    assert shown(y3 != 2)[0] > shown(y3 == y3)[0], "which classes are missing can be shown"
    broken = DataGame(LogisticRegression(), (X, y), test, lambda *_: "good", empty_value=0.0)
    for row in rows[1:]:
        with pytest.raises(fs.errors.GameError, match="'good', which is not a number") as error:
            broken(row)
        assert error.value.coalition == tuple(np.flatnonzero(row))


def test_errors_of_a_fit_name_the_coalition_and_the_remedy():
    game = DataGame(make_pipeline(PCA(4), LogisticRegression()), *CANCER)
    few = np.zeros((2, 24), dtype=bool)
    few[:, :3] = True
    few[0] = True
    y = CANCER[0][1]
    few[1, [np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] = True
    with pytest.raises(
        fs.errors.GameError, match=r"n_components=4.*base=.*unfittable='constant'"
    ) as error:
        game(few)
    assert error.value.coalition == tuple(np.flatnonzero(few[1]))
    small = DataGame(make_pipeline(PCA(4), LogisticRegression()), *CANCER, unfittable="constant")
    counts = np.bincount(y[few[1]], minlength=2)
    share = np.mean(CANCER[1][1] == np.argmax(counts))
    assert small(few)[1] == share
    assert small(few)[0] == game(few[:1])[0]


def test_constant_predictions_of_regressions_and_for_scorers():
    (X, y), test = DIABETES
    model = make_pipeline(PCA(4), Ridge())
    rows = np.zeros((1, 24), dtype=bool)
    rows[0, :2] = True
    expected = -np.mean((test[1] - y[:2].mean()) ** 2)
    for metric in ("neg_mse", get_scorer("neg_mean_squared_error")):
        game = DataGame(model, (X, y), test, metric, unfittable="constant", empty_value=0.0)
        assert game(rows)[0] == pytest.approx(expected)


def test_errors_that_all_rows_bring_are_not_covered_up():
    game = DataGame(make_pipeline(PCA(40), SVC()), *CANCER, unfittable="constant")
    with pytest.raises(
        fs.errors.GameError, match=r"coalition of 24 .*n_components=40.*check the model"
    ):
        game(np.ones((1, 24), dtype=bool))
    alone = DataGame(RadiusNeighborsClassifier(1e-9), *CANCER, unfittable="constant")
    with pytest.raises(fs.errors.GameError, match=r"(?s)No neighbors .*as base=$"):
        alone(np.arange(24) < 20)
    quadratic = DataGame(QuadraticDiscriminantAnalysis(reg_param=0.5), *IRIS, unfittable="constant")
    assert np.isfinite(quadratic(coalitions_of(24, 10))).all()
