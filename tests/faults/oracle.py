"""Runs that are disturbed once, and what must hold afterwards.

A scenario is a small run with a journal. A trial disturbs it at one point, reads with a connection
of its own what the journal holds then, and runs the same call again. The disturbed run must give
the right result or raise; the second one must give the bits of a run that nothing disturbed, and
must not ask the game for a coalition that the journal held.
"""

import contextlib
import copy
import gc
import math
import shutil
import signal
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairshapley as fs
from fairshapley._basics.bits import keys as pack
from fairshapley.runs.loop import Run

# What a disturbed run may raise; anything else is a defect of the code that met the fault.
ALLOWED = (fs.FairShapleyError, MemoryError, KeyboardInterrupt)


def utility(key: bytes) -> float:
    """The value of a coalition; no two of a small game have the same."""
    return math.sin(1.0 + int.from_bytes(key, "little"))


class CountedGame:
    """A game that notes every coalition it is asked for.

    `refuses` is a coalition whose utility raises, and takes its whole batch with it.
    """

    def __init__(self, n_players: int, refuses: bytes | None = None) -> None:
        self.n_players = n_players
        self.fingerprint = f"faults of {n_players} players"
        self.refuses = refuses
        self.calls: list[bytes] = []
        self.batches: list[list[bytes]] = []

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        keys = pack(coalitions)
        if self.refuses in keys:
            raise ArithmeticError("no utility for this one")
        self.calls += keys
        self.batches.append(keys)
        return np.array([utility(key) for key in keys])

    def __reduce__(self) -> tuple[Any, ...]:
        # What an engine sends to processes that are none comes back as the game itself.
        GAMES[id(self)] = self
        return _same_game, (id(self),)


GAMES: dict[int, CountedGame] = {}


def _same_game(number: int) -> CountedGame:
    return GAMES[number]


class Points:
    """Counts the places where a run can fail, and says which one does.

    Parameters
    ----------
    at
        The place, from 0 on; None only counts.
    for_good
        From this place on everything fails, as on a disk that stays full.
    """

    def __init__(self, at: int | None = None, *, for_good: bool = False) -> None:
        self.at = at
        self.for_good = for_good
        self.labels: list[Any] = []
        self.armed = True

    def fails(self, label: Any = None) -> bool:
        """Whether the operation about to happen, or that has just happened, is to fail."""
        if not self.armed:
            return False
        here = len(self.labels)
        self.labels.append(label)
        return self.at is not None and (here == self.at or (self.for_good and here > self.at))


Fault = Callable[[Points], AbstractContextManager[None]]
Engine = Callable[[], Any]


@dataclass
class Scenario:
    """A run to be disturbed.

    The last `in_flight` batches may be computed and not yet journalled when it fails; `begun`
    evaluations are in the journal already, and `verify` of them are computed again first;
    `kept_open` uses one Journal object for the disturbed run and for the one after it.
    """

    n_players: int = 9
    options: dict[str, Any] = field(default_factory=lambda: {"method": "mc", "budget": 70})
    engine: Engine = lambda: fs.SerialEngine(chunk_size=7)
    in_flight: int = 1
    begun: int = 0
    verify: int = 0
    kept_open: bool = False
    refuses: bytes | None = None
    opened: fs.Journal | None = None

    def game(self) -> CountedGame:
        return CountedGame(self.n_players, self.refuses)

    def call(self, game: CountedGame, journal: Any, **options: Any) -> fs.Result:
        given = {"seed": 3, "progress": False, **self.options, **options}
        return fs.estimate(game, journal=journal, engine=self.engine(), **given)

    def first_call(self, game: CountedGame, path: Path, stack: ExitStack) -> fs.Result:
        """The call that is disturbed; a journal that it opens stays open in the stack."""
        self.opened = None
        self.opened = stack.enter_context(fs.Journal(path)) if self.kept_open else None
        return self.call(game, self.opened or path, verify=self.verify)

    def prepare(self, folder: Path) -> Path:
        """A journal as it is before the disturbed run."""
        path = folder / "j.db"
        if self.begun:
            self.call(self.game(), path, budget=self.begun)
        return path


def plain(result: fs.Result) -> dict[str, Any]:
    """All of a result but what depends on time, on trouble and on what was known before."""
    left_out = ("seconds", "created", "notes", "computed", "journal_digest")
    return {**result.to_dict(), **dict.fromkeys(left_out, 0)}


def snapshot(estimate: Any, profile: Any) -> tuple[Any, ...]:
    """What a partial result says, so that it can be compared."""
    return (
        np.nan_to_num(estimate.values, nan=-9.0).tobytes(),
        estimate.counts.tobytes(),
        tuple(map(tuple, profile)),
    )


def journalled(path: Path) -> dict[bytes, float]:
    """The utilities in the journal, read by SQLite alone from a copy of its files."""
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            if not file.name.endswith("-shm"):  # it is made again from the log
                shutil.copy(file, folder)
        copied = Path(folder) / path.name
        if not copied.exists():
            return {}
        with contextlib.closing(sqlite3.connect(copied)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                return {}
            known = "SELECT coalition, utility FROM evaluations WHERE utility IS NOT NULL"
            return dict(connection.execute(known).fetchall())


def holdings(folder: Path) -> set[object]:
    """What a run takes for a time and must give back: files in its folder, threads, a handler.

    Other tests may leave threads and sockets that end meanwhile.
    """
    held: set[object] = {signal.getsignal(signal.SIGINT), *threading.enumerate()}
    descriptors = Path("/proc/self/fd")
    for one in descriptors.iterdir() if descriptors.exists() else ():
        with contextlib.suppress(OSError):  # closed since it was listed
            if str(folder) in (target := str(one.readlink())):
                held.add((one.name, target))
    return held


class Trials:
    """All that is compared with: the undisturbed run, and its state after every round."""

    def __init__(self, scenario: Scenario, folder: Path, fault: Fault) -> None:
        self.scenario = scenario
        self.folder = folder
        self.fault = fault
        self.count = 0
        self.completed = 0
        self.finished: fs.Result | None = None
        """What the disturbed run gave, if it did not raise"""
        self.legal: set[Any] = set()
        self.template = folder / "template"
        self.template.mkdir()
        scenario.prepare(self.template)
        with self._home() as journal:
            self.expected = self._watched(journal)
        dry = Points()
        with self._home() as journal, ExitStack() as stack:
            # The points of the run itself: what closes the journal afterwards is not counted.
            with fault(dry):
                again = scenario.first_call(scenario.game(), journal, stack)
            dry.armed = False
        assert plain(again) == plain(self.expected), "the harness itself disturbs the run"
        self.labels = dry.labels
        gc.freeze()  # what is there now need not be looked at after every trial

    def _watched(self, journal: Path) -> fs.Result:
        """The undisturbed run; every state that a partial result may show is kept."""
        original = Run._round

        def look(run: Run) -> None:
            profile = copy.deepcopy(run.recorder).records()["profile"]
            self.legal.add(snapshot(run.estimate(), profile))

        def watched(run: Run, *arguments: Any) -> str | None:
            look(run)
            said = original(run, *arguments)
            look(run)
            return said

        nothing = np.full(self.scenario.n_players, np.nan)
        self.legal.add((np.nan_to_num(nothing, nan=-9.0).tobytes(), bytes(8 * len(nothing)), ()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Run, "_round", watched)
            return self.scenario.call(self.scenario.game(), journal)

    @contextlib.contextmanager
    def _home(self) -> Iterator[Path]:
        """A folder of its own, also for temporary files, which must be gone afterwards."""
        home = self.folder / "home"
        shutil.copytree(self.template, home)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(home))
            yield home / "j.db"
        gc.collect()
        left = sorted(file.name for file in home.iterdir())
        assert left == ["j.db"], f"left behind: {left}"
        shutil.rmtree(home)

    def trial(self, at: int, *, for_good: bool = False) -> None:
        """Disturb the run at one point, then check everything."""
        before = holdings(self.folder)
        with self._home() as path, ExitStack() as stack:
            points = Points(at, for_good=for_good)
            game, held = self.scenario.game(), journalled(path)
            with self.fault(points):
                partial = self._disturbed(game, path, stack)
            points.armed = False
            assert len(points.labels) > at, "the point was never reached"
            kept = journalled(path)
            assert held.items() <= kept.items(), "journalled evaluations were lost"
            again = held.keys() & set(game.calls)
            assert len(again) <= self.scenario.verify, "journalled evaluations were computed again"
            flying = game.batches[-self.scenario.in_flight :] if self.finished is None else []
            lost = set(game.calls) - kept.keys()
            assert lost <= set().union(*flying), "more is lost than was in flight"
            if partial is not None:
                assert self._is_legal(partial), "a partial result is wrong"
            for key, value in kept.items():
                assert value == utility(key), "a wrong value is journalled"
            self._again(path, self.scenario.opened or path, kept)
        gc.collect()
        assert holdings(self.folder) <= before, "files, threads or a handler of signals are left"
        self.count += 1

    def _disturbed(self, game: CountedGame, path: Path, stack: ExitStack) -> fs.Result | None:
        """The run that fails; what it gives back as a partial result."""
        self.finished = None
        try:
            result = self.scenario.first_call(game, path, stack)
        except ALLOWED as error:
            return getattr(error, "partial", None)
        self._check_right(result)
        self.finished = result
        self.completed += 1
        return None

    def _check_right(self, result: fs.Result) -> None:
        assert plain(result) == plain(self.expected), "a wrong result"

    def _is_legal(self, result: fs.Result) -> bool:
        return snapshot(result, result.run.profile) in self.legal

    def _again(self, path: Path, journal: Any, kept: dict[bytes, float]) -> None:
        """The second run, with the journal object of the first where it stayed open."""
        game = self.scenario.game()
        self._check_right(self.scenario.call(game, journal))
        assert len(set(game.calls)) == len(game.calls), "a coalition was computed twice"
        assert not kept.keys() & set(game.calls), "journalled evaluations were computed again"
        assert kept.items() <= journalled(path).items(), "journalled evaluations were lost"
        with fs.Journal(path) as opened:
            results = [run.result for run in opened.runs() if run.result is not None]
        for result in map(fs.Result.from_dict, results):
            assert self._is_legal(result), "a partial result in the journal is wrong"
