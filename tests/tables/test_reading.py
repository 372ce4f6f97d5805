import datetime
import decimal
import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fairshapley.errors import InputError
from fairshapley.tables import read_table
from fairshapley.tables.columns import as_numbers, as_texts, kind_of
from fairshapley.tables.reading import check_typos


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_csv_and_parquet_give_the_same_table(tmp_path):
    file = write(tmp_path / "rows.csv", 'a,b,when\n1,x,2024-01-02\n,"y, z",\n3,,2024-01-03\n')
    table = read_table(file)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet").to_pydict() == table.to_pydict()
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


def test_other_encodings_and_delimiters(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes("größe;y\n1;ä\n".encode("latin-1"))
    table = read_table(file, encoding="latin-1", delimiter=";")
    assert table.to_pydict() == {"größe": [1], "y": ["ä"]}
    file.write_bytes("a,y\n1,ä\n".encode("utf-16"))
    assert read_table(file, encoding="utf-16").to_pydict() == {"a": [1], "y": ["ä"]}


@pytest.mark.parametrize("encoding", ["rot13", "base64", "zlib", "hex", "utf-9"])
def test_what_is_no_encoding_of_texts_is_said(tmp_path, encoding):
    with pytest.raises(InputError, match=f"'{encoding}' is no text encoding: give encoding="):
        read_table(write(tmp_path / "rows.csv", "a,b\n1,2\n"), encoding=encoding)


def test_what_is_not_a_file_is_said(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path, tmp_path / "pipe.csv"):
        with pytest.raises(InputError, match="is not a file: give a CSV or Parquet file"):
            read_table(path)
    for path in (tmp_path / "none.csv", tmp_path / ("long" * 100)):
        with pytest.raises(InputError, match=r"cannot read .*(No such file|too long)"):
            read_table(path)


def test_a_packed_file_is_read_within_the_limits(tmp_path):
    """A gzip may have several members."""
    file = tmp_path / "rows.csv.gz"
    content = gzip.compress(b"a,b\n" + b"1,2.5\n" * 999) + gzip.compress(b"3,4\n")
    file.write_bytes(content)
    assert read_table(file).num_rows == 1000
    with pytest.raises(InputError, match=r"more than 999 rows: .*sample="):
        read_table(file, max_rows=999)
    file.write_bytes(content[:-12])
    with pytest.raises(InputError, match="cannot read"):
        read_table(file)
    file.write_bytes(content)
    with pytest.raises(InputError, match="MiB of text: give a part of it, or save it as Parquet"):
        read_table(file, max_bytes=5000)


def test_categories_in_a_parquet_file_are_declared_as_text(tmp_path):
    sizes = pa.array(["40", "4O", "41"]).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({"size": sizes}), tmp_path / "rows.parquet")
    check_typos(read_table(tmp_path / "rows.parquet"), (), "training")


def test_a_tabulator_may_be_written_as_messages_show_it(tmp_path):
    file = write(tmp_path / "rows.csv", "a\tb\n1\t2\n")
    with pytest.raises(InputError, match=r"delimiter='\\t'"):
        read_table(file)
    assert read_table(file, delimiter=r"\t").to_pydict() == {"a": [1], "b": [2]}


def test_the_index_of_pandas_is_no_column(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    frame.to_parquet(tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet").column_names == ["a"]


@pytest.mark.parametrize(
    ("kind", "values", "number"),
    [
        ("numbers", [1, None], 1.0),
        ("numbers", [1.5, float("nan")], 1.5),
        ("numbers", [decimal.Decimal("2.50"), None], 2.5),
        ("yes/no", [True, None], 1.0),
        ("dates", [datetime.date(1970, 1, 3), None], 2.0),
        ("dates", [datetime.datetime(1970, 1, 3, 12), None], 2.5),
        ("times", [datetime.time(1, 0), None], 3600.0),
        ("times", [datetime.timedelta(hours=1), None], 3600.0),
    ],
)
def test_kinds_of_columns_and_their_numbers(kind, values, number):
    column = pa.chunked_array([values])
    assert kind_of("c", column) == kind
    assert np.array_equal(as_numbers(column), [number, np.nan], equal_nan=True)


def test_categories_are_texts_and_lists_are_refused():
    column = pa.chunked_array([pa.array(["b", "a", "b"]).dictionary_encode()])
    assert kind_of("c", column) == "text"
    assert as_texts(column).tolist() == ["b", "a", "b"]
    with pytest.raises(InputError, match=r"'c' holds .* drop="):
        kind_of("c", pa.chunked_array([[[1, 2], [3]]]))
