"""Local processes: the bits of a serial run, real kills, real hangs, real lack of memory."""

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.engine_checks import (
    check_a_failure_reads_as_in_a_serial_run,
    check_a_killed_worker,
    check_same_bits,
    plain,
)

import fairshapley as fs
from fairshapley.errors import EngineError
from fairshapley.evaluation import ProcessEngine
from fairshapley.results.serialising import with_fields

# Games are made inside functions: then they travel as code, not as the name of this module.


@pytest.fixture(scope="module")
def engine():
    with ProcessEngine(2, threads=1) as engine:
        yield engine


@contextlib.contextmanager
def altered(engine, **settings):
    """The engine with other settings, and the processes that it has."""
    before = {name: getattr(engine, name) for name in settings}
    vars(engine).update(settings)
    try:
        yield engine
    finally:
        vars(engine).update(before)


def counting(log, n_players, what=lambda coalition: None):
    """A game that writes down each coalition it computes, in whatever process."""

    def fn(coalition):
        what(coalition)
        with open(log, "a") as file:  # noqa: PTH123
            file.write(f"{coalition}\n")
        return float(len(coalition)) ** 1.5

    return fs.games.FunctionGame(fn, n_players, key="counting")


def same(result, other):
    return plain(result) == plain(other)


def test_the_same_bits_as_a_serial_run_and_a_process_killed_in_mid_chunk(engine, tmp_path):
    check_same_bits(engine, tmp_path)
    with altered(engine, chunk_size=4):
        assert "lost with workers" in check_a_killed_worker(engine, tmp_path).notes[0]


def test_a_utility_that_hangs_is_named_and_its_process_ended(engine, tmp_path):
    pids = tmp_path / "pids"

    def hang(coalition):
        if coalition == (0, 2):
            with pids.open("a") as file:
                file.write(f"{os.getpid()}\n")
            while True:
                time.sleep(0.01)

    with altered(engine, chunk_size=1, timeout=1.0):
        game = counting(os.devnull, 4, hang)
        with pytest.raises(
            fs.errors.GameError, match=r"\(0, 2\) failed: .*timeout of 1 s"
        ) as caught:
            fs.estimate(game, "exact", engine=engine)
    assert "in hang" in caught.value.__cause__.__notes__[0]  # where it was
    hung = {int(pid) for pid in pids.read_text().split()}
    assert all_end(hung)


def all_end(pids):
    """Whether all processes end within a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(map(_runs, pids)):
        time.sleep(0.05)
    return not any(map(_runs, pids))


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


DRIVER = textwrap.dedent("""
    import sys, time
    import fairshapley as fs
    from fairshapley.evaluation import ProcessEngine

    def slow(coalition):
        time.sleep(0.01)
        with open(log, "a") as file:
            file.write(f"{coalition}\\n")
        return float(len(coalition)) ** 1.5

    journal, log = sys.argv[1:]
    game = fs.games.FunctionGame(slow, 9, key="counting")
    fs.estimate(game, "exact", engine=ProcessEngine(2, chunk_size=4), journal=journal, seed=0)
""")


@pytest.mark.full
def test_a_driver_killed_loses_what_was_in_flight_and_leaves_nothing_behind(tmp_path):
    log, journal, folder = tmp_path / "log", tmp_path / "j.db", tmp_path / "temporary"
    folder.mkdir()
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(journal), str(log)],
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.DEVNULL,
    )
    while not log.exists() or len(log.read_text().splitlines()) < 100:
        assert driver.poll() is None
        time.sleep(0.01)
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    assert list(folder.glob("*.pickle"))
    driver.kill()
    driver.wait()
    assert all_end(children)
    assert not list(folder.iterdir())
    begun = len(log.read_text().splitlines())
    result = fs.estimate(counting(os.devnull, 9), "exact", journal=journal, seed=0)
    whole = fs.estimate(counting(os.devnull, 9), "exact", seed=0, verify=0)
    assert same(with_fields(result, computed=512), whole)
    # Each of the two processes had a chunk that it computed, and one that waited or was answered.
    assert begun - 4 * 4 <= 512 - result.run.computed <= begun


@pytest.mark.full
def test_a_hang_that_lets_no_thread_run_is_ended_too():
    game = counting(os.devnull, 3, lambda s: ctypes.PyDLL(None).sleep(600) if s == (0, 2) else None)
    words = r"\(0, 2\) failed: the process .* died"
    with ProcessEngine(2, timeout=1.0) as engine, pytest.raises(fs.errors.GameError, match=words):
        fs.estimate(game, "exact", engine=engine)


def test_chunks_that_do_not_fit_the_memory_are_halved(tmp_path):
    """A real limit: 4 GiB of addresses, of which 1 GiB for each coalition of a chunk."""

    class Greedy:
        n_players = 6

        def __call__(self, masks):
            limit = 4 * 2**30
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + limit, resource.RLIM_INFINITY))
            scratch = np.empty((len(masks), 2**27))
            return masks.sum(axis=1) + 0.0 * len(scratch)

    Greedy.__module__ = "__main__"  # so that it travels as code
    with ProcessEngine(1, chunk_size=16) as engine:
        result = fs.estimate(Greedy(), "exact", engine=engine)
    np.testing.assert_allclose(result.values, 1.0)
    assert "computed in smaller parts" in result.notes[0]


def test_errors_arrive_as_in_a_serial_run(engine):
    class OddError(Exception):
        """Cannot be made again from its arguments."""

        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")

        def __reduce__(self):
            raise TypeError("not to be pickled")

    def fn(coalition):
        if coalition == (1, 2):
            raise OddError("this", "that")
        return float(len(coalition))

    game = fs.games.FunctionGame(fn, 4)
    with pytest.raises(fs.errors.GameError, match="OddError: this and that") as caught:
        fs.estimate(game, "exact", engine=engine)
    assert caught.value.coalition == (1, 2)
    assert "Traceback" in caught.value.__cause__.__notes__[0]
    check_a_failure_reads_as_in_a_serial_run(engine)


def test_games_that_cannot_travel_are_refused(engine):
    lock = threading.Lock()
    game = fs.games.FunctionGame(lambda s: float(lock.locked()), 4)
    with pytest.raises(fs.InputError, match=r"cannot be sent .*lock.*engine='serial'"):
        fs.estimate(game, engine=engine)

    class Brittle:
        n_players = 4

        def __reduce__(self):
            return (__import__, ("a_module_of_the_driver_alone",))

        def __call__(self, masks):
            return masks.sum(axis=1)

    with pytest.raises(EngineError, match=r"could not be loaded in a worker \(ModuleNotFound"):
        fs.estimate(Brittle(), engine=engine)


def test_the_game_travels_once_and_leaves_nothing_behind(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    loads = str(tmp_path / "loads")

    class Heavy:
        n_players = 10

        def __setstate__(self, state):
            with open(loads, "a") as file:  # noqa: PTH123
                file.write("x")

        def __getstate__(self):
            return {"some": "data"}

        def __call__(self, masks):
            return masks.sum(axis=1).astype(float)

    Heavy.__module__ = "__main__"
    with altered(engine, chunk_size=16):
        fs.estimate(Heavy(), "exact", engine=engine)
    assert 1 <= len(Path(loads).read_text()) <= 2  # 64 chunks, 2 processes
    assert os.listdir(tmp_path) == ["loads"]  # noqa: PTH208


def test_numerical_libraries_use_their_share_of_the_cores(engine):
    def threads(masks):
        from threadpoolctl import threadpool_info

        np.ones((300, 300)) @ np.ones((300, 300))
        most = max(library["num_threads"] for library in threadpool_info())
        return np.full(len(masks), 10.0 * most + float(os.environ["OMP_NUM_THREADS"]))

    class Game:
        n_players = 3
        __call__ = staticmethod(threads)

    Game.__module__ = "__main__"
    result = fs.estimate(Game(), "exact", engine=engine)
    np.testing.assert_array_equal(result.values, 0.0)
    with contextlib.closing(fs.evaluation.Evaluator(Game(), 3, engine=engine)) as evaluator:
        assert evaluator.endpoints() == (11.0, 11.0)


def test_ctrl_c_ends_the_processes_and_keeps_what_is_done(engine, tmp_path):
    """The signal comes while one process sleeps for an hour and the other has run out of work."""
    asleep, log = tmp_path / "asleep", str(tmp_path / "log")

    def sleep(coalition):
        if coalition == (0, 1):
            asleep.touch()
            time.sleep(3600)

    def press():
        while not asleep.exists() or len(Path(log).read_text().splitlines()) < 6:
            time.sleep(0.01)
        time.sleep(0.3)  # let the answers arrive
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=press)
    watcher.start()
    journal = tmp_path / "j.db"
    with altered(engine, chunk_size=1):
        game = counting(log, 3, sleep)
        options = {"journal": journal, "on_interrupt": "return"}
        result = fs.estimate(game, "exact", engine=engine, **options)
    watcher.join()
    assert result.stopped.startswith("interrupted")
    with fs.Journal(journal) as opened:
        assert opened.count(1) >= 6
        assert opened.runs()[0].status == "interrupted"


def test_no_more_processes_than_the_game_can_use():
    with ProcessEngine(32) as engine:
        for n_players, workers in ((1, 2), (3, 8), (40, 32)):
            session = engine.open(fs.games.Additive(np.ones(n_players)))
            assert session.workers == workers
            session.close()
