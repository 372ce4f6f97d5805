"""A file that is not a sound journal is refused, at once or when it is read."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from tests.evaluation.journal.files import changed, filled, keys_of, refuses

import fairshapley as fs
from fairshapley.errors import JournalError
from fairshapley.evaluation import journal as journal_file
from fairshapley.evaluation.journal import Journal


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("left", [1, 99, 100, 511, 512, 4095, 4096, 10_000, -5000, -4096, -1])
def test_a_truncated_file_is_refused_at_open(tmp_path, left, readonly):
    path = filled(tmp_path / "j")
    size = path.stat().st_size
    assert size > 10 * 4096
    os.truncate(path, left if left > 0 else size + left)
    refuses(path, "damaged|not a journal", readonly=readonly)


@pytest.mark.parametrize("start", [4096, 8192, 40_000])
def test_an_overwritten_page_is_found_at_open(tmp_path, start):
    path = filled(tmp_path / "j")
    with path.open("r+b") as file:
        file.seek(start)
        file.write(os.urandom(4096))
    refuses(path, "damaged")


def test_damage_in_a_file_too_large_to_check_is_found_when_read(tmp_path, monkeypatch):
    path = filled(tmp_path / "j", 5000)
    with path.open("r+b") as file:
        file.seek(8 * 4096)
        file.write(b"\xff" * (path.stat().st_size - 8 * 4096))
    refuses(path, "damaged")
    monkeypatch.setattr(Journal, "_checked_bytes", 0)
    with Journal(path) as journal:
        game = journal.open_game("a", 100)
        with pytest.raises(JournalError, match="damaged"):
            journal.lookup(game, keys_of(5000))


@pytest.mark.parametrize("content", [b"coalition,value\n", b"\x00" * 5000, bytes(range(256)) * 40])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    path = tmp_path / "j"
    path.write_bytes(content)
    refuses(path, "not a journal")


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "j"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE orders (id)")
    refuses(path, "another program")
    refuses(path, "another program", readonly=True)


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, "abc"])
@pytest.mark.parametrize("column", ["configuration", "limits", "seed", "evaluations", "result"])
def test_a_row_that_makes_no_sense_is_damage(tmp_path, column, content):
    with Journal(tmp_path / "j") as journal:
        journal.start_run(journal.open_game("a", 3), {}, {}, 0, {})
    changed(tmp_path / "j", f"UPDATE runs SET {column} = ?", content)  # noqa: S608
    with (
        Journal(tmp_path / "j", readonly=True) as journal,
        pytest.raises(JournalError, match=r"is damaged.*\(table runs"),
    ):
        journal.runs()


@pytest.mark.parametrize(
    ("column", "content"),
    [("utility", "x"), ("utility", b"1"), ("utility", 9e999), ("coalition", "\x01")],
)
def test_a_utility_that_makes_no_sense_is_damage(tmp_path, column, content):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append(game, [b"\x01"], [1.0])
    changed(tmp_path / "j", f"UPDATE evaluations SET {column} = ?", content)  # noqa: S608
    with Journal(tmp_path / "j") as journal:
        with pytest.raises(JournalError, match=r"is damaged.*\(table evaluations"):
            journal.sample(game, 5, np.random.default_rng(0))
        if column == "utility":
            with pytest.raises(JournalError, match=r"is damaged.*\(table evaluations"):
                journal.lookup(game, [b"\x01"])


def test_a_damaged_name_of_a_table_is_damage(tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.open_game("a", 16)
    content = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(content.replace(b"CREATE TABLE games", b"CREATE T\xccBLE games"))
    for readonly in (True, False):
        refuses(tmp_path / "j", "restore a copy", readonly=readonly)


def test_utilities_outside_the_stated_range_stop_a_run(tmp_path):
    class Sizes:
        n_players, fingerprint, value_range = 9, "sizes", (0.0, 1.0)

        def __call__(self, masks):
            return masks.mean(axis=1)

    game = Sizes()
    fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")
    game.value_range = (0.0, 0.5)
    with pytest.raises(JournalError, match=r"outside the value_range .*restore a copy"):
        fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    ("apart", "remedy"),
    [(1, "newer fairshapley.*version that wrote it"), (-1, "older fairshapley.*or give")],
)
def test_a_journal_of_another_version_says_what_to_do(tmp_path, apart, remedy, readonly):
    path = filled(tmp_path / "j", 10)
    changed(path, f"PRAGMA user_version = {journal_file.SCHEMA_VERSION + apart}")
    refuses(path, remedy, readonly=readonly)


def test_paths_that_cannot_be_a_journal(tmp_path):
    refuses(tmp_path, "directory")
    refuses(tmp_path / "missing" / "j", "directory that does not exist")
    refuses(tmp_path / "j", "does not exist", readonly=True)
    refuses(tmp_path / "j", "does not exist, and create=False", create=False)
    (tmp_path / "empty").touch()
    refuses(tmp_path / "empty", "empty", readonly=True)


def test_an_empty_file_becomes_a_journal_and_odd_names_work(tmp_path):
    path = tmp_path / "50% off? #1 ü"
    path.touch()
    with Journal(str(path)) as journal:
        journal.append(journal.open_game("a", 3), [b"\x01"], [1.0])
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with Journal(path, readonly=True) as journal:
        assert journal.count(journal.open_game("a", 3)) == 1


def test_a_closed_journal_says_so(tmp_path):
    journal = Journal(tmp_path / "j")
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.runs()
