"""Data games: utilities by hand, the two ways to compute them, players and chance."""

# ruff: noqa: N803, N806 - features are X, as in scikit-learn

import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import get_scorer, make_scorer, recall_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fairshapley as fs
from fairshapley.games.data import DataGame
from fairshapley.games.learners import NotVectorisedError
from tests.games.data_samples import CANCER, DIABETES, IRIS, all_coalitions, coalitions_of

CLASS_METRICS = ("accuracy", "log_likelihood", "f1", "auc")


# --- values by hand -----------------------------------------------------------------------------


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


def test_no_rows_predict_the_mean_of_the_test_rows_in_regression():
    train, test = ([[0.0], [1.0]], [1.0, 5.0]), ([[0.0], [1.0]], [1.0, 3.0])
    nobody = np.zeros((1, 2), dtype=bool)
    assert DataGame(DecisionTreeRegressor(), train, test, "neg_mse")(nobody) == -1.0
    assert DataGame(DecisionTreeRegressor(), train, test, "r2")(nobody) == 0.0


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


def test_one_row_of_each_class_has_no_variance_for_a_discriminant_analysis():
    train, test = ([[0.0], [1.0], [0.2]], ["a", "b", "a"]), ([[0.9]], ["a"])
    model = LinearDiscriminantAnalysis()
    game = DataGame(model, train, test, "log_likelihood")
    assert game(np.array([[True, True, False]])) == pytest.approx(np.log(0.5))
    assert np.isfinite(game(np.array([[True, True, True]])))[0]
    labels = DataGame(model, train, test)
    assert labels(np.array([[True, True, False]])) == 1.0  # "a", the first of both


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


# --- the two ways to compute them ---------------------------------------------------------------

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
    *itertools.product(
        [Ridge(), LinearRegression(), KNeighborsRegressor(2)], [DIABETES], ["neg_mse", "r2"]
    ),
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


@pytest.mark.parametrize("metric", [*CLASS_METRICS, "neg_mse", "r2"])
def test_torch_gives_the_same_utilities(metric):
    model, data = (Ridge(), DIABETES) if metric in ("neg_mse", "r2") else (GaussianNB(), IRIS)
    rows = coalitions_of(24, 40)
    on_torch = DataGame(model, *data, metric, device="cpu")
    np.testing.assert_allclose(on_torch(rows), DataGame(model, *data, metric)(rows), rtol=1e-9)


def test_scores_are_those_of_scikit_learn_s_scorers():
    """The utility of a coalition is what a user would get by hand."""
    (X, y), test = CANCER
    named = {"accuracy": "accuracy", "f1": "f1", "auc": "roc_auc", "log_likelihood": "neg_log_loss"}
    for size in (6, 12, 24):
        rows = np.arange(24) < size
        model = LogisticRegression().fit(X[rows], y[rows])
        for ours, theirs in named.items():
            game = DataGame(LogisticRegression(), (X, y), test, ours, vectorised=False)
            assert game(rows[None])[0] == pytest.approx(get_scorer(theirs)(model, *test), rel=1e-9)


def test_any_batch_gives_the_same_bits_one_at_a_time():
    game = DataGame(make_pipeline(StandardScaler(), SVC()), *CANCER, "auc")
    rows = coalitions_of(24, 12)
    parts = [game(rows[:5]), game(rows[5:5]), game(rows[5:])]
    np.testing.assert_array_equal(game(rows), np.concatenate(parts))


class FakeLearner:
    """Predicts the number of rows it was given; remembers them."""

    kinds = frozenset({"value"})

    def __init__(self, n_test):
        self.n_test, self.seen = n_test, []

    def predict(self, rows, kind):
        self.seen.append(rows)
        return np.repeat(rows.sum(axis=1)[:, None].astype(float), self.n_test, axis=1)


def test_learners_are_given_all_rows_and_masks_of_them(monkeypatch):
    calls = []

    def batch_learner(model, X, y, X_test, *, device, dtype):
        calls.append((model, X, y, X_test, device, dtype))
        return FakeLearner(len(X_test))

    monkeypatch.setattr("fairshapley.games.learners.batch_learner", batch_learner)
    monkeypatch.setattr(DataGame, "_chunk_bytes", 80)
    train, test = ([[1.0], [2.0], [3.0]], [1, 2, 3]), ([[0.0]], [2])
    game = DataGame(
        Ridge(),
        train,
        test,
        "neg_mse",
        groups=["b", "a", "b"],
        base=([[7.0]], [7]),
        dtype="float32",
    )
    values = game(all_coalitions(2))  # players a, b: rows 1 and 0, 2
    np.testing.assert_array_equal(values, [-1.0, -1.0, -0.0, -4.0])
    ((_, X, y, X_test, device, dtype),) = calls
    assert X.ravel().tolist() == y.tolist() == [1, 2, 3, 7]
    assert (X_test.tolist(), device, dtype) == ([[0.0]], None, "float32")
    learner = game._learner
    assert len(learner.seen) > 1, "memory is bounded by chunks"
    expected = [[0, 0, 0, 1], [1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1]]
    np.testing.assert_array_equal(np.concatenate(learner.seen), expected)


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


# --- players ------------------------------------------------------------------------------------


def test_groups_are_players_in_sorted_order():
    (X, y), test = IRIS
    labels = np.array(["north", "east", "south"])[np.arange(24) % 3]
    game = DataGame(LogisticRegression(), (X, y), test, groups=labels)
    assert game.n_players == 3
    assert game.player_names == ("east", "north", "south")
    points = DataGame(LogisticRegression(), (X, y), test)
    rows = all_coalitions(3)
    expected = points(rows[:, np.array([1, 0, 2])[np.arange(24) % 3]])
    np.testing.assert_array_equal(game(rows), expected)
    parts = {name: (X[labels == name], y[labels == name]) for name in ("north", "east", "south")}
    sets = DataGame(LogisticRegression(), parts, test)
    assert sets.player_names == ("north", "east", "south")
    np.testing.assert_array_equal(sets(rows[:, [1, 0, 2]]), game(rows))


def test_values_of_groups_are_efficient():
    game = DataGame(GaussianNB(), *IRIS, "log_likelihood", groups=np.arange(24) % 6)
    ends = game(np.array([[False] * 6, [True] * 6]))
    assert fs.exact(game).values.sum() == pytest.approx(ends[1] - ends[0], rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5),
        SGDClassifier(max_iter=5),
        MLPClassifier((3,), max_iter=5),
        LogisticRegression(),
    ],
)
def test_rows_with_the_same_content_are_identical_players(model):
    """Also for models that look at the order of the rows, to the bit."""
    (X, y), test = IRIS
    X, y = np.concatenate([X[:8], X[2:4]]), np.concatenate([y[:8], y[2:4]])
    game = DataGame(model, (X, y), test, vectorised=False)
    assert game.identical_players == ((2, 8), (3, 9))
    rows = coalitions_of(10, 6)
    rows[:, 2], rows[:, 8] = True, False
    swapped = rows.copy()
    swapped[:, 2], swapped[:, 8] = False, True
    np.testing.assert_array_equal(game(rows), game(swapped))


@pytest.mark.parametrize("vectorised", [True, False])
def test_equally_near_rows_do_not_part_identical_players(vectorised):
    """Rows 0 and 2 are equal, and row 1 between them is as near to the test row."""
    train, test = ([[0.0], [2.0], [0.0]], ["a", "b", "a"]), ([[1.0]], ["a"])
    game = DataGame(KNeighborsClassifier(1), train, test, vectorised=vectorised)
    assert game.identical_players == ((0, 2),)
    np.testing.assert_array_equal(game(np.array([[True, True, False], [False, True, True]])), 1.0)
    # So too when the equal row is always there, behind all players.
    base = ([[0.0]], ["a"])
    always = DataGame(KNeighborsClassifier(1), train, test, base=base, vectorised=vectorised)
    np.testing.assert_array_equal(always(all_coalitions(3)), 1.0)


def test_groups_with_the_same_rows_are_identical():
    X, y = [[1.0], [2.0], [2.0], [1.0], [5.0]], [0, 1, 1, 0, 1]
    test = ([[1.0], [2.0]], [0, 1])
    game = DataGame(GaussianNB(), (X, y), test, groups=["p", "p", "q", "q", "r"])
    assert game.identical_players == ((0, 1),)
    different = DataGame(GaussianNB(), (X, [0, 1, 1, 1, 1]), test, groups=list("ppqqr"))
    assert different.identical_players == ()
    many = DataGame(GaussianNB(), (np.zeros((700, 1)), np.arange(700) % 2), test)
    assert many.identical_players[:2] == ((0, 2), (2, 4)), "neighbours, where pairs are too many"
    assert len(many.identical_players) == 698


# --- chance -------------------------------------------------------------------------------------


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


def test_models_that_do_not_converge_are_silent():
    game = DataGame(MLPClassifier((2,), max_iter=2), *CANCER)
    assert np.isfinite(game(np.ones((1, 24), dtype=bool)))[0]


@pytest.mark.parametrize("model", [Ridge(), LinearRegression(), KNeighborsRegressor(1)])
def test_scores_that_overflow_are_silent(model):
    """An infinite utility is named by whoever asked for it."""
    game = DataGame(model, ([[1.0], [2.0]], [1e200, 2e200]), ([[1.0]], [1.0]), "neg_mse")
    assert game(np.ones((1, 2), dtype=bool)) == -np.inf
    with pytest.raises(fs.GameError, match="-inf"):
        fs.exact(game)


def test_memory_is_bounded_while_classes_are_counted():
    class Chunked(DataGame):
        _chunk_bytes = 2**20

    rows = np.arange(1000.0)[:, None], np.arange(1000) % 2
    game = Chunked(GaussianNB(), rows, (rows[0][:2], rows[1][:2]))
    nobody = np.zeros((2000, 1000), dtype=bool)
    tracemalloc.start()
    game(nobody)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2**20


# --- scorers ------------------------------------------------------------------------------------


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
    recall = DataGame(
        LogisticRegression(),
        (X, y),
        test,
        make_scorer(recall_score),
        empty_value=0.0,
        value_range=(0, 1),
    )
    assert recall.value_range == (0.0, 1.0)
    assert recall(rows)[2] == 0.0
    (X3, y3), test3 = IRIS
    shown = DataGame(GaussianNB(), (X3, y3), test3, lambda m, *_: len(repr(m)), empty_value=0.0)
    assert shown(y3 != 2)[0] > shown(y3 == y3)[0], "which classes are missing can be shown"
    broken = DataGame(LogisticRegression(), (X, y), test, lambda *_: "good", empty_value=0.0)
    for row in rows[1:]:
        with pytest.raises(fs.GameError, match="'good', which is not a number") as error:
            broken(row)
        assert error.value.coalition == tuple(np.flatnonzero(row))


# --- failures -----------------------------------------------------------------------------------


def test_errors_of_a_fit_name_the_coalition_and_the_remedy():
    game = DataGame(make_pipeline(PCA(4), LogisticRegression()), *CANCER)
    few = np.zeros((2, 24), dtype=bool)
    few[:, :3] = True
    few[0] = True
    y = CANCER[0][1]
    few[1, [np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] = True
    with pytest.raises(
        fs.GameError, match=r"n_components=4.*base=.*unfittable='constant'"
    ) as error:
        game(few)
    assert error.value.coalition == tuple(np.flatnonzero(few[1]))
    with pytest.raises(fs.GameError, match="n_components=4"):
        fs.estimate(game, "mc", budget=100, seed=0)
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
    with pytest.raises(fs.GameError, match=r"coalition of 24 .*n_components=40.*check the model"):
        game(np.ones((1, 24), dtype=bool))
    alone = DataGame(RadiusNeighborsClassifier(1e-9), *CANCER, unfittable="constant")
    with pytest.raises(fs.GameError, match=r"(?s)No neighbors .*\(base=\)$"):
        alone(np.arange(24) < 20)
    quadratic = DataGame(QuadraticDiscriminantAnalysis(reg_param=0.5), *IRIS, unfittable="constant")
    assert np.isfinite(quadratic(coalitions_of(24, 10))).all()


# --- identity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("vectorised", [None, False])
def test_fingerprints_are_of_content_and_survive_pickling(vectorised):
    (X, y), test = IRIS

    def make(model=None, X=X, **options):
        model = LogisticRegression() if model is None else model
        return DataGame(model, (X, y), test, vectorised=vectorised, **options)

    game = make()
    own = fs.games.fingerprint(game)
    rows = coalitions_of(24, 5)
    values = game(rows)
    assert fs.games.fingerprint(game) == own, "the same after use"
    copied = pickle.loads(pickle.dumps(game))  # noqa: S301
    assert fs.games.fingerprint(copied) == own
    np.testing.assert_array_equal(copied(rows), values)
    assert fs.games.fingerprint(make()) == own
    names = [f"plant {i}" for i in range(24)]
    assert fs.games.fingerprint(make(player_names=names)) == own
    assert fs.games.fingerprint(make(LogisticRegression(random_state=0))) == own
    assert fs.games.fingerprint(make(make_pipeline(RandomForestClassifier(n_jobs=2)))) == (
        fs.games.fingerprint(make(make_pipeline(RandomForestClassifier())))
    )
    assert fs.games.fingerprint(make(metric="auc")) == fs.games.fingerprint(make(metric="roc_auc"))
    changed = X.copy()
    changed[0, 0] += 1e-9
    others = [
        make(X=changed),
        make(LogisticRegression(C=2.0)),
        make(metric="f1"),
        make(base=(X, y)),
        make(empty_value=0.0),
        make(groups=np.arange(24) % 5),
        make(metric=get_scorer("accuracy"), empty_value=0.0) if vectorised is False else game,
    ]
    prints = {fs.games.fingerprint(other) for other in others}
    assert len(prints - {own}) == 6 + (vectorised is False)


def test_data_are_copied():
    (X, y), test = IRIS
    mine = X.copy()
    game = DataGame(GaussianNB(), (mine, y), test, "log_likelihood")
    rows = coalitions_of(24, 5)
    before = game(rows)
    mine[:] = 0.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(game))(rows), before)  # noqa: S301


def test_it_says_what_it_is():
    game = DataGame(GaussianNB(), *IRIS, "f1")
    assert repr(game) == "DataGame(GaussianNB(), 24 players, 'f1' on 40 test rows, vectorised)"
