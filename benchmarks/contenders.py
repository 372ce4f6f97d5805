"""A method behind one call, whoever wrote it: ours in this process, a peer's in its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import fairshapley as fs
from benchmarks.peers.environment import Peer, PeerError, PeerProcess
from fairshapley.games import Game

Floats = NDArray[np.float64]
PeerMethods = Mapping[Peer, Sequence[str]]


class LeftOutError(Exception):
    """A method cannot take part at this budget; the text says why."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run of one method."""

    values: Floats
    half_widths: Floats | None
    """The coverage of 95 % intervals, where the method gives standard errors"""
    reported: Floats | None
    """The fidelity that the method reports for each player"""
    evaluations: int
    seconds: float
    """The method's own, without the game's"""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be solved."""

    game: Game
    case: str
    budget: int
    seed: int
    xi: float


class Solve(Protocol):
    """A method."""

    def __call__(self, task: Task) -> Outcome: ...


class Counted:
    """A game that keeps the time it takes and the coalitions that it was asked for."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.n_players = game.n_players
        self.seconds = 0.0
        self.asked: set[bytes] = set()
        self.fingerprint = "benchmark"
        self.identical_players: tuple[tuple[int, int], ...] = ()

    def __call__(self, coalitions: NDArray[np.bool_]) -> Floats:
        began = time.perf_counter()
        values = self.game(coalitions)
        self.asked.update(row.tobytes() for row in np.packbits(coalitions, axis=1))
        self.seconds += time.perf_counter() - began
        return values


def ours(
    estimator: str | fs.estimators.Estimator[Any, Any], *, told: bool = False, first_seed: int = 0
) -> Solve:
    """Return one of ours; `told` of the identical players that the game declares, or not."""

    def solve(task: Task) -> Outcome:
        counted = Counted(task.game)
        if told:
            counted.identical_players = getattr(task.game, "identical_players", ())
            if not counted.identical_players:
                raise LeftOutError("the game declares no identical players")
        began = time.perf_counter()
        try:
            run = fs.estimate(
                counted,
                estimator,
                budget=task.budget,
                seed=first_seed + task.seed,
                xi=task.xi,
                progress=False,
            )
        except fs.errors.BudgetError as error:
            raise LeftOutError(str(error)) from None
        seconds = time.perf_counter() - began - counted.seconds
        degrees = np.maximum(run.counts - 1, 1)
        half_widths = student.ppf(0.975, degrees) * run.standard_errors
        return Outcome(run.values, half_widths, run.fidelity(), len(counted.asked), seconds)

    return solve


def theirs(process: PeerProcess, method: str) -> Solve:
    """Return a method of a peer."""

    def solve(task: Task) -> Outcome:
        try:
            answer = process.solve(
                task.game,
                name=task.case,
                n_players=task.game.n_players,
                method=method,
                budget=task.budget,
                seed=task.seed,
            )
        except PeerError as error:
            raise LeftOutError(str(error).strip().splitlines()[-1]) from None
        values = np.array(answer["values"])
        if not np.isfinite(values).all():
            raise LeftOutError("gives values that are not finite")
        return Outcome(values, None, None, answer["evaluations"], answer["seconds"])

    return solve


@contextmanager
def participants(own: Mapping[str, Solve], peers: PeerMethods) -> Iterator[dict[str, Solve]]:
    """Yield all methods by name; the peers' processes end with the block."""
    solvers = dict(own)
    processes = []
    try:
        for peer, methods in peers.items():
            process = PeerProcess(peer)
            processes.append(process)
            for method in methods:
                solvers[f"{peer.name} {method}"] = theirs(process, method)
        yield solvers
    finally:
        for process in processes:
            process.close()
