"""Files that are missing, cut off, changed or in the wrong place: what the errors say."""

import gzip
import hashlib
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from fairshapley import InputError
from fairshapley.datasets import DataError, MissingDataError, available, describe, load
from fairshapley.datasets.files import locate, open_bytes, sha256
from fairshapley.datasets.parsing import read_archive, read_lines, read_numbers, read_table
from tests.data_folder import needs

FILED = [
    "adult", "cifar10", "covertype", "creditcard", "hotel_reviews", "mnist", "mr", "sst5",
    "uber_lyft", "used_cars",
]  # fmt: skip


@pytest.mark.parametrize("name", FILED)
def test_a_missing_set_says_which_file_where_to_get_it_and_where_to_put_it(name, tmp_path):
    with pytest.raises(MissingDataError) as caught:
        load(name, folder=tmp_path)
    message = str(caught.value)
    original, compact, *_ = next(iter(describe(name).variants.values()))
    for some in (next(iter(original.parts.values())), next(iter(compact.parts.values()))):
        assert all(file in message for file in some)
    assert "http" in message
    assert str(tmp_path) in message
    assert ("download=True" in message) == (name in ("covertype", "mnist"))


def test_without_a_folder_the_message_names_the_variable(monkeypatch):
    monkeypatch.delenv("FAIRSHAPLEY_DATA", raising=False)
    with pytest.raises(MissingDataError, match="FAIRSHAPLEY_DATA"):
        load("mr")
    assert available()["mr"] == ()
    monkeypatch.setenv("FAIRSHAPLEY_DATA", "")
    assert available()["mr"] == ()


def test_a_folder_must_be_a_folder(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match=r"folder is .* does not exist"):
        load("mr", folder=tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"folder is .* is a file, not a folder"):
        load("mr", folder=file)
    with pytest.raises(InputError, match="cannot be a folder"):
        load("mr", folder=3)
    monkeypatch.setenv("FAIRSHAPLEY_DATA", str(file))
    with pytest.raises(InputError, match=r"FAIRSHAPLEY_DATA names .* is a file"):
        available()


@pytest.mark.parametrize("name", FILED)
def test_a_compact_file_with_another_checksum_is_refused(name, tmp_path):
    compact = next(iter(describe(name).variants.values()))[1]
    file = next(iter(compact.parts.values()))[0]
    (tmp_path / file).write_bytes(b"not this")
    found = hashlib.sha256(b"not this").hexdigest()
    with pytest.raises(DataError, match=rf"{file}.* {found}, expected {compact.sha256[file]}"):
        load(name, folder=tmp_path)


@needs("mr", source="compact")
def test_a_cut_off_compact_file_is_refused(tmp_path):
    whole = Path(os.environ["FAIRSHAPLEY_DATA"]) / "mr.tsv.gz"
    (tmp_path / "mr.tsv.gz").write_bytes(whole.read_bytes()[:-100])
    with pytest.raises(DataError, match="copy it again"):
        load("mr", folder=tmp_path)


@needs("mr", source="compact")
def test_the_originals_win_and_are_all_needed(tmp_path):
    (tmp_path / "mr").mkdir()
    shutil.copyfile(Path(os.environ["FAIRSHAPLEY_DATA"]) / "mr.tsv.gz", tmp_path / "mr.tsv.gz")
    copy = load("mr", folder=tmp_path)
    assert copy.source == "compact: mr.tsv.gz"
    assert dict(copy.files) == {"mr.tsv.gz": sha256(tmp_path / "mr.tsv.gz")}
    (tmp_path / "mr" / "rt-polarity.pos").write_text("fine\n")
    half = load("mr", folder=tmp_path)
    assert half.source == "compact: mr.tsv.gz"
    assert half.notes[-1] == "the original files are not all there: rt-polarity.neg missing"
    with pytest.raises(MissingDataError, match=r"rt-polarity\.neg missing"):
        load("mr", folder=tmp_path, source="original")
    (tmp_path / "mr" / "rt-polarity.neg").write_text("dull\n")
    assert available(tmp_path)["mr"] == ("original", "compact")
    # The originals are read, and refused for what they are: too short.
    with pytest.raises(DataError, match=r"rt-polarity\.pos: expected sentences"):
        load("mr", folder=tmp_path)
    assert load("mr", folder=tmp_path, source="compact").checksum == copy.checksum


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("covertype", {"part": "tail"}, "no part 'tail': choose 'all', 'head', 'rand'"),
        ("covertype", {"part": "all", "source": "compact"}, "choose 'rand', 'head'"),
        ("adult", {"variant": "text"}, "no variant 'text': choose 'numeric', 'raw'"),
        ("mr", {"source": "download"}, "no source 'download'"),
        ("mr", {"source": "web"}, "no source 'web': choose 'auto', 'original', 'compact'"),
    ],
)
def test_options_that_do_not_exist(name, options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load(name, folder=tmp_path, **options)


def test_places_where_a_file_may_lie(tmp_path):
    assert locate(tmp_path, "sst5", "trees/train.txt") is None
    # A bare train.txt in the data folder may be anyone's.
    (tmp_path / "train.txt").write_text("")
    assert locate(tmp_path, "sst5", "trees/train.txt") is None
    for place in ("sst5/train.txt.gz", "sst5/train.txt", "sst5/trees/train.txt", "trees/train.txt"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        assert locate(tmp_path, "sst5", "trees/train.txt") == path


# --- damaged files ------------------------------------------------------------------------------


def test_a_damaged_table_is_named(tmp_path):
    path = tmp_path / "table.csv"
    kinds = {"a": "number", "b": "text"}
    for content, message in [
        ("a,b\n1,x\n2\n", "begins with '2' has 1 columns instead of 2"),
        ("a,b\n1,x\none,x\n", "column a must hold numbers"),
        ("a,b\nnan,x\n", "column a must hold finite numbers"),
        ("a,b\n,x\n", "column a must hold numbers"),
        ("a,c\n1,x\n", "b not found among a and c"),
        ("", "not found among none"),
        ("a,b\n", "has no rows"),
        ('a,b\n1,"' + "x" * 200_000, "field larger than field limit"),
    ]:
        path.write_text(content)
        with pytest.raises(DataError, match=message) as caught:
            read_table(path, kinds)
        assert str(path) in str(caught.value)
    path.write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(DataError, match="not the text it should be"):
        read_table(path, kinds)


def test_a_table_longer_than_a_chunk_is_whole(tmp_path):
    path = tmp_path / "table.csv.gz"
    rows = 70_001
    with gzip.open(path, "wt") as stream:
        stream.write("\ufeffb,a\r\n" + "".join(f"t{k % 7},{k}\r\n" for k in range(rows)))
    table = read_table(path, {"a": "number", "b": "text"})
    assert (table["a"] == np.arange(rows)).all()
    assert table["b"][-1] == f"t{(rows - 1) % 7}"


def test_damaged_packed_files_are_named(tmp_path):
    packed = gzip.compress(b"a,b\n1,2\n" * 1000)
    path = tmp_path / "table.csv.gz"
    for content in (packed[:-12], packed[:30] + b"\0" * 9 + packed[39:], b"plain", b""):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"table\.csv\.gz"):
            read_table(path, {"a": "text"})
        with pytest.raises(DataError, match=r"table\.csv\.gz"):
            read_numbers(path, 2, np.float64)
    path.write_bytes(b"plain")
    with pytest.raises(DataError, match="cut off or damaged"):
        read_lines(path, "utf-8")


@pytest.mark.parametrize("content", ["", "1,2\n3\n", "1,x\n", "1,2,3\n"])
def test_a_damaged_table_of_numbers_is_named(tmp_path, content):
    path = tmp_path / "numbers.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=r"numbers\.csv"):
        read_numbers(path, 2, np.float64)


class Trap:
    """An object whose unpickling would be seen."""

    def __reduce__(self):
        return (os.mkdir, ("trap",))


def test_archives_never_run_what_they_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "archive.npz"
    np.savez(path, X=np.array([Trap()], dtype=object))
    with pytest.raises(DataError, match="would run their code"):
        read_archive(path, ["X"])
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DataError, match="would run their code"):
        read_archive(path, ["X"])
    assert not (tmp_path / "trap").exists()


def test_a_damaged_archive_is_named(tmp_path):
    path = tmp_path / "archive.npz"
    np.savez(path, X=np.zeros(100))
    assert read_archive(path, ["X"])["X"].shape == (100,)
    with pytest.raises(DataError, match="y not found among X"):
        read_archive(path, ["X", "y"])
    whole = path.read_bytes()
    for content in (whole[:-50], whole[:200] + b"\1" + whole[201:], b"", b"PK\3\4junk"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"archive\.npz"):
            read_archive(path, ["X"])
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(DataError, match="not a NumPy archive"):
        read_archive(path, ["X"])


def test_lines_end_at_line_feeds_alone(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes("one\x85two \r\n\n three\u2028four".encode())
    assert read_lines(path, "utf-8") == ["one\x85two", "three\u2028four"]


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path):
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 10**6))
    plain = tmp_path / "table.csv"
    plain.write_bytes(b"a,b\n" + b"1,2\n" * 10_000)
    for path in (packed, plain):
        with (
            pytest.raises(DataError, match="unpacks to more than"),
            open_bytes(path, most_bytes=10_000) as stream,
        ):
            stream.read()
    archive = tmp_path / "archive.npz"
    np.savez_compressed(archive, X=np.zeros(10**6))
    with pytest.raises(DataError, match="unpacks to more than"):
        read_archive(archive, ["X"], most_bytes=10_000)
