"""Numbers with commas: recognised by column, by the rest of the file, or asked for."""

import pyarrow as pa
import pytest

from fairshapley.errors import InputError
from fairshapley.tables import read_table
from fairshapley.tables.decimals import read_decimals
from fairshapley.tables.reading import notes_of


def numbers(columns, decimal="auto"):
    return read_decimals(pa.table(columns), decimal, "rows.csv")[0].to_pydict()


def test_a_file_with_decimal_commas_holds_numbers(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("size;y\n3,14;1,5\n-2;2\n;,5\n1.234,5;1e3\n")
    table = read_table(file, delimiter=";")
    assert table.to_pydict() == {
        "size": [3.14, -2.0, None, 1234.5],
        "y": [1.5, 2.0, 0.5, 1000.0],
    }
    assert notes_of(table) == ["numbers written with decimal commas: 'size' and 'y'"]
    file.write_text('size,y\n"3,14",1\n" 2,5 ",2\n')
    assert read_table(file).to_pydict() == {"size": [3.14, 2.5], "y": [1, 2]}


def test_commas_between_thousands_are_told_by_what_else_is_there():
    assert numbers({"a": ["1,234.5", "7"]}) == {"a": [1234.5, 7.0]}
    assert numbers({"a": ["1,234,567", "-12"]}) == {"a": [1234567.0, -12.0]}
    assert numbers({"a": ["1,234"], "b": ["1,5"]}) == {"a": [1.234], "b": [1.5]}
    assert numbers({"a": ["1,234"], "b": ["1,234.5"]}) == {"a": [1234.0], "b": [1234.5]}
    assert numbers({"a": ["1,234"], "b": [0.5]}) == {"a": [1234.0], "b": [0.5]}


def test_a_comma_that_may_be_either_is_asked_about():
    for columns in ({"a": ["1,234"]}, {"a": ["1,234"], "b": ["1,5"], "c": [0.5]}):
        with pytest.raises(InputError, match=r"column 'a' of rows.csv .* decimal=','"):
            numbers(columns)
    assert numbers({"a": ["1,234", "1.500"]}, ",") == {"a": [1.234, 1500.0]}
    assert numbers({"a": ["1,234", "1.500"]}, ".") == {"a": [1234.0, 1.5]}


def test_a_point_between_thousands_where_the_comma_is_said_to_be_decimal(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a;b\n1.234;0,5\n2.000;1\n")
    table = read_table(file, delimiter=";", decimal=",")
    assert table.to_pydict() == {"a": [1234.0, 2000.0], "b": [0.5, 1.0]}


@pytest.mark.parametrize(
    "texts", [["a,b"], ["1,5", "about 2"], ["1,2,3"], [","], ["e5", "1,5"], ["1,5", "1,234.5"]]
)
def test_other_texts_stay_texts(texts):
    assert numbers({"a": texts}) == {"a": texts}


def test_names_stay_as_they_are_written(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("who;y\n007;1,5\n1,5;2,5\n")
    table = read_table(file, delimiter=";", texts=["who", "not there"])
    assert table.to_pydict() == {"who": ["007", "1,5"], "y": [1.5, 2.5]}
