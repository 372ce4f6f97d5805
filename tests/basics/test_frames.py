"""Every kind of table, in and out, gives what pandas gives."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairshapley as fs
from fairshapley._basics.frames import make_frame
from fairshapley.errors import InputError
from fairshapley.tables import table_game

ROWS = 24
RNG = np.random.default_rng(0)
COLUMNS = {
    "age": RNG.normal(40, 10, ROWS).round(1).tolist(),
    "town": RNG.choice(["Ulm", "Bonn"], ROWS).tolist(),
    "paid": RNG.integers(0, 2, ROWS).astype(bool).tolist(),
    "label": (["no", "yes"] * ROWS)[:ROWS],
}
COLUMNS["age"][3], COLUMNS["town"][3] = COLUMNS["age"][1], COLUMNS["town"][1]
COLUMNS["paid"][3], COLUMNS["label"][3] = COLUMNS["paid"][1], COLUMNS["label"][1]
KINDS = ["pandas", "polars", "lazy", "pyarrow", "datasets"]


def made(kind, columns):
    if kind == "pandas":
        return pd.DataFrame(columns)
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").table(columns)
    if kind == "datasets":
        return pytest.importorskip("datasets").Dataset.from_dict(columns)
    polars = pytest.importorskip("polars")
    return polars.DataFrame(columns) if kind == "polars" else polars.LazyFrame(columns)


def parts(start, stop):
    return {name: column[start:stop] for name, column in COLUMNS.items()}


def encoded():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), (StandardScaler(), ["age"])
    )
    return make_pipeline(columns, LogisticRegression())


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_given_frames_with_their_columns(kind):
    """A pipeline that picks columns by name sees every kind as it sees pandas."""
    games = [
        fs.games.DataGame(encoded(), (made(one, parts(0, 16)), "label"), (test, "label"))
        for one, test in (
            ("pandas", made("pandas", parts(16, ROWS))),
            (kind, made(kind, parts(16, ROWS))),
        )
    ]
    coalitions = np.random.default_rng(1).random((5, 16)) < 0.5
    np.testing.assert_array_equal(games[0](coalitions), games[1](coalitions))
    assert games[0].identical_players == games[1].identical_players == ((1, 3),)
    assert fs.games.fingerprint(games[1]) == fs.games.fingerprint(games[1])


@pytest.mark.parametrize("kind", KINDS)
def test_data_sets_base_and_groups_of_every_kind(kind):
    numbers = {name: COLUMNS[name] for name in ("age", "label")}
    train = made(kind, {name: column[:16] for name, column in numbers.items()})
    test = made(kind, {name: column[16:] for name, column in numbers.items()})
    model = LogisticRegression()
    by_name = fs.games.DataGame(
        model, {"a": (train, "label"), "b": (test, "label")}, (test, "label")
    )
    assert by_name.player_names == ("a", "b")
    grouped = fs.games.DataGame(
        model, (train, "label"), (test, "label"), groups=COLUMNS["town"][:16], base=(test, "label")
    )
    assert grouped.player_names == ("Bonn", "Ulm")
    assert np.isfinite(grouped(np.eye(2, dtype=bool))).all()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lazy"])
def test_missing_values_are_found_in_every_kind(kind):
    holed = {**parts(0, 16), "age": [None, *COLUMNS["age"][1:16]]}
    with pytest.raises(InputError, match=r"row 0, column 'age'"):
        fs.games.DataGame(
            encoded(), (made(kind, holed), "label"), (made(kind, parts(16, ROWS)), "label")
        )


@pytest.mark.parametrize("kind", [*KINDS, "dict", "path"])
def test_tables_of_every_kind_are_the_same_game(kind, tmp_path):
    given = COLUMNS
    if kind == "path":
        given = tmp_path / "rows.csv"
        pd.DataFrame(COLUMNS).to_csv(given, index=False)
    elif kind != "dict":
        given = made(kind, COLUMNS)
    expected = table_game(made("pyarrow", COLUMNS), "label", test_size=6)
    found = table_game(given, "label", test_size=6)
    assert found.notes == expected.notes
    assert fs.games.fingerprint(found.game) == fs.games.fingerprint(expected.game)


def test_arrays_are_tables_with_numbered_columns():
    array = np.array([COLUMNS["age"], COLUMNS["paid"], [0.0, 1.0] * (ROWS // 2)]).T
    for given in (array, array.tolist()):
        found = table_game(given, "x2", task="classification", test_size=6)
        assert found.game.n_players == ROWS - 6


def test_a_pandas_index_names_the_rows():
    names = [f"p{number}" for number in range(ROWS)]
    frame = pd.DataFrame(COLUMNS, index=names)
    assert set(table_game(frame, "label", test_size=6).game.player_names) < set(names)
    plain = pd.DataFrame(COLUMNS)
    assert table_game(plain, "label", test_size=6).game.player_names[0].startswith("row ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "has no rows and columns"),
        (pd.DataFrame({"label": [1, "a", 2.5]}), "training rows cannot be read as a table"),
        (pd.DataFrame({"x": [1.0, np.inf], "label": [0, 1]}), "'x' of training rows is infinite"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "several columns called 'x'|Duplicate"),
    ],
)
def test_what_is_no_table_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        table_game(given, "label")


def test_several_data_sets_and_streams_are_refused():
    datasets = pytest.importorskip("datasets")
    one = made("datasets", COLUMNS)
    with pytest.raises(InputError, match=r"data\['train'\]"):
        table_game(datasets.DatasetDict(train=one), "label")
    with pytest.raises(InputError, match="IterableDataset is not one table"):
        table_game(type("IterableDataset", (), {"__module__": "datasets.iterable"})(), "label")


def test_two_kinds_are_not_mixed():
    train, test = (
        (made("pandas", parts(0, 16)), "label"),
        (made("pyarrow", parts(16, ROWS)), "label"),
    )
    with pytest.raises(InputError, match="train is of pandas, X of test of pyarrow: give both"):
        fs.games.DataGame(encoded(), train, test)
    with pytest.raises(InputError, match="no column 'lable'; did you mean 'label'"):
        fs.games.DataGame(encoded(), (train[0], "lable"), train)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_of_every_kind(kind):
    numbers = {"u": [0.0, 1.0, 3.0], "v": [1.0, 0.0, 2.0]}
    arrays = np.array(list(numbers.values())).T
    expected = fs.knn_shapley(arrays, [0, 1, 0], arrays, [0, 1, 1], k=1).values
    frame = made(kind, numbers)
    np.testing.assert_array_equal(
        fs.knn_shapley(frame, [0, 1, 0], frame, [0, 1, 1], k=1).values, expected
    )
    if kind != "lazy":  # whose columns are no data yet
        labels = made(kind, {"y": [0, 1, 0]})["y"]
        np.testing.assert_array_equal(
            fs.knn_shapley(arrays, labels, arrays, [0, 1, 1], k=1).values, expected
        )
    turned = made(kind, {"v": numbers["v"], "u": numbers["u"]})
    volumes = [
        fs.exact(fs.games.VolumeGame({"a": one, "b": other})).values
        for one, other in ((frame, turned), (arrays, arrays))
    ]
    np.testing.assert_array_equal(*volumes)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_of_every_kind_are_explained(kind):
    frame = made(kind, {"age": [1.0, 3.0], "town": ["Ulm", "Bonn"]})
    game = fs.games.FeatureGame(lambda rows: rows["age"] + 2.0 * (rows["town"] == "Ulm"), frame)
    assert game.player_names == ("age", "town")
    found = fs.explain(game)
    np.testing.assert_allclose(found.values, [[-1.0, 1.0], [1.0, -1.0]])
    table = found.to_frame(frame if kind != "lazy" else "polars")
    np.testing.assert_allclose([float(cell) for cell in table["age"]], [-1.0, 1.0])


def test_outputs_of_explanations_are_a_column():
    game = fs.games.FeatureGame(
        lambda rows: np.c_[rows.sum(axis=1), -rows.sum(axis=1)],
        [[0.0, 0.0], [2.0, 4.0]],
        output=0,
        feature_names=["row", "b"],
    )
    found = fs.explain(game, outputs="all")
    plain = found.to_frame("dict")
    assert plain["row_"] == [0, 0, 1, 1]
    assert plain["output"] == list(found.output_names) * 2
    np.testing.assert_allclose(plain["row"], [-1.0, 1.0, 1.0, -1.0])
    assert found.to_frame().index.names == ["row_", "output"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "datasets", "dict"])
def test_results_come_in_the_kind_asked_for(kind):
    if kind != "dict":
        pytest.importorskip(kind)
    game = fs.games.Airport([1.0, 2.0, 4.0])
    result = fs.exact(game)
    tables = [
        (result.to_frame(kind), "player", "value", result.values),
        (fs.curve(game, result).to_frame(kind), "added", "utility", [0.0, 4.0, 4.0, 4.0]),
        (result.payout(100).to_frame(kind), "player", "amount", result.payout(100).amounts),
        (
            fs.compare(game, ["mc"], budgets=8, repeats=2).to_frame(kind),
            "method",
            "null_players",
            [0],
        ),
    ]
    for table, first, column, expected in tables:
        names = list(table.index if kind == "pandas" else table[first])
        assert len(names) == len(expected)
        found = np.array(
            [getattr(cell, "as_py", lambda cell=cell: cell)() for cell in table[column]]
        )
        np.testing.assert_array_equal(found, np.asarray(expected))
        assert type(make_frame({"a": [1]}, table)) is type(table)
    assert isinstance(found[0], Decimal | int | float | np.number)


def test_without_polars_the_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(fs.errors.MissingExtraError, match=r"pip install .*polars"):
        fs.exact(fs.games.Airport([1.0, 2.0])).to_frame("polars")
