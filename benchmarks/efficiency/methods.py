"""Who takes part: our estimators and the peers' methods, behind one call."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import fairshapley as fs
from benchmarks.efficiency.peers.environment import PYDVL, SHAPIQ, PeerError, PeerProcess
from fairshapley.games import Game

Floats = NDArray[np.float64]


class LeftOutError(Exception):
    """A method cannot take part at this budget; the text says why."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run of one method."""

    values: Floats
    half_widths: Floats | None
    """Of 95 % intervals, where the method gives standard errors"""
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


# What `estimate` gives on a game that declares its identical players; all others are not told.
TOLD = "adjusted, told of duplicates"
OURS: dict[str, fs.Estimator[Any, Any]] = {
    "adjusted": fs.RegressionAdjusted(),
    TOLD: fs.RegressionAdjusted(),
    "adjusted, pairs only": fs.RegressionAdjusted(units="pairs"),
    "leverage": fs.LeverageSHAP(),
    "svarm": fs.StratifiedSVARM(),
    "kernel": fs.UnbiasedKernelSHAP(),
    "mc": fs.MonteCarlo(),
    "mc antithetic": fs.MonteCarlo(antithetic=True),
    "tmc": fs.TruncatedMonteCarlo(),
    "stratified": fs.Stratified(),
    "owen": fs.Owen(),
    "owen antithetic": fs.Owen(antithetic=True),
    "sobol": fs.Sobol(),
    "orthogonal": fs.Orthogonal(),
    "gae": fs.GreedyActive(),
    "gae honest": fs.GreedyActive(honest=True),
}
PEERS = {
    SHAPIQ: (
        "KernelSHAP paired",
        "UnbiasedKernelSHAP paired",
        "SVARM",
        "Permutation",
        "Stratified",
        "Owen",
        "kADDSHAP",
        "ProxySPEX",
    ),
    PYDVL: ("permutation", "antithetic", "TMC", "Owen", "group testing"),
}


class Timed:
    """A game that keeps the time it takes."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.n_players = game.n_players
        self.seconds = 0.0
        self.fingerprint = "benchmark"
        self.identical_players: tuple[tuple[int, int], ...] = ()

    def __call__(self, coalitions: NDArray[np.bool_]) -> Floats:
        began = time.perf_counter()
        values = self.game(coalitions)
        self.seconds += time.perf_counter() - began
        return values


def _ours(estimator: fs.Estimator[Any, Any], *, told: bool = False) -> Solve:
    def solve(task: Task) -> Outcome:
        timed = Timed(task.game)
        if told:
            timed.identical_players = getattr(task.game, "identical_players", ())
            if not timed.identical_players:
                raise LeftOutError("the game declares no identical players")
        began = time.perf_counter()
        try:
            run = fs.estimate(
                timed, estimator, budget=task.budget, seed=task.seed, xi=task.xi, progress=False
            )
        except fs.BudgetError as error:
            raise LeftOutError(str(error)) from None
        seconds = time.perf_counter() - began - timed.seconds
        degrees = np.maximum(run.counts - 1, 1)
        half_widths = student.ppf(0.975, degrees) * run.standard_errors
        return Outcome(run.values, half_widths, run.fidelity(), run.evaluations, seconds)

    return solve


def _theirs(process: PeerProcess, method: str) -> Solve:
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
def participants(*, peers: bool = True) -> Iterator[dict[str, Solve]]:
    """All methods by name; the peers' processes end with the block."""
    solvers = {name: _ours(estimator, told=name == TOLD) for name, estimator in OURS.items()}
    processes = []
    try:
        for peer, methods in PEERS.items() if peers else ():
            process = PeerProcess(peer)
            processes.append(process)
            for method in methods:
                solvers[f"{peer.name} {method}"] = _theirs(process, method)
        yield solvers
    finally:
        for process in processes:
            process.close()
