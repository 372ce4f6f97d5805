"""Permissions, locks and file systems."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing

import pytest
from tests.evaluation.journal.files import (
    filled,
    keys_of,
    ordinary_user,
    public_folder,
    refuses,
)

from fairshapley.errors import JournalError
from fairshapley.evaluation.journal import Journal


def test_a_folder_one_may_not_write_in_is_refused():
    with public_folder() as folder:
        folder.chmod(0o555)
        with ordinary_user():
            refuses(folder / "j", "cannot be written")
        folder.chmod(0o000)
        with ordinary_user(), pytest.raises(JournalError, match="permissions"):
            Journal(folder / "j")


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_write_protected_journal_can_be_read_but_not_written(folder_mode):
    with public_folder() as folder:
        path = filled(folder / "j")
        path.chmod(0o444)
        folder.chmod(folder_mode)
        with ordinary_user():
            refuses(path, "cannot be written.*readonly=True")
            with Journal(path, readonly=True) as journal:
                game = journal.open_game("a", 100)
                assert journal.count(game) == 2000
                assert len(journal.lookup(game, keys_of(3000))) == 2000
                with pytest.raises(JournalError, match="cannot be written"):
                    journal.append(game, [bytes(13)], [0.0])


def test_reading_never_overlooks_rows_in_a_log_it_cannot_open():
    with public_folder() as folder:
        path = filled(folder / "j", 10)
        with Journal(path) as journal:
            journal.append(journal.open_game("a", 100), [bytes(13)], [0.0])
            for suffix in ("", "-wal"):
                shutil.copy(f"{path}{suffix}", folder / f"copy{suffix}")
                (folder / f"copy{suffix}").chmod(0o644)
        folder.chmod(0o555)
        with ordinary_user():
            refuses(folder / "copy", "cannot be written", readonly=True)
        folder.chmod(0o777)
        with Journal(folder / "copy") as journal:
            assert journal.count(journal.open_game("a", 100)) == 11


def test_a_reader_sees_what_a_writer_appends(tmp_path):
    with Journal(tmp_path / "j") as writer:
        game = writer.open_game("a", 3)
        with Journal(tmp_path / "j", readonly=True) as reader:
            assert reader.lookup(game, [b"\x01"]) == {}
            writer.append(game, [b"\x01"], [1.0])
            assert reader.lookup(game, [b"\x01"]) == {b"\x01": 1.0}
            writer.append(game, [b"\x01", b"\x02"], [9.0, 2.0])
            assert reader.lookup(game, [b"\x01", b"\x02"]) == {b"\x01": 1.0, b"\x02": 2.0}


def test_a_locked_journal_says_who_to_wait_for(tmp_path):
    path = filled(tmp_path / "j", 10)
    with (
        Journal(path, timeout=0.05) as journal,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        game = journal.open_game("a", 100)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="locked by another process"):
            Journal(path, timeout=0.05)
        with pytest.raises(JournalError, match="locked by another process"):
            journal.append(game, [bytes(13)], [1.0])
        other.execute("ROLLBACK")
        journal.append(game, [bytes(13)], [1.0])
        assert journal.count(game) == 11


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX file system")
def test_a_file_system_without_wal_gets_the_default_mode(tmp_path):
    class LockFiles(Journal):
        """SQLite's way to work where locks are not to be had, and shared memory neither."""

        def _connect(self, mode: str, timeout: float) -> sqlite3.Connection:
            return super()._connect(f"{mode}&vfs=unix-dotfile", timeout)

    for _ in range(2):
        with LockFiles(tmp_path / "j") as journal:
            game = journal.open_game("a", 3)
            journal.append(game, [b"\x01"], [1.0])
            assert journal._scalar("PRAGMA journal_mode") == "delete"
            assert journal._scalar("PRAGMA synchronous") == 2, "FULL, the default"
            assert journal.lookup(game, [b"\x01"]) == {b"\x01": 1.0}
    with Journal(tmp_path / "j") as journal:
        assert journal._scalar("PRAGMA journal_mode") == "wal"
        assert journal.count(game) == 1
