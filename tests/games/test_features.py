"""Feature games: values known by hand, both kinds against their definitions, batches, bad input."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fairshapley as fs
from fairshapley.games.features import FeatureGame
from fairshapley.games.features import conditional as conditional_module
from fairshapley.testing import check_game

IRIS, SPECIES = load_iris(return_X_y=True)
DIABETES, PROGRESSION = load_diabetes(return_X_y=True)


def coalitions(n_players):
    """All of them, player 0 the slowest."""
    return np.array(list(itertools.product([False, True], repeat=n_players)))


def identity(rows):
    return np.asarray(rows)[:, 0].astype(float)


# --- known values -------------------------------------------------------------------------------


def test_marginal_values_of_a_linear_model_are_its_slopes_times_the_differences():
    """φ_i = w_i·(x_i − mean z_i): on diabetes, 10 features, all 1024 coalitions."""
    model = LinearRegression().fit(DIABETES, PROGRESSION)
    game = FeatureGame(model, DIABETES, rows=7, background=50)
    expected = model.coef_ * (DIABETES[7] - game.background.mean(axis=0))
    assert_allclose(fs.exact(game).values, expected, rtol=1e-9, atol=1e-9)


def test_marginal_utilities_of_a_product_by_hand():
    """x = (3, 5), z = (1, 1) and (1, −1): v = 0, 3·0, 5·1 and 15, so φ = 5 and 10."""
    game = FeatureGame(lambda x: x.prod(axis=1), [[3.0, 5.0]], background=[[1.0, 1.0], [1.0, -1.0]])
    assert_array_equal(game(coalitions(2)), [0.0, 5.0, 0.0, 15.0])
    assert_array_equal(fs.exact(game).values, [5.0, 10.0])


def test_conditional_utilities_by_hand():
    """Rows 0 and 1 are near each other in x0, rows 0 and 2 in x1, and no two in both."""
    data = [[1.0, 10.0], [1.1, 20.0], [2.0, 10.5]]
    predictions = {1.0: 6.0, 1.1: 0.0, 2.0: 3.0}

    def predict(rows):
        return [predictions[value] for value in rows[:, 0]]

    game = FeatureGame(predict, data, kind="conditional")
    # {x0}: 3, 3 and 3; {x1}: 4.5, 0 and 4.5; both: each its own, 6, 0 and 3.
    assert_array_equal(game(coalitions(2)), [3.0, 3.0, 3.0, 3.0])
    alone = FeatureGame(predict, data, kind="conditional", rows=0)
    assert_array_equal(alone(coalitions(2)), [3.0, 4.5, 3.0, 6.0])
    assert_array_equal(fs.exact(alone).values, [0.75, 2.25])


def test_ten_percent_are_of_the_own_value_and_the_edge_is_inside():
    """1.1 is near 1.0 but 0.9 − not 0.89 − too; seen from 1.1 everything from 0.99 on is near."""
    data = [[1.0], [1.1], [0.9], [0.89], [-1.0]]

    def near(row):
        game = FeatureGame(identity, data, kind="conditional", rows=row)
        return game(np.array([[True]]))[0]

    assert near(0) == pytest.approx((1.0 + 1.1 + 0.9) / 3)
    assert near(1) == pytest.approx((1.0 + 1.1) / 2)
    assert near(4) == -1.0


@pytest.mark.parametrize(("relative_to", "expected"), [("range", 0.5), ("std", 0.0)])
def test_tolerances_of_the_spread_suit_features_around_zero(relative_to, expected):
    """Range 10, standard deviation √(50.5/4 − 2.75²) ≈ 4.19; near 0 within 2.0 and 0.84 are …"""
    game = FeatureGame(
        identity,
        [[0.0], [1.0], [0.0], [10.0]],
        kind="conditional",
        rows=0,
        tolerance=0.2,
        relative_to=relative_to,
    )
    assert game(np.array([[True]]))[0] == pytest.approx(expected / 1.5)


def brute_force(data, predictions, masks, tolerance):
    """The definition, with loops; texts are near when equal, NaN near NaN."""

    def near(x, z):
        if isinstance(x, str) or isinstance(z, str):
            return x == z
        return (np.isnan(x) and np.isnan(z)) or abs(z - x) <= tolerance * abs(x) * (1 + 1e-9)

    values = []
    for mask in masks:
        means = []
        for x in data:
            mine = [all(near(x[j], z[j]) for j in np.flatnonzero(mask)) for z in data]
            means.append(predictions[mine].mean())
        values.append(np.mean(means))
    return np.array(values)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 9, 40, 63, 64, 65]),
    st.sampled_from([0.05, 0.1, 0.5]),
)
def test_conditional_utilities_are_their_definition(seed, n_rows, tolerance):
    """Mixed columns, rows on both sides of a 64-bit word."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows).round(1),
            "b": rng.choice(["red", "blue"], n_rows),
            "c": rng.choice([1.0, 1.08, -3.0, np.nan], n_rows),
        }
    )
    predictions = rng.normal(size=n_rows)
    frame["d"] = np.arange(n_rows)
    game = FeatureGame(
        lambda x: predictions[x["d"]],
        frame,
        kind="conditional",
        groups=[["c", "d"]],
        tolerance=tolerance,
    )
    masks = coalitions(3)
    columns = masks[:, [0, 1, 2, 2]]
    data = frame.astype(object).to_numpy()
    expected = brute_force(data, predictions, columns, tolerance)
    assert_allclose(game(masks), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 5), st.integers(1, 7))
def test_marginal_utilities_are_their_definition(seed, n_rows, n_background, max_rows):
    """Two outputs with interactions, a group, several rows, calls of any size."""
    rng = np.random.default_rng(seed)
    data, background = rng.normal(size=(n_rows, 4)), rng.normal(size=(n_background, 4))
    weights = rng.normal(size=(4, 2))

    def predict(rows):
        return np.tanh(rows[:, :, None] * weights).prod(axis=1)

    game = FeatureGame(
        predict, data, background=background, groups=[[1, 3]], output=1, max_rows=max_rows
    )
    masks = coalitions(3)
    expected = [
        np.mean([predict(np.where(mask, x, z)[None])[0, 1] for x in data for z in background])
        for mask in masks[:, [0, 1, 2, 1]]
    ]
    assert game.player_names == ("x0", "x1 + x3", "x2")
    assert_allclose(game(masks), expected, rtol=1e-12, atol=1e-15)


def test_a_row_outside_the_background_without_neighbours_is_its_own():
    game = FeatureGame(identity, [[5.0]], kind="conditional", background=[[1.0], [3.0]])
    assert_array_equal(game(coalitions(1)), [2.0, 5.0])


# --- efficiency and structure -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
@pytest.mark.parametrize("rows", [0, [3, 70, 149], None])
def test_values_share_out_the_difference_of_the_grand_and_the_empty_coalition(kind, rows):
    model = KNeighborsClassifier(algorithm="brute").fit(IRIS, SPECIES)
    game = FeatureGame(model, IRIS, kind=kind, rows=rows, output="1", background=150)
    empty, grand = game(np.array([[False] * 4, [True] * 4]))
    probabilities = model.predict_proba(IRIS)[:, 1]
    assert fs.exact(game).values.sum() == pytest.approx(grand - empty, abs=1e-12)
    assert empty == pytest.approx(probabilities.mean(), abs=1e-12)
    if kind == "marginal":
        explained = IRIS if rows is None else IRIS[np.atleast_1d(rows)]
        assert grand == pytest.approx(model.predict_proba(explained)[:, 1].mean(), abs=1e-12)


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
def test_the_mean_over_rows_has_the_mean_of_their_values(kind):
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(IRIS, SPECIES)
    game = FeatureGame(model, IRIS, kind=kind, rows=[5, 60, 120], output=2, background=40)
    each = [fs.exact(one).values for one in game.each_row()]
    assert_allclose(fs.exact(game).values, np.mean(each, axis=0), atol=1e-12)


def test_a_group_of_a_linear_model_has_the_sum_of_the_values():
    """Groups by name, by position, and as a list; ungrouped columns stay players."""
    features = load_diabetes(as_frame=True).data
    model = LinearRegression().fit(features, PROGRESSION)
    options = {"rows": 11, "background": 30}
    single = fs.exact(FeatureGame(model, features, **options)).values
    blood = ["s1", "s2", "s3", "s4", "s5", "s6"]
    game = FeatureGame(model, features, groups={"blood": blood}, **options)
    assert game.player_names == ("age", "sex", "bmi", "bp", "blood")
    values = fs.exact(game).values
    assert_allclose(values, [*single[:4], single[4:].sum()], atol=1e-9)
    unnamed = FeatureGame(model, features, groups=[range(4, 10)], **options)
    assert unnamed.player_names[-1] == "s1 + s2 + s3 + s4 + s5 + s6"
    assert_array_equal(fs.exact(unnamed).values, values)


def test_classes_share_their_predictions_and_their_values_sum_to_nothing():
    """Probabilities sum to 1, so the classes' values to 0; each row is predicted once."""
    handed = []

    def predict(rows):
        handed.append(len(rows))
        return model.predict_proba(rows)

    wine, cultivar = load_wine(return_X_y=True)
    model = RandomForestClassifier(5, random_state=0).fit(wine[:, :6], cultivar)
    game = FeatureGame(predict, wine[:, :6], rows=3, output=0, background=20)
    handed.clear()
    values = [fs.exact(game.for_output(output)).values for output in range(3)]
    assert sum(handed) == 2**6 * 20
    assert_allclose(np.sum(values, axis=0), 0.0, atol=1e-12)
    assert np.abs(values).max() > 0.05


def test_an_output_is_a_number_or_the_name_of_a_class():
    names = load_iris().target_names[SPECIES]
    model = DecisionTreeClassifier(random_state=0).fit(IRIS, names)
    game = FeatureGame(model.predict_proba, IRIS, rows=0, output="virginica")
    assert game.output == 2
    assert game.output_names == ("setosa", "versicolor", "virginica")
    assert FeatureGame(model, IRIS, rows=0, output=-1).output == 2
    with pytest.raises(fs.InputError, match="3 outputs \\(setosa, versicolor, virginica\\)"):
        FeatureGame(model, IRIS)


# --- what predict is handed ---------------------------------------------------------------------


def mixed_frame():
    """Fifty rows with a number, a text, a category, a boolean and a nullable integer."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, 50),
            "city": rng.choice(["Lyon", "Oslo", "Bari"], 50),
            "level": pd.Categorical(rng.choice(["low", "high"], 50), ["low", "high"], ordered=True),
            "member": rng.random(50) < 0.5,
            "visits": pd.array([None, *rng.integers(0, 9, 49)], dtype="Int64"),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 50), "D"),
        },
        index=rng.permutation(50),
    )


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
def test_data_frames_keep_their_columns_and_dtypes(kind):
    frame = mixed_frame()

    def predict(rows):
        assert_array_equal(rows.columns, frame.columns)
        assert list(rows.dtypes) == list(frame.dtypes)
        return (
            rows["age"]
            + 10 * (rows["city"] == "Oslo")
            + rows["level"].cat.codes * rows["member"]
            + rows["visits"].fillna(0).astype(float)
            + rows["since"].dt.day
        )

    game = FeatureGame(predict, frame, kind=kind, rows=[4, 9], background=frame.iloc[::2])
    result = fs.exact(game)
    assert result.player_names == tuple(frame.columns)
    empty, grand = game(np.array([[False] * 6, [True] * 6]))
    assert result.values.sum() == pytest.approx(grand - empty)
    assert empty == pytest.approx(predict(frame.iloc[::2]).mean())
    assert grand == pytest.approx(predict(frame.iloc[[4, 9]]).mean())


def test_a_pipeline_with_text_columns_is_explained_by_its_own_columns():
    frame = mixed_frame()[["age", "city"]]
    target = frame["age"] + 10 * (frame["city"] == "Oslo")
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = make_pipeline(encode, LinearRegression()).fit(frame, target)
    row = 3
    game = FeatureGame(model, frame, rows=row, background=50)
    age = frame["age"].iloc[row] - frame["age"].mean()
    assert fs.exact(game).values[0] == pytest.approx(age)


def test_arrays_and_frames_give_the_same_utilities():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    on_array = DecisionTreeClassifier(random_state=0).fit(IRIS, SPECIES)
    on_frame = DecisionTreeClassifier(random_state=0).fit(frame, SPECIES)
    masks = coalitions(4)
    for kind in ("marginal", "conditional"):
        options = {"kind": kind, "rows": slice(0, 150, 25), "output": 1}
        from_array = FeatureGame(on_array, IRIS, feature_names=list("abcd"), **options)
        from_frame = FeatureGame(on_frame, frame, **options)
        assert from_array.player_names == from_frame.player_names
        assert_array_equal(from_array(masks), from_frame(masks))


def test_sparse_rows_are_made_dense_and_single_precision_stays():
    data = np.array([[0, 1], [2, 0], [3, 3]], dtype=np.float32)

    def predict(rows):
        assert rows.dtype == np.float32
        return rows.sum(axis=1)

    dense, sparse = (FeatureGame(predict, rows, rows=2) for rows in (data, csr_array(data)))
    assert_array_equal(dense(coalitions(2)), sparse(coalitions(2)))
    assert_allclose(fs.exact(sparse).values, data[2] - data.mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
def test_a_predict_that_changes_its_input_does_no_harm(kind):
    def predict(rows):
        answer = rows @ [1.0, 2.0, 3.0, 4.0]
        rows[:] = -1.0
        return answer

    data = IRIS.copy()
    game = FeatureGame(predict, data, kind=kind, rows=[1, 2])
    assert_array_equal(data, IRIS)
    careful = FeatureGame(lambda rows: rows @ [1.0, 2.0, 3.0, 4.0], IRIS, kind=kind, rows=[1, 2])
    first = game(coalitions(4))
    assert_array_equal(first, careful(coalitions(4)))
    assert_array_equal(first, game(coalitions(4)))


def test_rows_of_the_user_may_change_afterwards():
    data = IRIS.copy()
    game = FeatureGame(identity, data, rows=0)
    before = game.for_rows(5)(coalitions(4))
    data[:] = 0.0
    assert_array_equal(game.for_rows(5)(coalitions(4)), before)


def test_torch_modules_are_fed_tensors():
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh())
    game = FeatureGame(module, IRIS, rows=0, output=1, background=10)
    wrapped = FeatureGame(
        lambda x: module(torch.as_tensor(x, dtype=torch.float32)),
        IRIS,
        rows=0,
        output=1,
        background=10,
    )
    assert_array_equal(game(coalitions(4)), wrapped(coalitions(4)))
    noisy = torch.nn.Sequential(module, torch.nn.Dropout(0.5))
    with pytest.raises(fs.InputError, match="switch its randomness off"):
        FeatureGame(noisy, IRIS, output=1)


# --- background ---------------------------------------------------------------------------------


def test_the_background_is_drawn_once_from_the_data():
    game = FeatureGame(identity, IRIS, rows=0)
    assert game.background.shape == (100, 4)
    assert_array_equal(game.background, FeatureGame(identity, IRIS, rows=9).background)
    other = FeatureGame(identity, IRIS, rows=0, seed=1)
    assert not np.array_equal(game.background, other.background)
    distinct = np.arange(150.0)[:, None]
    drawn = FeatureGame(identity, distinct, background=60).background
    assert len(np.unique(drawn)) == 60
    assert len(FeatureGame(identity, IRIS[:30], rows=0).background) == 30
    assert len(FeatureGame(identity, IRIS, kind="conditional").background) == 150


def test_a_frame_background_may_have_its_columns_in_another_order():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]})
    game = FeatureGame(lambda x: x["a"] * x["b"], frame, rows=1, background=frame[["b", "a"]])
    assert_array_equal(game(coalitions(2)), [6.5, 7.5, 8.0, 10.0])


def test_groups_show_what_is_in_them():
    """The hot column where there is one, all contents otherwise, whatever they are."""
    frame = pd.DataFrame(
        {
            "red": [True, False, False],
            "blue": [False, False, True],
            "left": pd.array([1, None, 0], dtype="Int64"),
            "right": [0.0, 0.25, 1.0],
        }
    )
    game = FeatureGame(
        lambda rows: rows["right"], frame, groups=[["red", "blue"], ["left", "right"]]
    )
    assert game.player_data.tolist() == [
        ["red", "left"],
        ["False, False", "<NA>, 0.25"],
        ["blue", "right"],
    ]


# --- batches ------------------------------------------------------------------------------------


def chunked(game, masks, size):
    return np.concatenate([game(masks[at : at + size]) for at in range(0, len(masks), size)])


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
@pytest.mark.parametrize("output", [None, 1])
def test_any_chunk_gives_the_same_bits(kind, output):
    """With one output and with several; trees answer a row alike in any batch."""
    if output is None:
        model = DecisionTreeRegressor(random_state=0).fit(DIABETES[:, :5], PROGRESSION)
    else:
        model = DecisionTreeClassifier(random_state=0).fit(DIABETES[:, :5], PROGRESSION > 150)

    def build(**more):
        options = {"kind": kind, "rows": [1, 5, 8], "output": output, "background": 11}
        return FeatureGame(model, DIABETES[:, :5], **options, **more)

    masks = coalitions(5)
    whole = build()(masks)
    for size in (1, 3, 31):
        assert_array_equal(chunked(build(), masks, size), whole)
    for max_rows in (1, 5, 100):
        assert_array_equal(build(max_rows=max_rows)(masks), whole)
    assert build()(masks[:0]).shape == (0,)
    assert_array_equal(build()(masks[::-1])[::-1], whole)


def test_linear_algebra_differs_in_the_last_places_unless_each_coalition_has_its_calls():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(IRIS, SPECIES)
    masks = coalitions(4)

    def build(**more):
        return FeatureGame(model, IRIS, rows=[0, 99], output=1, **more)

    whole = build()(masks)
    for size in (1, 5):
        assert_allclose(chunked(build(), masks, size), whole, rtol=1e-13)
        own_calls = build(max_rows=100)
        assert_array_equal(chunked(build(max_rows=100), masks, size), own_calls(masks))


def test_blocks_of_neighbours_give_the_same_bits(monkeypatch):
    """With little memory: a few rows at a time, and neighbours found anew in every call."""
    game = FeatureGame(identity, IRIS, kind="conditional")
    masks = coalitions(4)
    whole = game(masks)
    for name, little in (("_BYTES", 64), ("_KEPT", 0), ("_COMPARED", 500)):
        monkeypatch.setattr(conditional_module, name, little)
        assert_array_equal(pickle.loads(pickle.dumps(game))(masks), whole)  # noqa: S301


def test_no_call_has_more_rows_than_allowed():
    handed = []

    def predict(rows):
        handed.append(len(rows))
        return rows[:, 0]

    game = FeatureGame(predict, IRIS, rows=[0, 1], background=40, max_rows=100)
    handed.clear()
    game(coalitions(4))
    assert handed == [80] * 16
    FeatureGame(predict, IRIS, kind="conditional", max_rows=60)
    assert handed[-3:] == [60, 60, 30]


# --- fingerprints, pickles, ranges --------------------------------------------------------------


def iris_game(**options):
    data = options.pop("data", IRIS)
    model = DecisionTreeClassifier(max_depth=options.pop("depth", 3), random_state=0)
    options = {"rows": 0, "output": 1, **options}
    return FeatureGame(model.fit(IRIS, SPECIES), data, **options)


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
def test_fingerprints_are_of_what_the_utilities_depend_on(kind):
    game = iris_game(kind=kind)
    own = fs.games.fingerprint(game)
    game(coalitions(4))
    again = pickle.loads(pickle.dumps(game))  # noqa: S301
    names = ["Seto", "Vers", "Virg"]
    [single] = game.each_row()
    for same in (
        game,
        again,
        single,
        iris_game(kind=kind),
        iris_game(kind=kind, output_names=names, feature_names=list("abcd"), value_range=(-1, 2)),
        iris_game(kind=kind, max_rows=50),
        game.for_rows(3).for_output(2).for_rows(0).for_output(1),
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


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
def test_feature_games_keep_the_contract_of_games(kind):
    check_game(iris_game(kind=kind, rows=[0, 70]))


def test_a_conditional_game_needs_its_function_no_more():
    """Its predictions are its content: an unpicklable function does not stand in the way."""
    game = FeatureGame(lambda rows: rows[:, 0], IRIS, kind="conditional")
    same = FeatureGame(identity, IRIS, kind="conditional")
    assert fs.games.fingerprint(game) == fs.games.fingerprint(same)


def test_probabilities_have_their_range_and_others_if_they_are_told():
    assert iris_game().value_range == (0.0, 1.0)
    assert FeatureGame(identity, IRIS).value_range is None
    game = FeatureGame(identity, IRIS, rows=0, value_range=(0, 5))
    with pytest.raises(fs.GameError, match=r"outside the value_range \(0, 5\)") as caught:
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
        ({"rows": 150}, "row 150 is out of range: X has the rows 0 to 149"),
        ({"rows": []}, "rows names no row"),
        ({"rows": "first"}, "'first' is none"),
        ({"rows": [0.5]}, "0.5 is none"),
        ({"rows": True}, "True is none"),
        ({"rows": [[0], [1, 2]]}, r"\[0\] is none"),
        ({"rows": np.ones(3, dtype=bool)}, "a mask of rows must have the 150 of X, not 3"),
        ({"kind": "causal"}, "kind must be 'marginal' or 'conditional'"),
        ({"tolerance": 0.1}, "give kind='conditional'"),
        ({"kind": "conditional", "tolerance": 0}, "tolerance must be a positive number"),
        ({"kind": "conditional", "tolerance": float("nan")}, "tolerance must be a positive"),
        ({"kind": "conditional", "tolerance": "10 %"}, "tolerance must be a positive"),
        ({"kind": "conditional", "relative_to": "mean"}, "'value', 'range' or 'std'"),
        ({"groups": {"g": ["petal"]}}, "names? the column 'petal', which X has not"),
        ({"groups": {"g": [4]}}, "the column 4, which X has not; it has 0, 1, 2, 3"),
        ({"groups": {"g": [0, 1], "h": [1]}}, "column 1 is in the groups 'g' and 'h'"),
        ({"groups": {"g": [True]}}, "the column True, which X has not"),
        ({"groups": {"g": [[0]]}}, r"the column \[0\], which X has not"),
        ({"groups": {"g": []}}, "group 'g' has no columns"),
        ({"groups": {"g": "01"}}, "group 'g' must be a list of columns"),
        ({"groups": 3}, "groups must be a dictionary"),
        ({"groups": {"x3": [0, 1]}}, "two players have the name 'x3'"),
        ({"background": 0}, "give 1 to 150"),
        ({"background": 151}, "give 1 to 150"),
        ({"background": 0.5}, "background must be a number of rows"),
        ({"background": IRIS[:, :3]}, "background has 3 columns and X has 4"),
        ({"background": IRIS[:0]}, "background must have rows and columns"),
        ({"background": FRAME}, "X is an array and background a data frame"),
        ({"background": np.full((2, 4), "a")}, "X holds float64 and background <U1"),
        ({"background": [[1.0], [1.0, 2.0]]}, "background must be a 2-d array"),
        ({"background": "all"}, "background must be a number of rows"),
        ({"output": 1}, "output must be a number from 0 to 0"),
        ({"output": "1"}, "there is no output '1'; there are 0"),
        ({"output": True}, "output must be a number"),
        ({"output_names": ["a", "b"]}, "output_names must be 1 different names"),
        ({"feature_names": ["a", "a", "b", "c"]}, "feature_names must be 4 different names"),
        ({"feature_names": 4}, "feature_names must be 4 different names"),
        ({"max_rows": 0}, "max_rows must be a whole number of at least 1"),
        ({"seed": "x", "background": 3}, "seed must be a whole number"),
        ({"value_range": (1, 0)}, "value_range must be \\(lowest, highest\\)"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(identity, IRIS, **options)


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda x: x[:, :1].sum(), r"array of shape \(\) for 8 rows"),
        (lambda x: x[:3, 0], r"array of shape \(3,\) for 8 rows"),
        (lambda x: x[:, :, None], r"shape \(8, 4, 1\)"),
        (lambda x: x[:, :0], r"shape \(8, 0\)"),
        (lambda x: np.full(len(x), np.nan), "NaN or an infinite number"),
        (lambda x: ["cat"] * len(x), r"not real numbers \(labels, perhaps\)"),
        (lambda x: x[:, 0] + 1j, "not real numbers"),
        (lambda x: x["age"], "predict raised IndexError"),
        (lambda x: None, r"array of shape \(\) for 8 rows"),
        (lambda x: np.array(["1"] * len(x)), "give predict_proba"),
        (lambda x: np.array(["1"] * len(x), dtype=object), "give predict_proba"),
        (lambda x: np.random.default_rng().random(len(x)), "switch its randomness off"),
        (lambda x: x[:, 0] - x[:, 0].mean(), "depend on the rows beside"),
        (DecisionTreeClassifier(), "predict raised NotFittedError"),
        (DecisionTreeClassifier, "a function of rows or a fitted model"),
        ("predict", "a function of rows or a fitted model"),
    ],
)
def test_bad_predictions_are_named(predict, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(predict, IRIS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1.0, 2.0], "X must have rows and columns"),
        (np.empty((0, 3)), "X must have rows and columns"),
        ([[1.0], [2.0, 3.0]], "rows have different lengths"),
        ([[1.0, "a"]], "X holds texts"),
        ([[1j]], "X holds complex128"),
        (FRAME[["a", "a"]], "the column 'a' twice"),
        (FRAME[:0], "X must have rows and columns"),
    ],
)
def test_bad_data_are_named(data, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(lambda x: np.zeros(len(x)), data)


@pytest.mark.parametrize(
    ("background", "message"),
    [
        (FRAME[["a", "b"]], "same columns; in one alone are 'c'"),
        (FRAME.assign(c=[1, 2]), "column 'c' is .* in X and int64 in background"),
        (FRAME.to_numpy(), "X is a data frame and background an array"),
    ],
)
def test_backgrounds_that_do_not_fit_a_frame_are_named(background, message):
    with pytest.raises(fs.InputError, match=message):
        FeatureGame(lambda x: np.zeros(len(x)), FRAME, background=background)


def test_very_large_features_have_neighbourhoods_while_their_spread_is_a_float():
    """The difference of ±1e308 is infinite, and not near."""
    data = np.array([[1e308], [-1e308]])

    def predict(rows):
        return np.sign(rows[:, 0])

    game = FeatureGame(predict, data, kind="conditional", rows=0)
    assert_array_equal(game(coalitions(1)), [0.0, 1.0])
    for relative_to in ("range", "std"):
        with pytest.raises(fs.InputError, match="spread of column 0 is more than a float holds"):
            FeatureGame(predict, data, kind="conditional", relative_to=relative_to)


def test_objects_of_pandas_are_numbers_and_missing_ones():
    """What `to_numpy` makes of nullable columns: 10 and 11 are near, as NA is near NA."""
    rows = pd.DataFrame(
        {
            "size": pd.array([10, 11, None, None], dtype="Int64"),
            "town": pd.array(["Oslo", None, "Bari", None], dtype="string"),
            "id": [10**400, 3, 4, 3],
        }
    ).to_numpy()
    predictions = np.array([1.0, 2.0, 4.0, 8.0])

    def near(column, row):
        table = np.column_stack([rows[:, column], np.arange(4)])
        game = FeatureGame(
            lambda x: predictions[x[:, 1].astype(int)], table, kind="conditional", rows=row
        )
        return game(np.array([[True, False]]))[0]

    assert [near(0, row) for row in range(4)] == [1.5, 1.5, 6.0, 6.0]
    assert [near(1, row) for row in range(4)] == [1.0, 5.0, 4.0, 5.0]
    assert [near(2, row) for row in range(4)] == [1.0, 5.0, 4.0, 5.0]


def test_infinite_features_have_no_neighbourhood_and_missing_ones_do():
    with pytest.raises(fs.InputError, match="column 0 is infinite"):
        FeatureGame(lambda x: np.zeros(len(x)), [[np.inf], [1.0]], kind="conditional")
    game = FeatureGame(
        lambda x: np.nan_to_num(x[:, 0]), [[np.nan], [np.nan], [4.0]], kind="conditional", rows=0
    )
    assert_array_equal(game(coalitions(1)), [4.0 / 3, 0.0])


def test_a_prediction_that_is_not_a_number_later_names_its_coalition():
    """Only mixtures of both rows fail, which no row of the data shows."""

    def predict(rows):
        return np.where(rows[:, 0] != rows[:, 1], np.nan, rows[:, 0])

    game = FeatureGame(predict, [[1.0, 1.0], [2.0, 2.0]], rows=0)
    with pytest.raises(fs.GameError, match=r"coalition \(0,\) failed"):
        fs.exact(game)


def test_outputs_must_not_change_their_number():
    def predict(rows):
        return np.zeros((len(rows), 2 if len(rows) > 10 else 1))

    with pytest.raises(fs.GameError, match="returned 2 outputs where it had returned 1"):
        FeatureGame(predict, IRIS, rows=0)(coalitions(4))
