"""A real local Ray: the bits of a serial run, a killed worker, a hang."""

import contextlib
import os
import signal
import time

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.evaluation import RayEngine

# Ray leaves files and sockets to the garbage collector, and warns of its own future defaults.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def local():
    import ray

    ray.init(
        num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False,
        object_store_memory=100 * 2**20,
    )  # fmt: skip
    yield ray
    ray.shutdown()


def plain(result):
    return {**result.to_dict(), "seconds": 0, "notes": 0}


def test_the_same_bits_as_a_serial_run_and_a_worker_killed_in_mid_chunk(local, tmp_path):
    """One test, so that one process starts one Ray."""
    game = fs.games.SumOfUnanimity(20, seed=1)
    for method in ("mc", "gae", "kernel"):
        options = {"method": method, "budget": 500, "seed": 3}
        journal = tmp_path / f"{method}.db"
        result = fs.estimate(game, engine="ray", journal=journal, **options)
        assert plain(result) == plain(fs.estimate(game, **options))
        assert fs.estimate(game, journal=journal, **options).computed == 0

    log, flag = tmp_path / "log", tmp_path / "killed"

    def fn(coalition):
        if len(coalition) == 5:
            with contextlib.suppress(FileExistsError):
                flag.touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        with log.open("a") as file:
            file.write(f"{coalition}\n")
        return float(len(coalition))

    deadly = fs.games.FunctionGame(fn, 9, key="deadly")
    result = fs.estimate(deadly, "exact", engine=RayEngine(chunk_size=8))
    assert flag.exists()
    np.testing.assert_allclose(result.values, 1.0, rtol=1e-12)
    assert result.notes == (
        "1 chunks were lost with workers that died or hung, and were tried again",
    )
    asked = log.read_text().splitlines()
    assert len(set(asked)) == 512
    assert len(asked) < 512 + 8  # the chunk that was lost

    failing = fs.games.FunctionGame(lambda s: 1 / 0 if s == (1, 2) else 1.0, 4)
    with pytest.raises(fs.GameError, match=r"\(1, 2\) failed: ZeroDivisionError") as caught:
        fs.estimate(failing, "exact", engine="ray")
    with pytest.raises(fs.GameError) as serial:
        fs.estimate(failing, "exact")
    assert str(caught.value) == str(serial.value)
    with pytest.raises(fs.InputError, match=r"connected to a Ray already, not to ray://other:1"):
        fs.estimate(failing, "exact", engine="ray://other:1")


@pytest.mark.full
def test_a_coalition_that_ends_its_worker_is_named(local):
    game = fs.games.FunctionGame(lambda s: os._exit(3) if s == (1, 3) else float(len(s)), 5)
    with pytest.raises(fs.GameError, match=r"\(1, 3\) failed: the Ray worker .* died"):
        fs.estimate(game, "exact", engine=RayEngine(chunk_size=2))


@pytest.mark.full
def test_a_utility_that_hangs_is_named(local):
    def hang(coalition):
        while coalition == (0, 2):
            time.sleep(0.01)
        return float(len(coalition))

    game = fs.games.FunctionGame(hang, 4)
    with pytest.raises(fs.GameError, match=r"\(0, 2\) failed: it took longer than the timeout"):
        fs.estimate(game, "exact", engine=RayEngine(timeout=1.0, chunk_size=2))


@pytest.mark.full
def test_a_task_that_fits_nowhere_is_an_error(local, monkeypatch):
    monkeypatch.setattr("fairshapley.evaluation.engines.ray.EMPTY_SECONDS", 2.0)
    with pytest.raises(fs.FairShapleyError, match=r"no room for a task of 64 CPUs"):
        fs.estimate(fs.games.Airport([1.0, 2.0]), engine=RayEngine(cpus=64))
