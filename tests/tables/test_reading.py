import datetime
import decimal
import gzip
import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fairshapley.errors import InputError
from fairshapley.tables import read_table
from fairshapley.tables import reading as module
from fairshapley.tables.columns import as_numbers, as_texts, kind_of


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


@pytest.mark.parametrize("encoding", ["rot13", "base64", "zlib", "hex", "punycode", "utf-9"])
def test_what_is_no_encoding_of_texts_is_said(tmp_path, encoding):
    with pytest.raises(InputError, match=f"'{encoding}' is no encoding of texts: give encoding="):
        read_table(write(tmp_path / "rows.csv", "a,b\n1,2\n"), encoding=encoding)


def test_too_many_rows_are_refused(tmp_path):
    file = write(tmp_path / "rows.csv", "a\n" + "1\n" * 50)
    assert read_table(file, max_rows=50).num_rows == 50
    with pytest.raises(InputError, match=r"more than 49 rows: .*sample=49"):
        read_table(file, max_rows=49)


def test_the_rows_of_parquet_are_counted_before_they_are_read(tmp_path):
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"a": list(range(50))}), file)
    with pytest.raises(InputError, match="more than 49 rows"):
        read_table(file, max_rows=49)


def test_a_file_that_is_too_large_is_refused_by_its_size(tmp_path):
    file = write(tmp_path / "rows.csv", "a\n" + "1\n" * 50)
    with pytest.raises(InputError, match=r"MiB.*max_bytes="):
        read_table(file, max_bytes=100)
    with pytest.raises(InputError, match="larger when it is unpacked"):
        read_table(file, max_bytes=400)  # 50 numbers of 8 bytes, and the name
    assert read_table(file, max_bytes=500).num_rows == 50


def test_a_packed_file_is_read_within_the_limits(tmp_path):
    file = tmp_path / "rows.csv.gz"
    with pa.CompressedOutputStream(str(file), "gzip") as stream:
        stream.write(b"a,b\n" + b"1,2.5\n" * 1000)
    assert read_table(file).num_rows == 1000
    with pytest.raises(InputError, match="more than 999 rows"):
        read_table(file, max_rows=999)
    with pytest.raises(InputError, match="larger when it is unpacked"):
        read_table(file, max_bytes=10_000)


def test_a_gzip_of_two_members_is_read_whole_and_a_short_one_refused(tmp_path):
    file = tmp_path / "rows.csv.gz"
    whole = gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n")
    file.write_bytes(whole)
    assert read_table(file).to_pydict() == {"a": [1, 3], "b": [2, 4]}
    file.write_bytes(whole[:-12])
    with pytest.raises(InputError, match="cannot be unpacked"):
        read_table(file)


BOMBS = {
    "zeros.csv.gz": lambda file: file.write_bytes(
        gzip.compress(b"a,b,c,d\n" + b"0,0,0,0\n" * 10**6, compresslevel=1)
    ),
    "one cell.csv.gz": lambda file: file.write_bytes(
        gzip.compress(b"a,b\n1," + b"a" * 2**25, compresslevel=1)
    ),
    "one number.parquet": lambda file: pyarrow.parquet.write_table(
        pa.table({"a": np.zeros(3 * 10**6)}), file
    ),
    "one long text.parquet": lambda file: pyarrow.parquet.write_table(
        pa.table({"a": ["x" * 2**20 + str(row) for row in range(24)]}), file
    ),
    "texts that differ little.parquet": lambda file: pyarrow.parquet.write_table(
        pa.table({"a": ["x" * 2**18 + str(row) for row in range(100)]}),
        file,
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
    ),
    "lists.parquet": lambda file: pyarrow.parquet.write_table(
        pa.table({"a": [[0] * 10**6] * 3}), file
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path, name):
    file = tmp_path / name
    BOMBS[name](file)
    limit = 16 * 2**20
    assert file.stat().st_size < limit / 2
    before = pa.total_allocated_bytes()
    with pytest.raises(InputError, match=r"more than the 16 MiB"):
        read_table(file, max_rows=None, max_bytes=limit)
    assert pa.total_allocated_bytes() - before < limit


def test_a_text_that_a_parquet_file_holds_once_is_counted_for_each_row(tmp_path):
    """One text of 1 MB in 12,000 rows: 12 GB when each row gets its own."""
    text = pa.array(["x" * 2**20])
    column = pa.DictionaryArray.from_arrays(np.zeros(12_000, dtype=np.int32), text)
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"a": column}), file)
    before = pa.total_allocated_bytes()
    with pytest.raises(InputError, match="larger when it is unpacked"):
        read_table(file)
    assert pa.total_allocated_bytes() - before < 2**26


def test_pipes_are_read(tmp_path):
    content = {
        "csv": b"a,b\n1,x\n",
        "gz": gzip.compress(b"a,b\n1,x\n"),
        "parquet": None,
    }
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table({"a": [1], "b": ["x"]}), sink)
    content["parquet"] = sink.getvalue().to_pybytes()
    for name, data in content.items():
        pipe = tmp_path / name
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        assert read_table(pipe).to_pydict() == {"a": [1], "b": ["x"]}
        writer.join()


def test_a_tabulator_may_be_written_as_messages_show_it(tmp_path):
    file = write(tmp_path / "rows.csv", "a\tb\n1\t2\n")
    with pytest.raises(InputError, match=r"delimiter='\\t'"):
        read_table(file)
    assert read_table(file, delimiter=r"\t").to_pydict() == {"a": [1], "b": [2]}


def test_a_zero_byte_is_named_by_its_line(tmp_path):
    with pytest.raises(InputError, match=r"line 3 of .* zero byte"):
        read_table(write(tmp_path / "rows.csv", "a,b\n1,x\n2,y\x00z\n"))


def test_notes_in_a_parquet_file_are_not_ours(tmp_path):
    table = pa.table({"a": [1]}).replace_schema_metadata({module.NOTES: b'["trust me"]'})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    assert module.notes_of(read_table(tmp_path / "rows.parquet")) == []


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
    with pytest.raises(InputError, match=r"'c' holds .* drop="):
        kind_of("c", pa.chunked_array([[[1, 2], [3]]]))
