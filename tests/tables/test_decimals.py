"""A file has one decimal sign; a typo in a column of numbers is no category."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.tables import read_table
from fairshapley.tables.reading import check_typos, read_decimals


def numbers(columns, decimal="auto"):
    return read_decimals(pa.table(columns), decimal, "rows.csv").to_pydict()


def test_a_file_with_decimal_commas_holds_numbers(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("size;y\n3,14;1,5\n-2;2\n;,5\n1234,5;1e3\n")
    table = read_table(file, delimiter=";")
    assert table.to_pydict() == {"size": [3.14, -2.0, None, 1234.5], "y": [1.5, 2.0, 0.5, 1000.0]}
    file.write_text('size,y\n"3,14",1\n" 2,5 ",2\n')
    assert read_table(file).to_pydict() == {"size": [3.14, 2.5], "y": [1, 2]}
    assert numbers({"a": ["1,234"], "b": ["1,5"]}) == {"a": [1.234], "b": [1.5]}
    assert numbers({"a": ["1,234"]}, ",") == {"a": [1.234]}
    assert numbers({"a": ["1,5"]}, ".") == {"a": ["1,5"]}


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["1,234"]},
        {"a": ["1,234"], "b": ["1,5"], "c": [0.5]},
        # A point between thousands, which pyarrow takes for a decimal point.
        {"a": [1.234], "b": ["0,5"]},
    ],
)
def test_a_file_whose_commas_may_be_between_thousands_is_asked_about(columns):
    with pytest.raises(InputError, match=r"column '[ab]' of rows.csv .* decimal=','"):
        numbers(columns)


def test_other_texts_stay_texts():
    for texts in (["a,b"], ["1,5", "about 2"], ["1,2,3"], [","], ["e5", "1,5"], ["1.234,5"]):
        assert numbers({"a": texts}) == {"a": texts}


def test_names_stay_as_they_are_written(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("who;y\n007;1,5\n1,5;2,5\n")
    table = read_table(file, delimiter=";", texts=["who", "not there"])
    assert table.to_pydict() == {"who": ["007", "1,5"], "y": [1.5, 2.5]}


# --- typos ------------------------------------------------------------------------------------


def table_with(cell, *, column="size", n_rows=400):
    """Numbers in three columns, one cell of which is something else."""
    rng = np.random.default_rng(0)
    size = rng.normal(40, 5, n_rows).round(1)
    columns = {
        "size": [str(number) for number in size],
        "price": [str(number) for number in (2 * size + rng.normal(size=n_rows)).round(1)],
        "label": np.where(size > 40, "big", "small").tolist(),
    }
    columns[column][76] = cell
    return columns


def csv_of(folder, columns):
    lines = [",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return folder / "rows.csv"


@pytest.mark.parametrize("cell", ["4O", "€ 5", "1_000", "5 kg", "?"])
@pytest.mark.parametrize("column", ["size", "price"])
def test_a_cell_among_numbers_that_is_none_is_named(tmp_path, cell, column):
    """In a feature and in the target; whichever rows are drawn for scoring."""
    file = csv_of(tmp_path, table_with(cell, column=column))
    with pytest.raises(InputError, match="row 77 of the training rows holds") as caught:
        fs.table_game(file, "price", drop=["label"])
    assert repr(cell) in str(caught.value)
    assert f"column {column!r}" in str(caught.value)
    whole, test = csv_of(tmp_path, table_with("40")), pd.DataFrame(table_with(cell, column=column))
    with pytest.raises(InputError, match="row 77 of the test rows holds"):
        fs.table_game(whole, "price", drop=["label"], test=test)


@pytest.mark.parametrize("mark", ["{}%", "${}", "1_{:03.0f}", "{} €"])
def test_a_column_of_numbers_with_signs_is_not_one_of_categories(tmp_path, mark):
    columns = table_with("40")
    columns["price"] = [mark.format(float(cell)) for cell in columns["price"]]
    with pytest.raises(InputError, match=r"row 1 of the training rows holds .* 'price'"):
        fs.table_game(csv_of(tmp_path, columns), "label")


def test_columns_declared_as_text_and_names_are_left_alone(tmp_path):
    columns = table_with("4O")
    file = csv_of(tmp_path, columns)
    game = fs.table_game(read_table(file, texts=["size"]), "label", drop=["price"])
    assert game.feature_names[0].startswith("size = ")
    frame = pd.DataFrame(columns).astype({"size": "category"})
    assert fs.table_game(frame, "label", drop=["price"]).notes == game.notes
    check_typos(pa.table(columns), {"size"}, "training")


@pytest.mark.parametrize(
    "cells",
    [["a1", "b2", "3"], ["c0", "c1"], ["007", "008"], ["1", "x", "y", None], ["red", "50%", None]],
)
def test_texts_of_which_few_are_numbers_are_categories(cells):
    check_typos(pa.table({"a": cells}), (), "training")
