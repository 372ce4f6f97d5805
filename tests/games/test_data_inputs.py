"""What the data of a data game may look like, and what is said of what they may not."""

# ruff: noqa: N806 - features are X, as in scikit-learn

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import fairshapley as fs
from fairshapley.games.data import DataGame
from tests.games.data_samples import CANCER, IRIS, all_coalitions, coalitions_of

# --- what data may look like --------------------------------------------------------------------


def test_frames_sparse_matrices_lists_and_texts_as_targets():
    (X, y), (X_test, y_test) = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])
    rows = coalitions_of(24, 8)
    expected = DataGame(LogisticRegression(), (X, y), (X_test, y_test))(rows)
    columns = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=columns, index=[f"plant {i}" for i in range(24)])
    tested = pd.DataFrame(X_test, columns=columns), pd.Series(names[y_test], dtype="category")
    game = DataGame(LogisticRegression(), (frame, pd.Series(names[y])), tested)
    assert game.player_names[3] == "plant 3"
    assert game.vectorised
    np.testing.assert_array_equal(game(rows), expected)
    slow = DataGame(LogisticRegression(tol=1e-8), (frame, names[y]), tested, vectorised=False)
    np.testing.assert_array_equal(slow(rows), expected)
    for convert in (sparse.csr_matrix, sparse.coo_array):
        game = DataGame(
            LogisticRegression(tol=1e-8), (convert(X), y[:, None]), (convert(X_test), y_test)
        )
        assert "sparse" in game.not_vectorised_because
        np.testing.assert_array_equal(game(rows), expected)
    listed = DataGame(LogisticRegression(), (X.tolist(), y.tolist()), (X_test.tolist(), y_test))
    np.testing.assert_array_equal(listed(rows), expected)


def test_a_pipeline_may_encode_columns_and_texts():
    frame = pd.DataFrame({"colour": ["red", "blue", "red", "blue"], "size": [1.0, 2.0, 3.0, 4.0]})
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"])),
        LogisticRegression(C=100.0),
    )
    base = frame.iloc[:2], [1, 0]
    game = DataGame(model, (frame.iloc[2:], [1, 0]), (frame, [1, 0, 1, 0]), base=base)
    np.testing.assert_array_equal(game(all_coalitions(2)), 1.0)
    texts = ["good film", "bad film", "good", "bad"]
    model = make_pipeline(CountVectorizer(), MultinomialNB())
    game = DataGame(model, (texts, [1, 0, 1, 0]), (["good", "bad"], [1, 0]))
    assert game(np.ones((1, 4), dtype=bool)) == 1.0


def test_missing_features_where_the_model_takes_them():
    (X, y), test = CANCER
    X = X.copy()
    X[3, 2] = np.nan
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=1)
    assert np.isfinite(DataGame(model, (X, y), test)(np.ones((1, 24), dtype=bool)))[0]
    with pytest.raises(fs.InputError, match=r"X of train .* row 3, column 2, .*SimpleImputer"):
        DataGame(LogisticRegression(), (X, y), test)
    with pytest.raises(fs.InputError, match=r"X of base .* row 3, column 2"):
        DataGame(SVC(), CANCER[0], test, base=(X, y))
    with pytest.raises(fs.InputError, match=r"X of train .* row 27, column 2"):
        DataGame(SVC(), {"a": CANCER[0], "b": (X, y)}, test)
    frame = pd.DataFrame(X).add_prefix("f")
    whole = pd.DataFrame(CANCER[0][0]).add_prefix("f")
    with pytest.raises(fs.InputError, match=r"X of test .* row 3, column 'f2'"):
        DataGame(GaussianNB(), (whole, y), (frame, y))


def test_classes_that_only_test_rows_have_count_as_wrong():
    (X, y), (X_test, y_test) = IRIS
    known = y != 2
    game = DataGame(GaussianNB(), (X[known], y[known]), (X_test, y_test))
    full = np.ones((1, known.sum()), dtype=bool)
    assert game(full)[0] == np.mean(y_test != 2)
    f1 = DataGame(GaussianNB(), (X[known], y[known]), (X_test, y_test), "f1", vectorised=False)
    assert 0 < f1(full)[0] <= 2 / 3


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "text", "objects"])
def test_identical_rows_are_found_in_every_container(kind):
    X = {
        "array": np.array([[0.0, np.nan], [1.0, 2.0], [-0.0, np.nan]]),
        "frame": pd.DataFrame({"a": ["u", "v", "u"], "b": [1.0, 2.0, 1.0]}),
        "sparse": sparse.csr_array([[0, 1], [2, 3], [0, 1]]),
        "text": ["red", "green", "red"],
        "objects": np.array([["u", 1], ["v", 1], ["u", 1]], dtype=object),
    }[kind]
    model = HistGradientBoostingClassifier() if kind == "array" else MultinomialNB()
    game = DataGame(model, (X, [0, 1, 0]), (X, [0, 1, 0]))
    assert game.identical_players == ((0, 2),)


# --- bad input ----------------------------------------------------------------------------------

GOOD = {"model": LogisticRegression(), "train": CANCER[0], "test": CANCER[1]}
X, Y = CANCER[0]
FRAME = pd.DataFrame(X[:, :3], columns=list("abc"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": StandardScaler()}, "neither that it is a classifier"),
        ({"metric": "acuracy"}, "unknown metric 'acuracy'"),
        ({"metric": recall_score, "empty_value": 0}, r"make_scorer\(recall_score\)"),
        ({"train": (X, Y[:5])}, "24 rows of X and 5 of y"),
        ({"train": (["good", None, "bad"], [1, 1, 0])}, "row 1 of X of train has no text"),
        ({"train": (FRAME, Y), "test": (FRAME[list("acb")], Y)}, "column 1 is 'b' in train"),
        ({"train": (X, [None, *Y[1:]])}, "row 0 of y of train has no target"),
        ({"train": (X, Y + 0.5)}, "0.5, which are no classes: give classes, or use a regressor"),
        ({"train": (X, np.zeros(24))}, "all training rows have the class 0.0"),
        ({"train": (X, Y.astype(str))}, "texts in both, or numbers in both"),
        ({"test": (X, Y + 5)}, "no test row has a class of the training rows"),
        ({"base": (X, Y), "empty_value": 0.5}, "leave empty_value= out"),
        ({"groups": [1, 2]}, "one label for each of the 24 training rows"),
        ({"train": {"a": (X, Y), "b": (X[:0], Y[:0])}}, r"train\['b'\] is empty"),
        ({"seeds": 2, "model": GaussianNB()}, "no random_state"),
        ({"empty_value": -1.0, "value_range": (0, 1)}, r"worth -1, outside value_range \(0, 1\)"),
    ],
)
def test_bad_input_is_named(change, said):
    with pytest.raises(fs.InputError, match=said):
        DataGame(**{**GOOD, **change})


def test_random_splits_need_a_seed_of_their_own():
    split = StratifiedKFold(2, shuffle=True)
    with pytest.raises(fs.InputError, match=r"cv of the model, .*give it a random_state"):
        DataGame(GridSearchCV(SVC(), {"C": [1, 2]}, cv=split), *CANCER)
    DataGame(GridSearchCV(SVC(), {"C": [1, 2]}, cv=StratifiedKFold(2)), *CANCER)
