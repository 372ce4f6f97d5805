"""A real Dask cluster: the bits of a serial run, killed workers, hangs, and a lost scheduler."""

import contextlib
import threading

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from tests.engine_checks import (
    check_a_failure_reads_as_in_a_serial_run,
    check_a_killed_worker,
    check_same_bits,
)

import fairshapley as fs
from fairshapley.errors import EngineError
from fairshapley.evaluation import DaskEngine

# Closing a cluster leaves sockets and event loops to the garbage collector, in Dask's own code.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SETTINGS = {
    # A worker that dies ends its task, so that ours is what is tested and not Dask's own patience.
    "distributed.scheduler.allowed-failures": 0,
    # On a busy machine a new worker may take longer than the 15 s after which one is given up.
    "distributed.deploy.lost-worker-timeout": "600s",
    "distributed.comm.timeouts.connect": "5s",
}


@contextlib.contextmanager
def cluster(**options):
    with dask.config.set(SETTINGS):
        started = LocalCluster(
            threads_per_worker=1, dashboard_address=":0", silence_logs=60, **options
        )
        with started, Client(started, set_as_default=False) as client:
            yield client


@pytest.fixture(scope="module")
def client():
    with cluster(n_workers=2, processes=True) as client:
        yield client


def test_the_same_bits_as_a_serial_run_and_a_worker_killed_in_mid_chunk(client, tmp_path):
    """One test, so that one process starts one cluster."""
    check_same_bits(client, tmp_path)

    check_a_killed_worker(DaskEngine(client, chunk_size=8), tmp_path)
    check_a_failure_reads_as_in_a_serial_run(client)
    lock = threading.Lock()
    locked = fs.games.FunctionGame(lambda s: float(lock.locked()), 4)
    with pytest.raises(fs.InputError, match="cannot be sent"):
        fs.estimate(locked, engine=client)
    for library in _threads(client):
        assert library == 1


def _threads(client):
    """The threads of BLAS in each worker."""

    def most():
        from threadpoolctl import threadpool_info

        return max(library["num_threads"] for library in threadpool_info())

    return client.run(most).values()


def test_a_lost_scheduler_stops_the_run_with_all_journalled(tmp_path):
    """Workers are threads of this process here: games then have a copy for each thread."""
    journal, calls = tmp_path / "j.db", tmp_path / "calls"
    with cluster(n_workers=1, processes=False) as client:
        lost = threading.Event()

        def fn(coalition):
            with calls.open("a") as file:
                file.write("x")
            return float(len(coalition))

        def close(now):
            if now.evaluations > 40 and not lost.is_set():
                lost.set()
                client.cluster.sync(client.cluster.scheduler.close)

        game = fs.games.FunctionGame(fn, 9, key="calls")
        with pytest.raises(EngineError, match=r"(?s)scheduler.*run again with it") as caught:
            fs.estimate(
                game,
                "exact",
                engine=DaskEngine(client, chunk_size=4, timeout=100.0),
                journal=journal,
                progress=close,
            )
        assert lost.is_set()
        assert caught.value.partial is not None
    with fs.Journal(journal) as opened:
        kept = opened.count(1)
        assert opened.runs()[0].status == "failed"
    assert 40 < kept < 512
    before = len(calls.read_text())
    assert before <= kept + 8  # two chunks were in flight
    result = fs.estimate(game, "exact", journal=journal)
    np.testing.assert_allclose(result.values, 1.0, rtol=1e-12)
    assert result.run.computed == 512 - kept == len(calls.read_text()) - before


def test_an_address_where_nobody_answers_is_named():
    with dask.config.set(SETTINGS), pytest.raises(EngineError, match=r"no Dask scheduler answers"):
        fs.estimate(fs.games.Airport([1.0, 2.0]), engine="dask://127.0.0.1:9")


def test_an_address_is_enough():
    with cluster(n_workers=1, processes=False, protocol="tcp") as client:
        address = client.scheduler.address.replace("tcp://", "dask://")
        result = fs.estimate(fs.games.Airport([1.0, 2.0, 4.0]), engine=address)
    np.testing.assert_allclose(result.values, [1 / 3, 5 / 6, 17 / 6])
