"""The sum over the rows of a journal: kept by every write, and missed by every change."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.evaluation.journal.records import Journal
from fairshapley.evaluation.journal.row_sums import row_sum

KEYS = [bytes([i, i % 3]) for i in range(40)]
VALUES = [i / 7 for i in range(40)]


def changed(path, statement, *arguments):
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement, arguments)
        db.commit()


def test_the_sum_does_not_depend_on_slices_order_or_tables():
    whole = row_sum(KEYS, np.array(VALUES))
    assert whole == sum(row_sum([k], np.array([v])) for k, v in zip(KEYS, VALUES, strict=True)) % (
        1 << 64
    )
    assert row_sum(KEYS[::-1], np.array(VALUES[::-1]), slice_bytes=100) == whole
    # Journals on other machines must have the same sums.
    assert row_sum([b"\x01\x02"], np.array([0.5])) == row_sum([b"\x01\x02\x00"], np.array([0.5]))
    assert f"{row_sum([bytes(range(13))], np.array([0.1])):016x}" == PINNED


PINNED = "4a5f169c40b3d011"


@pytest.mark.parametrize("fold_rows", [5, 1000])
def test_two_writers_and_folds_keep_the_sum(tmp_path, fold_rows):
    class Folding(Journal):
        _fold_rows = fold_rows

    with Folding(tmp_path / "j") as one, Folding(tmp_path / "j") as two:
        game = one.open_game("a", 16)
        for start in range(0, 40, 4):
            one.append(game, KEYS[start : start + 4], VALUES[start : start + 4])
            two.append(game, KEYS[start : start + 6], [9.0] * len(KEYS[start : start + 6]))
            assert one.check_rows(game).fault == ""
        folded = one._db.execute("SELECT count(*) FROM evaluations").fetchone()[0]
        assert (folded > 0) == (fold_rows == 5)
        one._fold()
        found = two.check_rows(game, (0.0, 9.0))
        assert (found.count, found.fault, found.summed) == (40, "", True)
        assert "from 0 to 9" in two.check_rows(game, (0.0, 8.0)).fault


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE arrivals SET value = value + 1e-12 WHERE rowid = 3",
        "DELETE FROM arrivals WHERE rowid = 3",
        "INSERT INTO arrivals SELECT * FROM arrivals WHERE rowid = 3",
        "UPDATE arrivals SET game = 2 WHERE rowid = 3",
        "UPDATE sums SET count = count + 1",
    ],
)
def test_a_change_by_somebody_else_stops_a_run(tmp_path, statement):
    game = fs.games.SumOfUnanimity(9, seed=1)
    fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")
    changed(tmp_path / "j", statement)
    for again in (
        lambda: fs.estimate(game, "mc", budget=200, seed=0, journal=tmp_path / "j"),
        lambda: fs.resume(tmp_path / "j", game, budget=200),
        lambda: fs.resume(tmp_path / "j", budget=50),
    ):
        with pytest.raises(fs.JournalError, match=r"changed or damaged: .*restore a copy"):
            again()


def test_utilities_outside_the_stated_range_stop_a_run(tmp_path):
    class Sizes:
        n_players, fingerprint, value_range = 9, "sizes", (0.0, 1.0)

        def __call__(self, masks):
            return masks.mean(axis=1)

    game = Sizes()
    fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")
    game.value_range = (0.0, 0.5)
    with pytest.raises(fs.JournalError, match=r"stated to lie between 0 and 0\.5"):
        fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")


def test_a_journal_of_the_first_version_is_read_and_upgraded(tmp_path):
    game = fs.games.SumOfUnanimity(9, seed=1)
    result = fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")
    changed(tmp_path / "j", "DROP TABLE sums")
    changed(tmp_path / "j", "PRAGMA user_version = 1")
    with Journal(tmp_path / "j", readonly=True) as journal:
        assert not journal.check_rows(1).summed
    checks = {
        check.name: check.passed for check in fs.verify(result, journal=tmp_path / "j").checks
    }
    assert checks["journal's rows"] is None
    assert checks["recomputation"]
    with Journal(tmp_path / "j") as journal:
        found = journal.check_rows(1)
        assert (found.fault, found.summed) == ("", True)


def test_loading_keeps_what_counts(tmp_path):
    with Journal(tmp_path / "j") as one, Journal(tmp_path / "j") as two:
        game = one.open_game("a", 16)
        one.append(game, KEYS[:1], [1.0])
        two._mirrors.clear()
        two._mirror(game).arrivals.clear()
        two.append(game, KEYS[:2], [2.0, 2.0])
    with Journal(tmp_path / "j", readonly=True) as journal:
        before = journal.lookup(game, KEYS)
        journal.load(game)
        assert journal.lookup(game, KEYS) == before == {KEYS[0]: 1.0, KEYS[1]: 2.0}


def test_a_damaged_name_of_a_table_is_damage(tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.open_game("a", 16)
    content = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(content.replace(b"CREATE TABLE games", b"CREATE T\xccBLE games"))
    for readonly in (True, False):
        with pytest.raises(fs.JournalError, match="restore a copy"):
            Journal(tmp_path / "j", readonly=readonly)
