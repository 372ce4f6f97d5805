"""Files are written whole, never through a link, and for their owner alone."""

import os
import stat
from pathlib import Path

import pytest

import fairshapley as fs
from fairshapley._basics.files import same_place, write_whole
from fairshapley.errors import InputError, JournalError
from fairshapley.results.serialising import with_fields
from fairshapley.results.tables import check_writable, write_values

RESULT = with_fields(fs.exact(fs.games.Additive([1.0, 2.0])), player_names=("a", "b"))

WRITERS = {
    "values.json": RESULT.save,
    "values.csv": lambda path: write_values(RESULT, path),
    "values.parquet": lambda path: write_values(RESULT, path),
    "payout.csv": lambda path: RESULT.payout(10).to_csv(path),
    "report.html": RESULT.report,
}


@pytest.mark.parametrize("name", WRITERS)
def test_no_file_is_written_through_a_link(tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    target = tmp_path / name
    target.with_name(f"{name}.part").symlink_to(victim)  # a name that could be guessed
    WRITERS[name](target)
    assert target.stat().st_size
    target.unlink()
    target.symlink_to(victim)
    with pytest.raises(InputError, match="it is a link"):
        WRITERS[name](target)
    assert target.is_symlink()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", WRITERS)
def test_only_the_owner_may_read_what_is_written(tmp_path, name):
    target = tmp_path / name
    target.touch(mode=0o644)
    WRITERS[name](target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_leaves_what_was_there(tmp_path, monkeypatch, name):
    target = tmp_path / name
    target.write_text("before")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        WRITERS[name](target)
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_device_is_never_replaced(monkeypatch):
    monkeypatch.setattr(Path, "replace", None)  # should the check fail, nothing happens
    for path in ("/dev/null", "/dev/stdout"):
        with pytest.raises(InputError, match=r"device|link"):
            RESULT.save(path)


def test_a_pipe_or_a_file_that_is_read_only_is_refused_before_a_run(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="pipe"):
        check_writable(tmp_path / "pipe.csv")
    (tmp_path / "kept.csv").touch(mode=0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anything
    with pytest.raises(InputError, match="read-only"):
        write_whole(tmp_path / "kept.csv", b"")


def test_a_journal_is_for_its_owner_alone_with_its_logs(tmp_path):
    path = tmp_path / "run.db"
    with fs.Journal(path):
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes.keys() >= {"run.db", "run.db-wal"}
    assert set(modes.values()) == {0o600}
    path.chmod(0o640)  # the owner's own choice is kept
    with fs.Journal(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_journal_is_not_made_where_a_link_points(tmp_path):
    (tmp_path / "run.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JournalError, match="cannot be written"):
        fs.Journal(tmp_path / "run.db")
    assert not (tmp_path / "elsewhere").exists()


def test_files_are_the_same_by_any_name(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assert same_place(one, tmp_path / "sub" / ".." / "one")  # neither is there yet
    one.touch()
    two.hardlink_to(one)
    assert same_place(one, two)
    assert not same_place(one, tmp_path / "three")


@pytest.mark.parametrize("given", [5, None, b"bytes", ["a"], "a\0b"])
def test_what_is_no_path_is_refused_with_words(given):
    takes = [fs.verify, fs.Result.load, RESULT.save, RESULT.report, RESULT.payout(10).to_csv]
    for call in (*takes, fs.Journal, lambda path: fs.verify(RESULT, report=path or 0)):
        with pytest.raises(InputError, match="must be the path of a file"):
            call(given)
