"""A real local Ray: the bits of a serial run, a killed worker, a hang."""

import pytest
from tests.engine_checks import (
    check_a_failure_reads_as_in_a_serial_run,
    check_a_killed_worker,
    check_same_bits,
)

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

    options = {"num_cpus": 2, "logging_level": "ERROR", "log_to_driver": False}
    ray.init("local", **options, object_store_memory=100 * 2**20, include_dashboard=False)
    yield ray
    ray.shutdown()


def test_the_same_bits_as_a_serial_run_and_a_worker_killed_in_mid_chunk(local, tmp_path):
    """One test, so that one process starts one Ray."""
    check_same_bits("ray", tmp_path)

    result = check_a_killed_worker(RayEngine(chunk_size=8), tmp_path)
    assert result.notes == (
        "1 chunks were lost with workers that died or hung, and were tried again",
    )
    check_a_failure_reads_as_in_a_serial_run("ray")
    with pytest.raises(fs.InputError, match=r"connected to a Ray already, not to ray://other:1"):
        fs.estimate(fs.games.Additive([1.0]), engine="ray://other:1")


@pytest.mark.full
def test_a_task_that_fits_nowhere_is_an_error(local, monkeypatch):
    monkeypatch.setattr(RayEngine, "empty_seconds", 2.0)
    with pytest.raises(fs.FairShapleyError, match=r"no room for a task of 64 CPUs.* for 2 s"):
        fs.estimate(fs.games.Airport([1.0, 2.0]), engine=RayEngine(cpus=64))
