"""Feature games: what predict is handed, the background, batches."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fairshapley as fs
from fairshapley.games.features import FeatureGame
from tests.games.features.samples import DIABETES, IRIS, PROGRESSION, SPECIES, coalitions, identity

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


def test_data_frames_keep_their_columns_and_dtypes():
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

    game = FeatureGame(predict, frame, rows=[4, 9], background=frame.iloc[::2])
    result = fs.exact(game)
    assert result.evidence.player_names == tuple(frame.columns)
    empty, grand = game(np.array([[False] * 6, [True] * 6]))
    assert result.values.sum() == pytest.approx(grand - empty)
    assert empty == pytest.approx(predict(frame.iloc[::2]).mean())
    assert grand == pytest.approx(predict(frame.iloc[[4, 9]]).mean())


def test_arrays_and_frames_give_the_same_utilities():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    on_array = DecisionTreeClassifier(random_state=0).fit(IRIS, SPECIES)
    on_frame = DecisionTreeClassifier(random_state=0).fit(frame, SPECIES)
    masks = coalitions(4)
    for kind in ("marginal", "mean"):
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


@pytest.mark.parametrize("kind", ["marginal", "mean"])
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
    assert len(FeatureGame(identity, IRIS, kind="mean").background) == 1


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
    assert game.shown(np.array(game.rows)).tolist() == [
        ["red", "left"],
        ["False, False", "<NA>, 0.25"],
        ["blue", "right"],
    ]


# --- batches ------------------------------------------------------------------------------------


def chunked(game, masks, size):
    return np.concatenate([game(masks[at : at + size]) for at in range(0, len(masks), size)])


@pytest.mark.parametrize("kind", ["marginal", "mean"])
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


def test_no_call_has_more_rows_than_allowed():
    handed = []

    def predict(rows):
        handed.append(len(rows))
        return rows[:, 0]

    game = FeatureGame(predict, IRIS, rows=[0, 1], background=40, max_rows=100)
    handed.clear()
    game(coalitions(4))
    assert handed == [80] * 16
