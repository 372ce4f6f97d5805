"""A service that fails, hangs, limits and charges: no budget is exceeded, no answer is lost."""

import contextlib
import json
import subprocess
import sys
import time
from collections import Counter

import pytest

import fairshapley as fs

PRICE, LIMIT = 0.01, 1.00
PARTS = [f"part {number}" for number in range(15)]


class BusyError(Exception):
    """What a client of a service raises where there were too many calls."""

    status_code = 429


class Service:
    """Charges every call when it begins, and answers most of them."""

    def __init__(self, log, hang=0.0):
        self.log, self.hang = log, hang

    def __call__(self, chosen):
        number = sum(1 << PARTS.index(part) for part in chosen)
        self._write("charged", number)
        first = self.log.read_text().splitlines().count(json.dumps(["charged", number])) == 1
        if first and number % 7 == 1:
            raise ConnectionResetError("reset")
        if first and number % 7 == 2:
            raise BusyError("too many calls")
        if first and number % 11 == 3 and self.hang:
            time.sleep(self.hang)
            raise RuntimeError("nobody waits for this answer")
        if first and number % 5 == 4:
            raise ValueError("a fault that does not pass")
        value = 1.0 - 0.8 ** len(chosen) + 0.05 * ("part 3" in chosen)
        self._write("answered", number)
        return value

    def _write(self, event, number):
        with self.log.open("a") as file:
            file.write(json.dumps([event, number]) + "\n")


def told(log):
    """What the service has charged, and the coalitions that it answered."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    charged = PRICE * sum(event == "charged" for event, _ in lines)
    return charged, Counter(number for event, number in lines if event == "answered")


def engine_of(name):
    if name == "processes":
        return fs.ProcessEngine(2, backoff=0.001)
    if name == "threads":
        return fs.ThreadEngine(4, timeout=0.2, backoff=0.001)
    return fs.SerialEngine(backoff=0.001)


def settings(tmp_path, name, log):
    service = Service(log, hang=0.5 if name == "threads" else 0.0)
    game = fs.games.FunctionGame(
        service, players=PARTS, cost=lambda chosen: PRICE, cost_unit="euros", key="service"
    )
    return game, {"budget": fs.Budget(cost=LIMIT), "seed": 0, "journal": tmp_path / "j.db"}


@pytest.mark.parametrize("name", ["serial", "threads", "processes"])
def test_a_hostile_service_is_paid_at_most_the_budget_and_nothing_twice(tmp_path, name):
    log = tmp_path / "log"
    log.touch()
    game, options = settings(tmp_path, name, log)
    result = None
    with engine_of(name) as engine:
        while result is None:  # a fault that does not pass ends a run, which the journal continues
            with contextlib.suppress(fs.errors.GameError):
                result = fs.estimate(game, "kernel", engine=engine, **options)
    charged, answered = told(log)
    assert charged <= LIMIT + 1e-9
    assert 0.9 * LIMIT < result.run.cost <= charged + 1e-9
    assert set(answered.values()) == {1}  # nothing paid twice
    with fs.Journal(options["journal"]) as journal:
        assert journal.count(1) == len(answered)  # nothing lost


def test_a_plain_function_that_fails_is_called_again_by_default():
    calls = Counter()

    def fn(chosen):
        calls[chosen] += 1
        if calls[chosen] == 1 and len(chosen) == 2:
            raise BusyError("too many calls")
        return float(len(chosen))

    engine = fs.SerialEngine(backoff=0.0)
    result = fs.estimate(fn, players=["a", "b", "c", "d"], budget=16, verify=0, engine=engine)
    assert result["a"] == pytest.approx(1.0)
    assert sum(calls.values()) == 16 + 6 == result.run.computed
    assert any("6 evaluations failed with errors that pass" in note for note in result.notes)


KILLED = """
import os
import sys
from pathlib import Path
import fairshapley as fs
from tests.runs.test_hostile_service import Service, settings
folder, last = Path(sys.argv[1]), int(sys.argv[2])
game, options = settings(folder, "serial", folder / "log")
answer = game.fn
def dying(chosen):
    if (answer.log.read_text().count("charged") if answer.log.exists() else 0) == last:
        answer._write("charged", 0)
        os._exit(9)
    value = 1.0 - 0.8 ** len(chosen)
    answer._write("charged", 0)
    answer._write("answered", sum(1 << int(part[5:]) for part in chosen))
    return value
game.fn = dying
fs.estimate(game, "kernel", **options)
"""


def test_what_a_killed_run_has_paid_is_not_forgotten(tmp_path):
    log = tmp_path / "log"
    for last in (30, 60, 10**9):
        subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), str(last)], check=last == 10**9
        )
    charged, answered = told(log)
    assert charged <= LIMIT + 1e-9
    assert set(answered.values()) == {1}
    assert len(answered) == round(charged / PRICE) - 2
