"""The journal keeps what it acknowledged, whatever happens to the process, the file or the disk."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley.errors import JournalError
from fairshapley.evaluation.journal import file as journal_file
from fairshapley.evaluation.journal.records import Journal

NOBODY = 65534


def keys_of(count: int, n_players: int = 100, seed: int = 0) -> list[bytes]:
    """Different random coalitions as the journal stores them."""
    masks = np.random.default_rng(seed).random((count, n_players)) < 0.5
    rows = np.packbits(masks, axis=1, bitorder="little")
    return list(dict.fromkeys(row.tobytes() for row in rows))


def filled(path: Path, count: int = 2000) -> Path:
    """A closed journal of several pages."""
    keys = keys_of(count)
    with Journal(path) as journal:
        journal.append(journal.open_game("a", 100), keys, [float(i) for i in range(len(keys))])
    return path


@contextmanager
def public_folder():
    """A folder that any user may enter; pytest's own are closed to all but their owner."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        folder.chmod(0o777)
        shutil.rmtree(folder)


@contextmanager
def ordinary_user():
    """Root may write anywhere: act as nobody where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# -- evaluations -----------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)))
def test_every_finite_value_comes_back_to_the_bit(values):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        keys = [index.to_bytes(2, "little") for index in range(len(values))]
        with Journal(path) as journal:
            game = journal.open_game("a", 16)
            journal.append(game, keys, values)
            live = journal.lookup(game, keys)
        with Journal(path) as journal:
            journal._fold()
            assert journal.lookup(journal.open_game("a", 16), keys) == live
            stored = [live[key] for key in keys]
            assert np.array(stored).tobytes() == np.array(values, dtype=float).tobytes()


def test_the_smallest_subnormal_and_the_largest_float(tmp_path):
    extremes = [5e-324, -5e-324, sys.float_info.max, 0.1 + 0.2, np.float64(1) / 3]
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 8)
        journal.append(game, [bytes([i]) for i in range(5)], extremes)
        journal._fold()
        assert list(journal.lookup(game, [bytes([i]) for i in range(5)]).values()) == extremes


def test_a_long_lookup_finds_exactly_what_is_there(tmp_path):
    # More keys than SQLite takes variables, and more rows than wait for one fold.
    keys = keys_of(100_000)
    known, unknown = keys[:70_000], keys[70_000:]
    values = np.random.default_rng(1).normal(size=len(known)).tolist()
    truth = dict(zip(known, values, strict=True))
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 100)
        for start in range(0, len(known), 6_600):
            journal.append(game, known[start : start + 6_600], values[start : start + 6_600])
        assert 0 < journal._n_arrivals < len(known), "the rows must lie in both tables"
        assert journal.lookup(game, keys) == truth
        assert journal.lookup(game, unknown) == {}
        assert journal.count(game) == len(known)
    with Journal(tmp_path / "j") as journal:
        assert journal.lookup(journal.open_game("a", 100), keys) == truth


def test_the_first_value_of_a_coalition_stays(tmp_path):
    key = b"\x01"
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append(game, [key, key], [1.0, 2.0])
        journal.append(game, [key], [3.0])
        assert journal.lookup(game, [key]) == {key: 1.0}
        journal._fold()
        journal.append(game, [key, b"\x02"], [4.0, 5.0])
        assert journal.lookup(game, [key]) == {key: 1.0}
        assert journal.count(game) == 2
        journal._fold()
        assert journal.lookup(game, [key, b"\x02"]) == {key: 1.0, b"\x02": 5.0}
        assert journal.count(game) == 2


def test_two_processes_writing_the_same_coalitions_agree(tmp_path):
    with Journal(tmp_path / "j") as one, Journal(tmp_path / "j") as two:
        game = one.open_game("a", 3)
        assert two.open_game("a", 3) == game
        one.append(game, [b"\x01"], [1.0])
        two.append(game, [b"\x01", b"\x02"], [9.0, 2.0])
        assert one.count(game) == two.count(game) == 2
        two._fold()
        assert one.count(game) == 2
        assert two.lookup(game, [b"\x01", b"\x02"]) == {b"\x01": 1.0, b"\x02": 2.0}


def test_nothing_is_a_batch_too(tmp_path):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append(game, [], [])
        assert journal.lookup(game, []) == {}
        assert journal.count(game) == 0
        assert journal.sample(game, 5, np.random.default_rng(0)) == []


def test_a_batch_is_written_whole_or_not_at_all(tmp_path):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        with pytest.raises(ValueError, match="shorter"):
            journal.append(game, [b"\x01", b"\x02"], [1.0])
        with pytest.raises(JournalError, match="NOT NULL"):
            journal.append(game, [b"\x01", b"\x02"], [1.0, float("nan")])
        assert journal.count(game) == 0
        assert journal.lookup(game, [b"\x01"]) == {}


@pytest.mark.parametrize("fold_rows", [1, 40, 1000])
def test_a_sample_is_uniform_over_both_tables(tmp_path, fold_rows):
    class Folding(Journal):
        _fold_rows = fold_rows

    keys = [bytes([0, i]) for i in range(50)] + [bytes([200, i]) for i in range(10)]
    with Folding(tmp_path / "j", shared=True) as journal:
        journal.append(journal.open_game("other", 16), keys[:7], [-1.0] * 7)
        game = journal.open_game("a", 16)
        for index, key in enumerate(keys):
            journal.append(game, [key], [float(index)])
        waiting = journal._db.execute("SELECT count(*) FROM arrivals").fetchone()[0]
        assert waiting == {1: 0, 40: 67 - 40, 1000: 67}[fold_rows]
        rng = np.random.default_rng(0)
        hits = np.zeros(60)
        for _ in range(600):
            rows = journal.sample(game, 6, rng)
            assert len({key for key, _ in rows}) == 6
            assert all(keys[int(value)] == key for key, value in rows)
            hits[[int(value) for _, value in rows]] += 1
        # Binomial(600, 0.1): 5 standard deviations for 60 rows, false alarm below 1e-4.
        assert np.abs(hits - 60).max() < 5 * np.sqrt(600 * 0.1 * 0.9)
        assert sorted(journal.sample(game, 99, rng)) == sorted(
            (key, float(index)) for index, key in enumerate(keys)
        )


def test_failures_are_kept_apart_from_values(tmp_path):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append_failure(game, b"\x01", "first")
        journal.append_failure(game, b"\x01", "singular \udcff matrix")
        assert journal.failures(game) == {b"\x01": "singular \\udcff matrix"}
        assert journal.failures(game + 1) == {}
        assert journal.lookup(game, [b"\x01"]) == {}


# -- games and runs --------------------------------------------------------------------------------


def test_a_second_game_is_refused_unless_the_file_is_shared(tmp_path):
    path = filled(tmp_path / "j", 10)
    message = r"another game.*key=.*shared=True"
    with Journal(path) as journal, pytest.raises(JournalError, match=message):
        journal.open_game("b", 100)
    with Journal(path, shared=True) as journal:
        first, second = journal.open_game("a", 100), journal.open_game("b", 3, ("x", "ü", "z"))
        journal.append(second, [b"\x01"], [1.5])
        assert (journal.count(first), journal.count(second)) == (10, 1)
    with Journal(path) as journal:
        assert journal.open_game("b", 3) == second
        assert [(g.fingerprint, g.n_players, g.player_names) for g in journal.games()] == [
            ("a", 100, None),
            ("b", 3, ("x", "ü", "z")),
        ]
        with pytest.raises(JournalError, match="3 players, not 4"):
            journal.open_game("b", 4)


def test_runs_are_recorded_and_found_by_their_configuration(tmp_path):
    seed = 2**127 + 1
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        old = journal.start_run(game, {"method": "mc", "xi": 1e-3}, {}, seed, {"numpy": "2"})
        new = journal.start_run(game, {"xi": 1e-3, "method": "mc"}, {}, 7, {})
        journal.start_run(game, {"xi": 2e-3, "method": "mc"}, {}, 7, {})
        journal.update_run(old, status="finished", evaluations=5, result={"values": [0.1]})
        journal.update_run(old, status="interrupted", evaluations=6)
        journal.update_run(new, status="finished", evaluations=0, result={})
    with Journal(tmp_path / "j", readonly=True) as journal:
        run = journal.runs(game)[0]
        assert (run.id, run.fingerprint, run.n_players, run.seed) == (old, "a", 3, seed)
        assert (run.status, run.evaluations, run.result) == ("interrupted", 6, {"values": [0.1]})
        assert run.versions == {"numpy": "2"}
        assert run.configuration == {"method": "mc", "xi": 1e-3}
        assert run.started <= run.updated
        assert run.started.endswith("+00:00")
        found = journal.find_run(game, {"method": "mc", "xi": 1e-3})
        assert found is not None
        assert (found.id, found.result) == (new, {})
        assert journal.find_run(game, {"method": "tmc"}) is None
        assert [r.status for r in journal.runs()] == ["interrupted", "finished", "running"]
        assert journal.runs(game + 1) == []


def test_a_run_must_be_plain_json_known_and_of_a_known_status(tmp_path):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        with pytest.raises(JournalError, match="JSON"):
            journal.start_run(game, {"xi": float("nan")}, {}, 0, {})
        with pytest.raises(JournalError, match="JSON"):
            journal.start_run(game, {"array": np.zeros(2)}, {}, 0, {})
        with pytest.raises(JournalError, match="no run 9"):
            journal.update_run(9, status="failed", evaluations=0)
        run = journal.start_run(game, {}, {}, 0, {})
        with pytest.raises(JournalError, match="CHECK"):
            journal.update_run(run, status="lost", evaluations=0)


# -- files that are not sound journals -------------------------------------------------------------


def refuses(path: Path, match: str, **options) -> None:
    """Opening fails with one readable message that names the file and leaves it alone."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(JournalError, match=match) as caught:
        Journal(path, **options)
    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


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


def test_damage_in_a_file_too_large_to_check_is_found_when_read(tmp_path):
    class Unchecked(Journal):
        _checked_bytes = 0

    path = filled(tmp_path / "j", 5000)
    with Journal(path) as journal:
        journal._fold()
    with path.open("r+b") as file:
        file.seek(8 * 4096)
        file.write(b"\xff" * (path.stat().st_size - 8 * 4096))
    refuses(path, "damaged")
    with Unchecked(path) as journal:
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


DAMAGE = {
    "configuration": ["{", "[]", "5", "", b"{}", "[" * 100_000],
    "limits": ["[]", "x", "null"],
    "seed": ["abc", "-1", "1.5", b"1"],
    "versions": ["x", '{"numpy": 2}'],
    "started": [b"yesterday"],
    "evaluations": ["many", -1, 1.5],
    "result": ["{", "[1]"],
    "player_names": ["5", '["a"]', "[1, 2, 3]", '"abc"', b"[]"],
    "n_players": ["three", 0, -1, 2.5],
    "fingerprint": [b"a"],
}


@pytest.mark.parametrize(
    ("column", "content"), [(column, bad) for column, all_ in DAMAGE.items() for bad in all_]
)
def test_a_row_that_makes_no_sense_is_damage(tmp_path, column, content):
    with Journal(tmp_path / "j") as journal:
        journal.start_run(journal.open_game("a", 3, "xyz"), {}, {}, 0, {})
    table = "games" if column in ("player_names", "n_players", "fingerprint") else "runs"
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        db.execute(f"UPDATE {table} SET {column} = ?", (content,))  # noqa: S608
        db.commit()
    with Journal(tmp_path / "j", readonly=True) as journal:
        for read in (journal.runs, *([journal.games] if table == "games" else [])):
            with pytest.raises(JournalError, match=r"is damaged.*\(table (games|runs)") as caught:
                read()
            assert str(tmp_path / "j") in str(caught.value)


@pytest.mark.parametrize("folded", [False, True])
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
def test_a_utility_that_is_no_number_is_damage(tmp_path, column, content, folded):
    rng = np.random.default_rng(0)
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append(game, [b"\x01"], [1.0])
        if folded:
            journal._fold()
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        table = "evaluations" if folded else "arrivals"
        db.execute(f"UPDATE {table} SET {column} = ?", (content,))  # noqa: S608
        db.commit()
    with Journal(tmp_path / "j") as journal:
        with pytest.raises(JournalError, match=r"is damaged.*\(table (arrivals|evaluations)"):
            journal.sample(game, 5, rng)
        if column == "value":
            with pytest.raises(JournalError, match="is damaged"):
                journal.lookup(game, [b"\x01"])


def test_a_newer_journal_asks_for_an_upgrade(tmp_path):
    path = filled(tmp_path / "j", 10)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {journal_file.SCHEMA_VERSION + 1}")
    refuses(path, "newer fairshapley.*upgrade")


def test_paths_that_cannot_be_a_journal(tmp_path):
    refuses(tmp_path, "directory")
    refuses(tmp_path / "missing" / "j", "directory that does not exist")
    refuses(tmp_path / "j", "does not exist", readonly=True)
    refuses(tmp_path / "j", "does not exist, and create=False", create=False)
    (tmp_path / "empty").touch()
    refuses(tmp_path / "empty", "empty", readonly=True)
    refuses(tmp_path / "empty", "empty", create=False)


def test_a_journal_that_must_exist_can_be_written(tmp_path):
    filled(tmp_path / "j", 10)
    with Journal(tmp_path / "j", create=False) as journal:
        game = journal.open_game("a", 100)
        journal.append(game, [bytes(13)], [0.0])
        assert journal.count(game) == 11


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
        journal.games()


# -- permissions, locks, disks ---------------------------------------------------------------------


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


def test_a_reader_sees_what_a_writer_appends_and_folds(tmp_path):
    with Journal(tmp_path / "j") as writer:
        game = writer.open_game("a", 3)
        with Journal(tmp_path / "j", readonly=True) as reader:
            assert reader.lookup(game, [b"\x01"]) == {}
            writer.append(game, [b"\x01"], [1.0])
            assert reader.lookup(game, [b"\x01"]) == {b"\x01": 1.0}
            writer._fold()
            assert reader.lookup(game, [b"\x01"]) == {b"\x01": 1.0}


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


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX resource limits")
@pytest.mark.parametrize("limit", [300_000, 2_000_000])
def test_a_full_disk_keeps_what_was_acknowledged(tmp_path, limit):
    # The limit on the size of a file is met while appending, and while folding.
    code = """
        import resource, sys
        import numpy as np
        from fairshapley.errors import JournalError
        from fairshapley.evaluation.journal.records import Journal

        class Folding(Journal):
            _fold_rows = 5_000

        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
        rng = np.random.default_rng(0)
        with Folding(sys.argv[1]) as journal:
            game = journal.open_game("a", 100)
            for _ in range(10_000):
                keys = [row.tobytes() for row in rng.integers(0, 256, (100, 13), dtype=np.uint8)]
                try:
                    journal.append(game, keys, rng.random(100).tolist())
                except JournalError as error:
                    print(error)
                    print(journal.count(game))
                    break
                print("ok")
    """
    done = run_python(code, tmp_path / "j", limit)
    assert done.returncode == 0, done.stderr
    *acknowledged, message, count = done.stdout.splitlines()
    assert "what was journalled before is kept" in message
    assert str(tmp_path / "j") in message
    assert len(acknowledged) * 100 <= int(count) <= len(acknowledged) * 100 + 100
    assert acknowledged
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 100)
        assert journal.count(game) == int(count)
        folded = journal._scalar("SELECT count(*) FROM evaluations")
        assert folded % 5000 == 0
        assert (folded > 0) == (limit == 2_000_000)
        journal.append(game, [bytes(13)], [0.0])
        assert journal.count(game) == int(count) + 1


def test_a_database_that_may_not_grow_says_that_the_disk_is_full(tmp_path):
    keys = keys_of(2000)
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 100)
        journal.append(game, keys[:10], [0.0] * 10)
        journal._db.execute("PRAGMA max_page_count = 12").fetchall()
        with pytest.raises(JournalError, match=r"disk space.*kept\. Free some space"):
            journal.append(game, keys[10:], [0.0] * 1990)
        assert journal.count(game) == 10
        assert len(journal.lookup(game, keys)) == 10


# -- sudden death ----------------------------------------------------------------------------------

APPENDER = """
    import sys
    import numpy as np
    from fairshapley.evaluation.journal.records import Journal

    class Folding(Journal):
        _fold_rows = 1_000

    with Folding(sys.argv[1]) as journal:
        game = journal.open_game("a", 64)
        print("open", flush=True)
        for batch in range(1_000_000):
            keys = [(batch * 50 + i).to_bytes(8, "big") for i in range(50)]
            journal.append(game, keys, [float(batch * 50 + i) for i in range(50)])
            print(batch, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("batches", [0, 3, 19, 117, 500])
def test_what_was_acknowledged_survives_kill_9(tmp_path, batches):
    path = tmp_path / "j"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(APPENDER), str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        for _ in range(batches):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        acknowledged = batches + len([x for x in process.stdout.read().split(b"\n")[:-1] if x])
    with Journal(path) as journal:
        game = journal.open_game("a", 64)
        keys = [index.to_bytes(8, "big") for index in range(acknowledged * 50)]
        assert journal.lookup(game, keys) == {key: float(i) for i, key in enumerate(keys)}
        # At most the batch under way was added, and it is whole.
        assert journal.count(game) in (acknowledged * 50, acknowledged * 50 + 50)
        assert journal._scalar("PRAGMA integrity_check") == "ok"
        # Rows are folded a thousand at a time, after the batch that completes the thousand is safe:
        # death between the two leaves just that thousand waiting.
        folded = journal._scalar("SELECT count(*) FROM evaluations")
        assert folded % 1000 == 0
        assert 0 <= journal.count(game) - folded <= 1000


def test_many_processes_may_open_a_new_journal_at_once(tmp_path):
    code = """
        import sys
        from fairshapley.evaluation.journal.records import Journal
        with Journal(sys.argv[1], timeout=30) as journal:
            game = journal.open_game("a", 8)
            journal.append(game, [bytes([int(sys.argv[2])])], [1.0])
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "j"), str(index)]
        )
        for index in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    with Journal(tmp_path / "j") as journal:
        assert journal.count(journal.open_game("a", 8)) == 4
