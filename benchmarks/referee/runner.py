"""Runs of methods on games, each kept in a file as soon as it is done."""

from __future__ import annotations

import json
import re
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from benchmarks.contenders import LeftOutError, Solve, Task
from benchmarks.referee.games import BUDGETS, Family, RefereeGame
from benchmarks.referee.methods import PEERS, Method, methods, solvers

KEPT = Path(__file__).parents[2] / ".benchmarks" / "referee"


@dataclass(frozen=True)
class Run:
    """One run of one method on one game, or why there is none."""

    version: str
    game: str
    per_player: float
    repeat: int
    evaluations: int = 0
    seconds: float = 0.0
    values: tuple[float, ...] = ()
    left_out: str = ""

    @property
    def key(self) -> tuple[str, float, int]:
        """What it was, but for the method."""
        return self.game, self.per_player, self.repeat


class Store:
    """The kept runs of one method on one family, a line of JSON each."""

    def __init__(self, folder: Path, family: str, method: Method) -> None:
        self.path = folder / family / f"{re.sub('[^a-z0-9]+', '-', method.name.lower())}.jsonl"
        self.version = method.version
        self.runs: dict[tuple[str, float, int], Run] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                # A line that a crash cut short is not there.
                if line.endswith("}"):
                    run = Run(**json.loads(line))
                    if run.version == self.version:
                        self.runs[run.key] = run

    def add(self, run: Run) -> None:
        """Keep a run."""
        self.runs[run.key] = run
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(run)) + "\n")

    def forget(self) -> None:
        """Begin anew."""
        self.runs.clear()
        self.path.unlink(missing_ok=True)

    def left_out(self, game: str, per_player: float) -> str:
        """Why the method has no runs there; empty when nothing is known against it."""
        return next(
            (
                run.left_out
                for run in self.runs.values()
                if run.left_out and (run.game, run.per_player) == (game, per_player)
            ),
            "",
        )


@dataclass(frozen=True)
class Plan:
    """What to run."""

    methods: tuple[str, ...]
    repeats: int
    limit: float
    """Seconds for a method on a game at a budget: no further repeat begins after them"""
    budgets: tuple[float, ...] = BUDGETS
    renew: tuple[str, ...] = ()
    kept: Path = KEPT
    games: int | None = None
    """The first games of a family; None for all"""


def run(families: Sequence[Family], plan: Plan, *, workers: int = 1) -> None:
    """Run what is not kept yet; the processes share the families."""
    for peer in PEERS:
        if any(name.startswith(f"{peer.name} ") for name in plan.methods):
            peer.python()  # once, before several processes would make it
    if workers == 1:
        _run_families(families, plan)
        return
    shares = [families[start::workers] for start in range(workers)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(_run_families, shares, [plan] * workers))


def _run_families(families: Sequence[Family], plan: Plan) -> None:
    with solvers(plan.methods) as solve:
        for family in families:
            _run_family(family, plan, solve)


def _run_family(family: Family, plan: Plan, solve: Mapping[str, Solve]) -> None:
    began = time.perf_counter()
    known = methods()
    stores = {name: Store(plan.kept, family.name, known[name]) for name in plan.methods}
    for name in plan.renew:
        if name in stores:
            stores[name].forget()
    done = 0
    for played in family.load()[: plan.games]:
        for name, store in stores.items():
            for per_player in plan.budgets:
                done += _repeat(played, per_player, solve[name], store, plan)
    seconds = time.perf_counter() - began
    print(f"{family.name}: {done} runs, {seconds:.0f} s", file=sys.stderr, flush=True)


def seed_of(game: str, per_player: float, repeat: int) -> int:
    """The seed of a run: the same for all methods, another for each game, budget and repeat.

    With one seed for all games the same lucky coalitions would serve all of them, and what looks
    like many runs would be one.
    """
    return zlib.crc32(f"{game} {per_player:g} {repeat}".encode()) % 2**31


def _repeat(played: RefereeGame, per_player: float, solve: Solve, store: Store, plan: Plan) -> int:
    """The repeats that are missing; how many there were."""
    budget = played.budget(per_player)
    if budget is None or store.left_out(played.name, per_player):
        return 0
    began, done = time.perf_counter(), 0
    for repeat in range(plan.repeats):
        if (played.name, per_player, repeat) in store.runs:
            continue
        if time.perf_counter() - began > plan.limit:
            break
        done += 1
        store.add(_one(played, per_player, budget, repeat, solve, store.version))
        if store.left_out(played.name, per_player):
            break
    return done


def _one(
    played: RefereeGame, per_player: float, budget: int, repeat: int, solve: Solve, version: str
) -> Run:
    head = (version, played.name, per_player, repeat)
    seed = seed_of(*head[1:])
    try:
        outcome = solve(Task(played.game, played.name, budget, seed, played.xi))
    except LeftOutError as reason:
        return Run(*head, left_out=str(reason)[:200] or "no reason given")
    if outcome.evaluations > budget:
        return Run(*head, left_out=f"spends {outcome.evaluations} evaluations of {budget}")
    # Six digits: errors of a millionth of a value are of no account.
    values = tuple(float(f"{value:.7g}") for value in outcome.values)
    return Run(*head, outcome.evaluations, round(outcome.seconds, 6), values)
