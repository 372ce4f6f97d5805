"""Utilities that wait: many calls at a time, of a service that fails, hangs and limits its rate."""

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter

import numpy as np
import pytest
from tests.engine_checks import check_a_failure_reads_as_in_a_serial_run, plain

import fairshapley as fs


def utility(coalition):
    return float(sum(coalition)) ** 1.5


async def async_utility(coalition):
    await asyncio.sleep(0)
    return utility(coalition)


def game(fn, n_players=10):
    return fs.games.FunctionGame(fn, n_players, key="waiting")


@pytest.mark.parametrize("method", ["auto", "adjusted", "mc", "kernel", "sobol"])
@pytest.mark.parametrize("fn", [utility, async_utility])
def test_the_same_bits_as_one_process_with_as_large_rounds(fn, method):
    options = {"method": method, "budget": 60 if method == "auto" else 300, "seed": 1}
    here = fs.estimate(game(utility), engine=fs.SerialEngine(in_flight=16), **options)
    there = fs.estimate(game(fn), engine="threads:16", **options)
    assert plain(here) == plain(there)
    assert there.run.configuration["in_flight"] == 16
    if method in ("auto", "adjusted", "kernel"):
        assert there.run.rounds < fs.estimate(game(utility), **options).run.rounds


def test_all_workers_wait_at_the_same_time():
    """No call is answered before 16 of them have waited at once."""
    waiting, enough = threading.Semaphore(0), threading.Event()

    def together(coalition):
        waiting.release()
        if 0 < len(coalition) < 30 and not enough.wait(60):
            raise RuntimeError("left alone")
        return utility(coalition)

    def watch():
        for _ in range(2 + 16):
            waiting.acquire()
        enough.set()

    threading.Thread(target=watch, daemon=True).start()
    result = fs.estimate(game(together, 30), "kernel", budget=66, seed=0, engine="threads:16")
    assert result.run.rounds == 4


def test_an_async_function_needs_no_engine_and_no_threads():
    """Without an engine 32 calls wait at a time; any engine, and a running loop, will do."""
    waiting = most = 0
    callers = set()

    async def fn(coalition):
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        callers.add(threading.get_ident())
        await asyncio.sleep(0.1)
        waiting -= 1
        return utility(coalition)

    result = fs.estimate(game(fn, 40), "kernel", budget=130, seed=0)
    assert most > 16
    assert len(callers) == 1
    assert result.run.configuration["in_flight"] == 32
    masks = np.array([[True] * 10])

    async def inside():
        return game(async_utility)(masks)

    assert asyncio.run(inside()) == game(utility)(masks)
    serial = fs.estimate(game(async_utility), "mc", budget=50, seed=0, engine="serial")
    assert plain(serial) == plain(fs.estimate(game(utility), "mc", budget=50, seed=0))


@pytest.mark.parametrize("is_async", [False, True])
def test_transient_errors_and_hanging_calls_are_tried_again(is_async):
    attempts = Counter()

    def trouble(coalition):
        attempts[coalition] += 1
        if len(coalition) == 3 and attempts[coalition] < 3:
            raise ConnectionResetError("busy")
        return len(coalition) == 5 and attempts[coalition] < 2

    def fn(coalition):
        if trouble(coalition):
            time.sleep(60)
        return utility(coalition)

    async def async_fn(coalition):
        if trouble(coalition):
            await asyncio.sleep(60)
        return utility(coalition)

    engine = fs.ThreadEngine(8, timeout=1, backoff=0.01)
    result = fs.estimate(game(async_fn if is_async else fn, 6), "exact", engine=engine, verify=0)
    assert result.values == pytest.approx(fs.exact(game(utility, 6)).values)
    assert {len(one): count for one, count in attempts.items()} == {
        size: {3: 3, 5: 2}.get(size, 1) for size in range(7)
    }


def test_errors_that_are_not_transient_name_their_coalition():
    check_a_failure_reads_as_in_a_serial_run(fs.ThreadEngine(4))

    def fn(coalition):
        if coalition == (1, 2):
            raise ConnectionError("gone")
        if coalition == (0,):
            time.sleep(60)
        return utility(coalition)

    never = {"retries": 1, "transient": lambda error: False}
    failing, engine = game(lambda c: 1.0 if c != (1, 2) else fn(c), 4), fs.ThreadEngine(backoff=0)
    with pytest.raises(fs.errors.GameError, match=r"\(1, 2\) failed: ConnectionError: gone"):
        fs.estimate(failing, "exact", engine=engine)
    with pytest.raises(
        fs.errors.GameError, match=r"\(0,\) failed: TimeoutError: it took longer than"
    ):
        fs.estimate(game(fn, 4), "exact", engine=fs.ThreadEngine(4, timeout=0.2, **never))


def test_calls_begin_at_the_rate_that_is_allowed():
    starts = []

    def fn(coalition):
        starts.append(time.monotonic())
        return utility(coalition)

    fs.estimate(game(fn, 5), "exact", engine=fs.ThreadEngine(16, per_second=100), verify=0)
    assert len(starts) == 32
    assert max(starts) - min(starts) >= 31 / 100 - 0.02  # no sooner; a busy machine may be later


SERVICE = """
    import os, sys, threading, time
    import fairshapley as fs

    log, journal, kill_after = sys.argv[1], sys.argv[2], int(sys.argv[3])
    lock, seen = threading.Lock(), {}

    def service(coalition):
        with lock:
            seen[coalition] = seen.get(coalition, 0) + 1
            number = len(seen)
        if number % 7 == 0 and seen[coalition] == 1:
            raise ConnectionError("come again")
        if number % 63 == 0 and seen[coalition] == 2:
            time.sleep(60)
        time.sleep(0.01)
        with lock, open(log, "a") as file:
            file.write(f"{coalition}\\n")
            if kill_after and number == kill_after:
                os.kill(os.getpid(), 9)
        return float(sum(coalition)) ** 1.5

    game = fs.games.FunctionGame(service, 12, key="service")
    engine = fs.ThreadEngine(8, timeout=1, backoff=0.01, per_second=500)
    result = fs.estimate(game, "adjusted", budget=300, seed=0, engine=engine, journal=journal)
    print(result.values.tolist())
"""


def test_a_driver_killed_loses_only_the_calls_in_flight(tmp_path):
    """A service that fails, hangs and limits its rate; the driver is killed, twice."""
    log, script = tmp_path / "log", tmp_path / "drive.py"
    script.write_text(textwrap.dedent(SERVICE))
    for kill_after in (60, 90, 0):
        command = [sys.executable, script, log, tmp_path / "j.db", str(kill_after)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == (-signal.SIGKILL if kill_after else 0), done.stderr
    engine, method = fs.SerialEngine(in_flight=8), "adjusted"
    alone = fs.estimate(game(utility, 12), method, budget=300, seed=0, engine=engine, verify=0)
    assert done.stdout.strip() == str(alone.values.tolist())
    calls = Counter(log.read_text().splitlines())
    assert len(calls) == alone.evaluations
    # At each kill up to 8 calls were answered and not yet journalled, and as many were under way.
    assert sum(calls.values()) - len(calls) <= 2 * 2 * 8
