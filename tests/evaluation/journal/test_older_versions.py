"""Journals of older versions, a row for each utility, are read, resumed and verified."""

import sqlite3
import sys
from contextlib import closing

import numpy as np
import pytest
from tests.evaluation.journal.files import as_older_version, changed, keys_of, run_python

import fairshapley as fs
from fairshapley.evaluation.journal.records import Journal

GAME = fs.games.SumOfUnanimity(9, seed=1)


def passed(result, path):
    return {check.name: check.passed for check in fs.verify(result, journal=path).checks}


@pytest.mark.parametrize("folded", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("version", [1, 2])
def test_an_older_journal_is_read_and_resumed(tmp_path, version, folded):
    path = tmp_path / "j"
    whole = fs.estimate(GAME, "mc", budget=200, seed=0)
    result = fs.estimate(GAME, "mc", budget=100, seed=0, journal=path)
    as_older_version(path, version, folded)
    before = path.read_bytes()
    with Journal(path, readonly=True) as journal:
        assert journal.count(1) == result.evaluations
        assert len(journal.sample(1, 10**6, np.random.default_rng(0))) == result.evaluations
        assert journal.check_rows(1).summed == (version == 2)
    checks = passed(result, path)
    assert checks["recomputation"]
    assert checks["journal's rows"] is (None if version == 1 else True)
    assert path.read_bytes() == before, "reading changes nothing"
    again = fs.estimate(GAME, "mc", budget=200, seed=0, journal=path)
    np.testing.assert_array_equal(again.values, whole.values)
    assert again.computed == again.evaluations - result.evaluations > 0
    with Journal(path) as journal:
        found = journal.check_rows(1)
        assert (found.count, found.fault, found.summed) == (again.evaluations, "", True)
    assert passed(again, path)["recomputation"]


def test_the_first_value_counts_across_versions(tmp_path):
    keys = keys_of(30, n_players=16)
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 16)
        journal.append(game, keys[:20], np.arange(20.0))
        journal.append(game, keys[10:25], np.full(15, 50.0))
    as_older_version(tmp_path / "j", 2, 20 / 35)
    with Journal(tmp_path / "j", readonly=True) as reader:
        assert len(reader.lookup(game, keys)) == 25
        with Journal(tmp_path / "j") as journal:
            journal.append(game, keys[15:], np.full(15, 90.0))
            expected = [*range(20), *[50] * 5, *[90] * 5]
            assert [*journal.lookup(game, keys).values()] == expected
            assert journal.count(game) == 30
            assert not journal.check_rows(game).fault
        assert [*reader.lookup(game, keys).values()] == expected, "one that was open before"


def test_a_change_in_an_older_journal_is_found_before_and_after_it_is_continued(tmp_path):
    path = tmp_path / "j"
    result = fs.estimate(GAME, "mc", budget=100, seed=0, journal=path)
    as_older_version(path, 2)
    changed(path, "UPDATE arrivals SET value = value + 1e-12 WHERE rowid = 3")
    assert passed(result, path)["journal's rows"] is False
    for _ in range(2):
        with pytest.raises(fs.JournalError, match="do not add up"):
            fs.estimate(GAME, "mc", budget=200, seed=0, journal=path)


@pytest.mark.parametrize("table", ["evaluations", "arrivals"])
@pytest.mark.parametrize(
    ("column", "content"),
    [
        ("value", "x"),
        ("value", b"1"),
        ("value", 9e999),
        ("coalition", "\x01"),
        ("coalition", b"12"),
    ],
)
def test_a_row_that_makes_no_sense_is_damage(tmp_path, table, column, content):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append(game, [b"\x01"], [1.0])
    as_older_version(tmp_path / "j", 2, folded=table == "evaluations")
    changed(tmp_path / "j", f"UPDATE {table} SET {column} = ?", content)  # noqa: S608
    for readonly in (True, False):
        with (
            Journal(tmp_path / "j", readonly=readonly) as journal,
            pytest.raises(fs.JournalError, match="is damaged"),
        ):
            journal.lookup(game, [b"\x01"])


KILLED = """
    import os, shutil, signal, sqlite3, sys
    from fairshapley.evaluation.journal.records import Journal

    connect = sqlite3.connect

    def connected(*given, **options):
        db = connect(*given, **options)
        db.set_trace_callback(trace)
        return db

    def trace(statement):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sqlite3.connect = connected
    status, at = 1, 0
    while status:
        at += 1
        path = shutil.copy(sys.argv[1], f"{sys.argv[1]}.{at}")
        child = os.fork()
        if not child:
            left = at
            Journal(path)
            os._exit(0)
        _, status = os.waitpid(child, 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("version", [1, 2])
def test_death_while_an_older_journal_is_opened_leaves_it_whole(tmp_path, version):
    """Killed at each statement that SQLite carries out."""
    result = fs.estimate(GAME, "mc", budget=100, seed=0, journal=tmp_path / "j")
    as_older_version(tmp_path / "j", version)
    assert run_python(KILLED, tmp_path / "j").returncode == 0
    killed = {path for path in tmp_path.iterdir() if path.name.removeprefix("j.").isdigit()}
    assert len(killed) > 10
    for path in killed:
        with Journal(path, readonly=True) as journal:
            assert journal.count(1) == result.evaluations
        with Journal(path) as journal:
            assert journal.check_rows(1).count == journal.count(1) == result.evaluations
            assert not journal.check_rows(1).fault


def test_an_upgraded_journal_shows_no_view_without_its_batches(tmp_path):
    fs.estimate(GAME, "mc", budget=30, seed=0, journal=tmp_path / "j")
    as_older_version(tmp_path / "j", 2)
    Journal(tmp_path / "j").close()
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        assert not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'view'").fetchall()
