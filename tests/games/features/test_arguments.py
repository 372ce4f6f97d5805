"""Feature games: fingerprints, pickles, ranges, and bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fairshapley as fs
from fairshapley.games.features import FeatureGame
from fairshapley.testing import check_game
from tests.games.features.samples import IRIS, SPECIES, coalitions, identity

# --- fingerprints, pickles, ranges --------------------------------------------------------------


def iris_game(**options):
    data = options.pop("data", IRIS)
    model = DecisionTreeClassifier(max_depth=options.pop("depth", 3), random_state=0)
    options = {"rows": 0, "output": 1, **options}
    return FeatureGame(model.fit(IRIS, SPECIES), data, **options)


@pytest.mark.parametrize("kind", ["marginal", "mean"])
def test_fingerprints_are_of_what_the_utilities_depend_on(kind):
    game = iris_game(kind=kind)
    own = fs.games.fingerprint(game)
    game(coalitions(4))
    again = pickle.loads(pickle.dumps(game))  # noqa: S301
    names = ["Seto", "Vers", "Virg"]
    for same in (
        game,
        again,
        iris_game(kind=kind),
        iris_game(kind=kind, output_names=names, feature_names=list("abcd"), value_range=(-1, 2)),
        iris_game(kind=kind, max_rows=50),
        game.for_rows(3).for_rows(0),
    ):
        assert fs.games.fingerprint(same) == own
        assert_array_equal(same(coalitions(4)), game(coalitions(4)))
    changed = IRIS.copy()
    changed[0, 0] += 1
    for other in (
        iris_game(kind=kind, depth=1),
        iris_game(kind=kind, data=changed),
        iris_game(kind=kind, background=20),
        iris_game(kind=kind, output=2),
        iris_game(kind=kind, rows=1),
        iris_game(kind=kind, groups=[[0, 1]]),
    ):
        assert fs.games.fingerprint(other) != own


@pytest.mark.parametrize("kind", ["marginal", "mean"])
def test_feature_games_keep_the_contract_of_games(kind):
    check_game(iris_game(kind=kind, rows=[0, 70]))


def test_probabilities_have_their_range_and_others_if_they_are_told():
    assert iris_game().value_range == (0.0, 1.0)
    assert FeatureGame(identity, IRIS).value_range is None
    game = FeatureGame(identity, IRIS, rows=0, value_range=(0, 5))
    with pytest.raises(fs.errors.GameError, match=r"outside the value_range \(0, 5\)") as caught:
        game(coalitions(4))
    # The mean over the background is 5.8, the row's own length 5.1.
    assert caught.value.coalition == ()


def test_probabilities_in_single_precision_may_exceed_one_by_its_rounding():
    def predict_proba(rows):
        return np.full(len(rows), np.nextafter(np.float32(1), np.float32(2)))

    assert_array_equal(FeatureGame(predict_proba, IRIS)(coalitions(4)), np.ones(16))


def test_rows_are_positions_in_any_form():
    for rows in (
        3,
        np.int64(3),
        np.array(3),
        [3],
        np.arange(150) == 3,
        [at == 3 for at in range(150)],
    ):
        assert FeatureGame(identity, IRIS, rows=rows).rows == (3,)
    assert FeatureGame(identity, IRIS, rows=[-1, 0, 0]).rows == (149, 0, 0)


# --- bad input ----------------------------------------------------------------------------------

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": ["x", "y"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"rows": rows}, "rows must name some of the 150 rows of X, not .*: give positions")
            for rows in (150, [], "first", 2.0, True, [[1]], np.ones(3, dtype=bool))
        ),
        ({"groups": {"g": [0, 1], "h": [1]}}, "column 1 is in the groups 'g' and 'h'"),
        ({"groups": {"x3": [0, 1]}}, "two players have the name 'x3'"),
        ({"background": IRIS[:, :3]}, "background has the columns 0, 1 and 2 and X has"),
        ({"output": 1}, "output must be a whole number from -1 to 0, not 1: by name: 0"),
        ({"feature_names": ["a", "a", "b", "c"]}, "feature_names must be 4 different names"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(identity, IRIS, **options)


DUMMIES = pd.get_dummies(pd.Series(["red", "blue", None, "red"]), prefix="colour")


@pytest.mark.parametrize(
    "dummies",
    [
        DUMMIES,
        DUMMIES.astype(int),
        pd.get_dummies(pd.Series(["a", "b", "c"]), prefix="colour", drop_first=True),
    ],
)
def test_one_hots_are_found_as_booleans_with_missing_and_with_dropped_categories(dummies):
    frame = dummies.assign(size=np.arange(len(dummies)))
    game = FeatureGame(lambda x: x["size"], frame, groups="one-hot")
    assert game.player_names == ("colour", "size")


def test_columns_that_one_hot_does_not_join_are_named():
    both = pd.DataFrame({"has_pool": [1, 0, 1], "has_garden": [1, 1, 0]})
    with pytest.warns(UserWarning, match="columns that begin with has on their own"):
        game = FeatureGame(lambda x: x["has_pool"], both, groups="one-hot")
    assert game.player_names == ("has_pool", "has_garden")
    with pytest.warns(UserWarning, match="found no columns to join"):
        FeatureGame(identity, IRIS, groups="one-hot")


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda x: x[:3, 0], r"array of shape \(3,\) for 8 rows"),
        (lambda x: np.full(len(x), np.nan), "NaN or an infinite number"),
        (lambda x: x["age"], "predict raised IndexError"),
        (lambda x: np.array(["1"] * len(x)), "give predict_proba"),
        (lambda x: np.random.default_rng().random(len(x)), "switch its randomness off"),
        (lambda x: x[:, 0] - x[:, 0].mean(), "depend on the rows beside"),
        ("predict", "a function of rows or a fitted model"),
    ],
)
def test_bad_predictions_are_named(predict, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(predict, IRIS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[1.0], [2.0, 3.0]], "rows have different lengths"),
        (FRAME[["a", "a"]], "the column 'a' twice"),
    ],
)
def test_bad_data_are_named(data, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(lambda x: np.zeros(len(x)), data)


def test_a_background_that_does_not_fit_a_frame_is_named():
    with pytest.raises(fs.InputError, match=r"column 'c' is .* in X and int64 in background"):
        FeatureGame(lambda x: np.zeros(len(x)), FRAME, background=FRAME.assign(c=[1, 2]))


def test_a_prediction_that_is_not_a_number_later_names_its_coalition():
    """Only mixtures of both rows fail, which no row of the data shows."""

    def predict(rows):
        return np.where(rows[:, 0] != rows[:, 1], np.nan, rows[:, 0])

    game = FeatureGame(predict, [[1.0, 1.0], [2.0, 2.0]], rows=0)
    with pytest.raises(fs.errors.GameError, match=r"coalition \(0,\) failed"):
        fs.exact(game)


def test_outputs_must_not_change_their_number():
    def predict(rows):
        return np.zeros((len(rows), 2 if len(rows) > 10 else 1))

    with pytest.raises(fs.errors.GameError, match="returned 2 outputs where it had returned 1"):
        FeatureGame(predict, IRIS, rows=0)(coalitions(4))


def test_one_row_needs_a_background():
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(IRIS, SPECIES)
    with pytest.raises(fs.InputError, match="nothing to be compared with: give background="):
        fs.explain(model, IRIS[:1])
    assert np.abs(fs.explain(model, IRIS[:1], IRIS).values).max() > 0


def test_a_row_that_the_model_refuses_is_an_error_of_ours():
    model = LogisticRegression(max_iter=500).fit(IRIS, SPECIES)
    with pytest.raises(
        fs.errors.GameError, match="predict raised ValueError: Input X contains NaN"
    ):
        fs.explain(model, np.full((1, 4), np.nan), IRIS)
