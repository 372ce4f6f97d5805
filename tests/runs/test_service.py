"""Runs inside another program: cancelled, awaited, logged, watched, and 200 of them."""

import asyncio
import gc
import json
import logging
import os
import signal
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

import fairshapley as fs
from fairshapley.results.schema import json_schema

jsonschema = pytest.importorskip("jsonschema")
NAMES = [f"part {number}" for number in range(12)]


def worth(chosen):
    return 1.0 - 0.7 ** len(chosen)


async def slow(chosen):
    await asyncio.sleep(0.01)
    return worth(chosen)


@pytest.mark.parametrize("engine", ["serial", "threads:2"])
def test_an_event_cancels_and_gives_the_partial_result(engine):
    cancel, calls = threading.Event(), []

    def function(chosen):
        calls.append(chosen)
        if len(calls) == 60:
            cancel.set()
        return worth(chosen)

    options = {"players": NAMES, "budget": 3000, "seed": 0, "engine": engine, "cancel": cancel}
    result = fs.estimate(function, "mc", **options)
    assert not result.complete
    assert result.stopped.startswith("cancelled after ")
    assert 40 < result.evaluations <= len(calls) < 200
    with pytest.raises(fs.InputError, match=r"threading\.Event"):
        fs.estimate(worth, players=NAMES, cancel=True)


def test_a_call_that_takes_long_does_not_hold_up_a_cancelled_run():
    cancel = threading.Event()

    async def hangs(chosen):
        cancel.set()
        await asyncio.sleep(60)

    started = time.monotonic()
    result = fs.estimate(hangs, players=NAMES, budget=100, cancel=cancel)
    assert time.monotonic() - started < 20
    assert not result.complete


def test_an_estimate_is_awaited_in_the_loop_of_the_caller():
    loops, beats = set(), []

    async def function(chosen):
        loops.add(asyncio.get_running_loop())
        return await slow(chosen)

    async def beat():
        while True:
            beats.append(1)
            await asyncio.sleep(0.01)

    async def service():
        heart = asyncio.create_task(beat())
        many = [
            fs.estimate_async(function, players=NAMES[:6], budget=64, seed=seed)
            for seed in range(3)
        ]
        results = await asyncio.gather(*many)
        heart.cancel()
        return asyncio.get_running_loop(), results

    loop, results = asyncio.run(service())
    assert loops == {loop}
    assert len(beats) > 3
    assert all(result.exact for result in results)


def test_a_task_that_is_cancelled_ends_its_run(tmp_path):
    calls = []

    async def function(chosen):
        calls.append(chosen)
        return await slow(chosen)

    async def service():
        game = fs.games.FunctionGame(function, players=NAMES, key="slow")
        run = fs.estimate_async(game, "mc", budget=3000, seed=0, journal=tmp_path / "j.db")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(run, 0.5)

    asyncio.run(service())
    made = len(calls)
    time.sleep(0.1)
    assert 10 < made == len(calls) < 3000
    with fs.Journal(tmp_path / "j.db") as journal:
        assert journal.runs()[-1].status == "interrupted"
        assert journal.count(1) >= made - 64


def test_the_log_says_what_runs_do(caplog):
    caplog.set_level(logging.INFO, logger="fairshapley")
    fs.estimate(worth, players=NAMES, budget=60, seed=0)
    first, last = caplog.messages
    assert first == "adjusted of 12 players begins: budget 60 evaluations"
    assert last.startswith("finished: budget of 60 evaluations used up")


def test_ctrl_c_raises_and_keeps_the_partial_result():
    calls = []

    def function(chosen):
        calls.append(chosen)
        if len(calls) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        return worth(chosen)

    with pytest.raises(KeyboardInterrupt) as raised:
        fs.estimate(function, "mc", players=NAMES, budget=3000, seed=0)
    assert not raised.value.partial.complete
    assert 40 < raised.value.partial.evaluations <= 60


def open_files():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def quick(chosen):
    return worth(chosen)


@pytest.mark.parametrize("function", [worth, quick])
def test_200_estimates_leave_nothing_behind(function):
    def some(count):
        for seed in range(count):
            fs.estimate(function, "kernel", players=NAMES[:4], budget=12, seed=seed)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = some(20)
        threads, files = threading.active_count(), open_files()
        assert some(200) - first < 500_000
        assert threading.active_count() <= threads + 1
        assert open_files() <= files + 3
    finally:
        tracemalloc.stop()


def results():
    yield fs.exact(fs.games.Airport([1.0, 2.0]))
    yield fs.estimate(fs.games.SumOfUnanimity(8, seed=0), "mc", budget=100, seed=0)
    yield fs.estimate(worth, players=NAMES, budget=60, seed=0)


def test_results_follow_their_json_schema(tmp_path):
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    judge = jsonschema.Draft202012Validator(schema)
    for result in results():
        result.save(tmp_path / "result.json")
        content = json.loads((tmp_path / "result.json").read_text())
        judge.validate(content)
        assert {*content, "digest"} == {*schema["properties"]}
        for wrong in ({"values": "none"}, {"evaluations": 1.5}, {"unknown": 1}):
            assert list(judge.iter_errors(content | wrong))
