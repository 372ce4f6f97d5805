import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fairshapley.errors import InputError
from fairshapley.tabular import read_table
from fairshapley.tabular import reading as module
from fairshapley.tabular.columns import as_numbers, as_texts, kind_of


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_csv_and_parquet_give_the_same_table(tmp_path):
    file = write(tmp_path / "rows.csv", 'a,b,when\n1,x,2024-01-02\n,"y, z",\n3,,2024-01-03\n')
    table = read_table(file)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet").equals(table)
    assert table.to_pydict() == {
        "a": [1, None, 3],
        "b": ["x", "y, z", None],
        "when": [datetime.date(2024, 1, 2), None, datetime.date(2024, 1, 3)],
    }


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r"])
def test_line_breaks_blank_lines_and_a_byte_order_mark(tmp_path, break_):
    text = break_.join(["\ufeffa,b", "1,2", "", "3,4"])
    table = read_table(write(tmp_path / "rows.csv", text))
    assert table.to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_breaks_inside_quotes_belong_to_the_cell(tmp_path):
    table = read_table(write(tmp_path / "rows.csv", 'a,b\n1,"two\nlines"\n2,x\n'))
    assert table.column("b").to_pylist() == ["two\nlines", "x"]


def test_other_encodings_and_delimiters(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes("größe;y\n1;ä\n".encode("latin-1"))
    table = read_table(file, encoding="latin-1", delimiter=";")
    assert table.to_pydict() == {"größe": [1], "y": ["ä"]}
    file.write_bytes("a,y\n1,ä\n".encode("utf-16"))
    assert read_table(file, encoding="utf-16").to_pydict() == {"a": [1], "y": ["ä"]}


def test_too_many_rows_are_refused_before_the_file_is_parsed(tmp_path, monkeypatch):
    file = write(tmp_path / "rows.csv", "a\n" + "1\n" * 50)
    assert read_table(file, max_rows=50).num_rows == 50

    def parsed(*arguments):
        raise AssertionError("the file was parsed")

    monkeypatch.setattr(module, "_read_csv", parsed)
    with pytest.raises(InputError, match=r"about 50 rows, more than 49.*--sample 49"):
        read_table(file, max_rows=49)


def test_the_rows_of_parquet_are_counted_before_they_are_read(tmp_path):
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"a": list(range(50))}), file)
    with pytest.raises(InputError, match="about 50 rows"):
        read_table(file, max_rows=49)


def test_a_file_that_is_too_large_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(InputError, match="MiB"):
        read_table(write(tmp_path / "rows.csv", "a\n" + "1\n" * 50))


def test_the_index_of_pandas_is_no_column(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    frame.to_parquet(tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet").column_names == ["a"]


def test_kinds_of_columns_and_their_numbers():
    hour = datetime.time(1, 0)
    cases = {
        "numbers": [[1, None], [1.5, float("nan")], [decimal.Decimal("2.50"), None]],
        "yes/no": [[True, None]],
        "dates": [
            [datetime.date(1970, 1, 3), None],
            [datetime.datetime(1970, 1, 3, 12), None],
        ],
        "times": [[hour, None], [datetime.timedelta(hours=1), None]],
    }
    expected = {
        "numbers": [1.0, 1.5, 2.5],
        "yes/no": [1.0],
        "dates": [2.0, 2.5],
        "times": [3600.0, 3600.0],
    }
    for kind, columns in cases.items():
        for values, number in zip(columns, expected[kind], strict=True):
            column = pa.chunked_array([values])
            assert kind_of("c", column) == kind
            assert np.array_equal(as_numbers(column), [number, np.nan], equal_nan=True)


def test_categories_are_texts_and_lists_are_refused():
    column = pa.chunked_array([pa.array(["b", "a", "b"]).dictionary_encode()])
    assert kind_of("c", column) == "text"
    assert as_texts(column).tolist() == ["b", "a", "b"]
    with pytest.raises(InputError, match="--drop 'c'"):
        kind_of("c", pa.chunked_array([[[1, 2], [3]]]))
