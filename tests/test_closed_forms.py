"""KNN-Shapley against enumeration, with ties and bad input; leave-one-out values by hand."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import fairshapley as fs
from fairshapley.closed_forms import knn_shapley, leave_one_out
from fairshapley.games.data import DataGame
from fairshapley.games.knn import KNNUtilityGame
from fairshapley.testing import check_game

TASKS = ["classification", "regression"]


def split(data, n, n_tests, seed=0, features=None):
    """Some standardised rows of a data set, as x, y, x_test, y_test."""
    x, y = data(return_X_y=True)
    x = ((x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0))[:, :features]
    rows = np.random.default_rng(seed).permutation(len(x))[: n + n_tests]
    return x[rows[:n]], y[rows[:n]], x[rows[n:]], y[rows[n:]]


def by_the_definition(x, y, x_test, y_test, k, task, members):
    """The utility as Jia et al. write it, for one coalition."""
    total = 0.0
    for test, target in zip(x_test, y_test, strict=True):
        order = sorted(members, key=lambda i: (((x[i] - test) ** 2).sum(), i))[:k]
        if task == "classification":
            total += sum(y[i] == target for i in order) / k
        else:
            total -= (sum(y[i] for i in order) / k - target) ** 2
    return total / len(x_test)


@st.composite
def problems(draw):
    """Points on a small grid, so that most distances are tied, and few labels."""
    n = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    task = draw(st.sampled_from(TASKS))
    x, x_test = rng.integers(0, 3, (n, 2)) / 4, rng.integers(0, 3, (3, 2)) / 4
    y, y_test = rng.integers(0, 3, n), rng.integers(0, 3, 3)
    if task == "regression":
        y, y_test = y + rng.random(n), y_test - 1.5
    return x, y, x_test, y_test, draw(st.integers(1, n + 2)), task


@settings(max_examples=60)
@given(problems())
def test_the_closed_form_is_that_of_enumeration_with_ties(problem):
    x, y, x_test, y_test, k, task = problem
    game = KNNUtilityGame(x, y, x_test, y_test, k=k, task=task)
    expected = fs.games.FunctionGame(
        lambda members: by_the_definition(x, y, x_test, y_test, k, task, members), len(x)
    )
    masks = np.random.default_rng(0).random((20, len(x))) < 0.5
    np.testing.assert_allclose(game(masks), expected(masks), rtol=1e-12, atol=1e-12)
    values = knn_shapley(x, y, x_test, y_test, k=k, task=task).values
    np.testing.assert_allclose(values, fs.exact(game).values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_values_are_efficient_where_nothing_can_be_enumerated(task):
    data = load_breast_cancer if task == "classification" else load_diabetes
    problem = split(data, 400, 40)
    game = KNNUtilityGame(*problem, k=7, task=task)
    empty, full = game(np.stack([np.zeros(400, bool), np.ones(400, bool)]))
    result = knn_shapley(*problem, k=7, task=task)
    assert result.values.sum() == pytest.approx(full - empty, rel=1e-9)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine", "euclidean"])
def test_metrics_are_those_of_scikit_learn(metric):
    """The neighbours' mean is what scikit-learn predicts when k points or more are there."""
    x, y, x_test, y_test = split(load_diabetes, 50, 20)
    game = KNNUtilityGame(x, y, x_test, y_test, k=4, task="regression", metric=metric)
    model = KNeighborsRegressor(4, metric=metric, algorithm="brute").fit(x, y)
    error = np.square(model.predict(x_test) - y_test).mean()
    assert game(np.ones((1, 50), bool))[0] == pytest.approx(-error)


def test_whole_numbers_take_a_faster_way_with_the_same_order():
    """Pixels of the digits: many ties, and products that are exact."""
    x, y = load_digits(return_X_y=True)
    whole = KNNUtilityGame(x[:500], y[:500], x[500:540], y[500:540])
    shifted = KNNUtilityGame(x[:500] + 0.5, y[:500], x[500:540] + 0.5, y[500:540])
    assert whole._squares is not None
    assert shifted._squares is None
    np.testing.assert_array_equal(whole._neighbours, shifted._neighbours)


def test_blocks_of_test_points_do_not_matter(monkeypatch):
    problem = split(load_breast_cancer, 50, 30)
    whole = knn_shapley(*problem).values
    game = KNNUtilityGame(*problem)
    masks = np.random.default_rng(2).random((30, 50)) < 0.5
    utilities = game(masks)
    monkeypatch.setattr(KNNUtilityGame, "_block", 120)
    assert len(list(KNNUtilityGame(*problem).sorted_blocks())) == 15
    np.testing.assert_allclose(knn_shapley(*problem).values, whole, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(KNNUtilityGame(*problem)(masks), utilities)


@pytest.mark.parametrize("task", TASKS)
def test_the_game_keeps_the_contract(task):
    data = load_iris if task == "classification" else load_diabetes
    problem = split(data, 30, 15)
    game = KNNUtilityGame(*problem, k=3, task=task)
    check_game(game)
    masks = np.random.default_rng(3).random((64, 30)) < 0.5
    values = game(masks)
    alone = np.concatenate([game(mask[None]) for mask in masks])
    np.testing.assert_array_equal(values, alone)
    assert values.min() >= game.value_range[0]
    assert values.max() <= game.value_range[1]
    copy = pickle.loads(pickle.dumps(game))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(copy(masks), values)
    same, other = KNNUtilityGame(*problem, k=3, task=task), KNNUtilityGame(*problem, task=task)
    prints = [fs.games.fingerprint(each) for each in (game, copy, same, other)]
    assert prints[0] == prints[1] == prints[2] != prints[3]


def test_the_result_has_names_provenance_and_a_certificate(tmp_path):
    names = [f"row {i}" for i in range(12)]
    problem = split(load_iris, 12, 10)
    result = knn_shapley(*problem, k=3, player_names=names)
    assert result.exact
    assert result.evaluations == 0
    assert result.marginals is None
    assert result.method == "knn_shapley"
    assert result.game.fingerprint == fs.games.fingerprint(KNNUtilityGame(*problem, k=3))
    assert result.certificate(0.1, 0.05).holds
    assert list(result.to_frame().index) == names
    result.save(tmp_path / "knn.json")
    np.testing.assert_array_equal(fs.Result.load(tmp_path / "knn.json").values, result.values)


def test_equal_points_get_equal_values():
    x = [[0.0], [1.0], [0.0], [0.0]]
    result = knn_shapley(x, [1, 0, 1, 1], [[0.4]], [1], k=2)
    assert result.game.identical_players == ((0, 2), (2, 3))
    assert np.ptp(result.values[[0, 2, 3]]) < 1e-15
    # Point 1 is as far from the test point as the others, and does not come between them.
    tied = knn_shapley(x, [1, 0, 1, 1], [[0.5]], [1], k=1)
    assert np.ptp(tied.values[[0, 2, 3]]) < 1e-15
    game = KNNUtilityGame(x, [1, 0, 1, 1], [[0.5]], [1], k=1)
    np.testing.assert_allclose(fs.exact(game).values, tied.values, atol=1e-15)


def test_sparse_matrices_and_texts_are_read():
    x, y, x_test, y_test = split(load_iris, 12, 6)
    names = np.array(["setosa", "versicolor", "virginica"])
    expected = knn_shapley(x, y, x_test, y_test).values
    sparse = knn_shapley(csr_matrix(x), names[y], csr_matrix(x_test), names[y_test])
    np.testing.assert_array_equal(sparse.values, expected)


POINTS = {"X": [[0.0], [1.0], [2.0]], "y": [0, 1, 0], "X_test": [[0.5]], "y_test": [1]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X": [[0.0], [np.nan], [2.0]]}, "X has a nan in row 1, column 0"),
        ({"X_test": [[0.5, 1.0]]}, "X has 1 columns and X_test 2"),
        ({"y": [0, 1]}, "y must have one entry for each of the 3 rows of X"),
        ({"y": [0, np.nan, 1]}, "row 1 of y has no target"),
        ({"y": np.array(["a", None, "b"], object), "y_test": ["a"]}, "row 1 of y has no target"),
        ({"y": ["0", "1", "0"]}, "both hold text, or both numbers"),
        ({"y": [0, 1, np.inf], "task": "regression"}, "y has a inf in row 2"),
        ({"y": [0, 1e200, 1], "task": "regression"}, "targets are too large"),
        ({"k": 0}, "k must be a whole number from 1"),
        ({"metric": "cosine"}, "gives nan between test point 0 and training point 0"),
        (
            {"X": [[1e308], [0.0], [1.0]], "X_test": [[-1e308]], "metric": "manhattan"},
            "gives inf between test point 0 and training point 0",
        ),
    ],
)
def test_bad_input_is_named(wrong, message):
    with pytest.raises(fs.InputError, match=message):
        knn_shapley(**POINTS | wrong)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_the_scale_of_the_features_does_not_matter(scale):
    draw = np.random.default_rng(0)
    x, tests = draw.normal(size=(9, 2)), draw.normal(size=(5, 2))
    y, truths = np.arange(9) % 2, [0] * 5
    usual, other = (fs.knn_shapley(s * x, y, s * tests, truths, k=2).values for s in (1.0, scale))
    np.testing.assert_allclose(other, usual)
    models = [KNeighborsClassifier(2), KNeighborsClassifier(2, p=3)]
    for model in models:
        usual, other = (
            fs.exact(fs.games.DataGame(model, (s * x, y), (s * tests, truths))).values
            for s in (1.0, scale)
        )
        np.testing.assert_allclose(other, usual)


# --- leave-one-out ------------------------------------------------------------------------------


class Counted:
    """The size of a coalition squared; counts what it is asked."""

    n_players = 5
    fingerprint = "sizes squared"

    def __init__(self):
        self.asked = 0

    def __call__(self, coalitions):
        self.asked += len(coalitions)
        return coalitions.sum(axis=1) ** 2.0


def test_leave_one_out_by_hand_and_at_what_cost():
    game = Counted()
    np.testing.assert_array_equal(leave_one_out(game), [25.0 - 16.0] * 5)
    assert game.asked == 6


def test_duplicates_are_worth_nothing_and_null_players_cost_nothing():
    game = fs.games.FunctionGame(lambda coalition: float(bool({0, 1} & set(coalition))), 3)
    np.testing.assert_array_equal(leave_one_out(game), [0.0, 0.0, 0.0])
    counted = Counted()
    padded = fs.testing.with_null_players(counted, 3)
    np.testing.assert_array_equal(leave_one_out(padded), [9.0] * 5 + [0.0] * 3)
    assert counted.asked == 6


@pytest.mark.parametrize("chunk", [1, 4, None])
def test_engines_leave_the_same_out(chunk):
    features, labels = load_iris(return_X_y=True)
    train, test = (features[::10], labels[::10]), (features[1::5], labels[1::5])
    game = DataGame(LogisticRegression(), train, test, "log_likelihood")
    expected = game(np.ones((1, 15), dtype=bool)) - game(~np.eye(15, dtype=bool))
    values = leave_one_out(game, engine=fs.SerialEngine(chunk))
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


def test_a_journal_is_shared_with_estimates(tmp_path):
    game = Counted()
    path = tmp_path / "run.db"
    fs.estimate(game, "exact", journal=path, progress=False)
    assert game.asked == 32
    np.testing.assert_array_equal(leave_one_out(game, journal=path), [9.0] * 5)
    assert game.asked == 32
    with pytest.raises(fs.errors.JournalError, match="another game"):
        leave_one_out(fs.games.Additive([1.0]), journal=path)


def test_what_cannot_be_left_out_is_named():
    broken = fs.games.FunctionGame(lambda coalition: 0.0 if 2 in coalition else np.nan, 4)
    with pytest.raises(fs.errors.GameError, match="returned nan") as error:
        leave_one_out(broken)
    assert error.value.coalition == (0, 1, 3)
