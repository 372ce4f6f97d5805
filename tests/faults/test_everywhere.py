"""A failure at every place where a run can fail: no wrong result, nothing journalled is lost.

`make test` takes some points of each case, evenly spread; `make test-full` takes all of them.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import loky
import numpy as np
import pytest

import fairshapley as fs
from fairshapley import estimators, evaluation, runs
from fairshapley.evaluation import dispatch
from fairshapley.evaluation.engines import processes
from fairshapley.evaluation.journal import Journal
from fairshapley.runs import plan
from tests.faults.layers import (
    every_line,
    failing_files,
    failing_lines,
    failing_statements,
    small_files,
)
from tests.faults.oracle import Fault, Scenario, Trials, holdings
from tests.faults.pool import KINDS, Pool, failing_pool

PLAIN = Scenario()
CONTINUED = Scenario(begun=30, verify=3)
KEPT_OPEN = Scenario(kept_open=True)
SKIPPING = Scenario(options={"method": "mc", "budget": 70, "on_error": "skip"}, refuses=b"\xe2\x00")
EXACT = Scenario(n_players=5, options={"method": "exact"})
PROCESSES = Scenario(engine=lambda: fs.ProcessEngine(2, chunk_size=7), in_flight=4)
SCENARIOS = {"plain": PLAIN, "continued": CONTINUED, "kept open": KEPT_OPEN, "skipping": SKIPPING}

OURS = (estimators, evaluation, runs)
LINES, ONCE = (partial(every_line, occurrences=times) for times in (2, 1))
# Ctrl-C does not reach what a worker runs.
DRIVERS = (processes, dispatch)


@dataclass
class Case:
    """A scenario, a fault, and how many points there are at least."""

    scenario: Scenario
    fault: Fault
    least: int
    for_good: bool = False
    choose: Callable[[list[Any]], list[int]] = lambda labels: list(range(len(labels)))
    part: tuple[int, int] = (0, 1)

    def points(self, labels: list[Any]) -> list[int]:
        chosen = self.choose(labels)
        assert len(chosen) >= self.least, "there are fewer points than there should be"
        which, parts = self.part
        return chosen[which::parts]


def _cases() -> Iterator[tuple[str, Case]]:
    for name, scenario in SCENARIOS.items():
        for kind in ("io", "full", "busy", "memory"):
            for after in (False, True):
                fault = failing_statements(kind, after=after)
                when = "after" if after else "before"
                yield f"statements, {name}, {kind}, {when}", Case(scenario, fault, 40)
        fault = failing_statements("full", after=False)
        yield f"statements, {name}, full for good", Case(scenario, fault, 40, for_good=True)
        for part in (False, True):
            for for_good in (False, True):
                kind = f"{'part of a write' if part else 'write'}{', for good' * for_good}"
                case = Case(scenario, failing_files(part=part), 30, for_good)
                yield f"files, {name}, {kind}", case
    yield "file sizes", Case(PLAIN, small_files(1000, 110_000), 100)
    for kind in KINDS:
        yield f"pool, {kind}", Case(PROCESSES, failing_pool(kind), 10)
    for error in (MemoryError, KeyboardInterrupt):
        for which in range(3):
            yield (
                f"lines, {error.__name__}, {which}",
                Case(PLAIN, failing_lines(error, *OURS), 1_200, False, LINES, (which, 3)),
            )
        for name, scenario in {"continued": CONTINUED, "exact": EXACT}.items():
            fault = failing_lines(error, *OURS)
            yield f"lines, {name}, {error.__name__}", Case(scenario, fault, 500, False, ONCE)
        modules = OURS if error is MemoryError else DRIVERS
        fault = failing_lines(error, *modules)
        yield f"lines, pool, {error.__name__}", Case(PROCESSES, fault, 80, False, ONCE)


CASES = dict(_cases())


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: thousands of journals are written."""
    memory = Path("/dev/shm")  # noqa: S108 (a folder of its own is made in it)
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loky, "ProcessPoolExecutor", Pool)


def attempt(case: Case, folder: Path, most: int | None) -> Trials:
    trials = Trials(case.scenario, folder, case.fault)
    points = case.points(trials.labels)
    if most is not None:  # evenly spread, with the first and the last
        points = np.unique(np.quantile(points, np.linspace(0, 1, most), method="nearest"))
    for at in points:
        try:
            trials.trial(int(at), for_good=case.for_good)
        except AssertionError as error:
            error.add_note(f"disturbed at point {at}: {trials.labels[at]}")
            raise
    assert trials.count == len(points) > 0
    return trials


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith((", 1", ", 2"))])
def test_a_failure_at_some_points_leaves_everything_right(name: str, folder: Path) -> None:
    attempt(CASES[name], folder, 6)


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_failure_at_every_point_leaves_everything_right(name: str, folder: Path) -> None:
    trials = attempt(CASES[name], folder, None)
    # Shown by pytest -rP.
    sys.stdout.write(f"{name}: {trials.count} points, {trials.completed} finished all the same\n")


def test_there_are_thousands_of_points() -> None:
    assert sum(case.least // case.part[1] for case in CASES.values()) >= 4_000


def test_what_is_left_open_is_noticed(folder: Path) -> None:
    before = holdings(folder)
    with (folder / "left").open("w"):
        assert not holdings(folder) <= before
    assert holdings(folder) <= before


def test_the_scenarios_are_what_they_say(folder: Path) -> None:
    trials = Trials(SKIPPING, folder, failing_statements("io", after=False))
    assert trials.expected.run.skipped == 1
    said = " ".join(map(str, trials.labels))
    assert "INSERT INTO evaluations (game, coalition, utility" in said
    assert "INSERT INTO evaluations (game, coalition, failure" in said


class LateJournal(Journal):
    """Holds each batch back until the next one comes."""

    held: tuple[Any, ...] = ()

    def append(self, *given: Any) -> None:
        if self.held:
            super().append(*self.held)
        self.held = given


class WrongJournal(Journal):
    """Writes one value that is not quite right."""

    def append(self, game: int, keys: Any, utilities: Any, replicates: Any = None) -> None:
        super().append(game, keys, [*utilities[:-1], utilities[-1] + 1e-12], replicates)


class ForgetfulJournal(Journal):
    """Does not find the last of the coalitions asked for."""

    def lookup(self, game: int, keys: Any) -> dict[bytes, float]:
        return super().lookup(game, keys[:-1])


@pytest.mark.parametrize(
    ("broken", "finding"),
    [
        (LateJournal, "more is lost"),
        (WrongJournal, "wrong value"),
        (ForgetfulJournal, "computed again"),
    ],
)
def test_a_broken_journal_is_found(
    broken: type[Journal], finding: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = Trials(PLAIN, folder, failing_statements("io", after=False))
    monkeypatch.setattr(plan, "Journal", broken)
    inserts = [at for at, label in enumerate(trials.labels) if "utility, repl" in label]
    with pytest.raises(AssertionError, match=finding):
        trials.trial(inserts[len(inserts) // 2])


def check_kills(folder: Path, kills: int, seed: int) -> None:
    """Kill runs at random moments."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.kills", str(folder), str(kills), str(seed)],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["killed"] >= kills
    # Runs were killed before there was much, in the middle, and near the end.
    assert min(report["held"]) < 40
    assert max(report["held"]) > 80


def test_runs_killed_at_some_moments_are_continued(folder: Path) -> None:
    check_kills(folder, 12, 1)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 7))
def test_runs_killed_at_many_moments_are_continued(folder: Path, seed: int) -> None:
    check_kills(folder, 40, seed)


def test_a_finished_run_outlives_its_journal(folder: Path) -> None:
    """The end cannot be recorded: the result is there, and says so."""
    trials = Trials(PLAIN, folder, failing_statements("full", after=False))
    last = max(at for at, label in enumerate(trials.labels) if label.startswith("UPDATE runs"))
    trials.trial(last)
    assert trials.finished is not None
    assert "disk is full" in trials.finished.notes[-1]


def test_a_commit_that_is_reported_as_failed_is_not_computed_again(folder: Path) -> None:
    """The same journal object finds what is in the file, though it was told that it is not."""
    trials = Trials(KEPT_OPEN, folder, failing_statements("io", after=True))
    inserts = [at for at, label in enumerate(trials.labels) if "utility, repl" in label]
    trials.trial(trials.labels.index("COMMIT", inserts[len(inserts) // 2]))
    assert trials.count == 1
    assert trials.finished is None  # the run was told of a failure
