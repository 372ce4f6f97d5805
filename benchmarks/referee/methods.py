"""Who is judged: ours in any form, the peers, and a plain Gaussian process beside them.

A further form of ours is one line of `OURS`.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fairshapley as fs
from benchmarks import contenders
from benchmarks.contenders import Counted, LeftOutError, Outcome, Solve, Task
from benchmarks.peers.environment import PYDVL, SHAPIQ, Peer
from benchmarks.referee import process
from benchmarks.referee.games import BUDGETS
from fairshapley.runs.calls import resolve_method

DEFAULT = "default"
"""What a user gets who names no method: everything is compared with it"""
CONTROL = "control: default, other seeds"
PROCESS = "Gaussian process, extremes first"

OURS: dict[str, str | fs.estimators.Estimator[Any, Any]] = {
    DEFAULT: "auto",
    "adjusted": fs.RegressionAdjusted(),
    "kernel": fs.UnbiasedKernelSHAP(),
    "mc": fs.MonteCarlo(),
    "mc antithetic": fs.MonteCarlo(antithetic=True),
}
PEERS: dict[Peer, tuple[str, ...]] = {
    SHAPIQ: (
        "KernelSHAP paired",
        "UnbiasedKernelSHAP paired",
        "LeverageSHAP",
        "RegressionMSR",
        "RegressionMSR linear",
        "RegressionMSR 10 folds",
        "OddSHAP",
        "ProxySHAP",
        "PolySHAP order 2",
        "PolySHAP order 3",
        "ShaplEIG",
        "Permutation",
        "SVARM",
    ),
    PYDVL: ("permutation", "antithetic"),
}
# ShaplEIG fits a Gaussian process after every evaluation: 60 take 14 s, 120 take 44 s.
MOST_EVALUATIONS = {"shapiq ShaplEIG": 100}
# Beyond the seeds of all runs.
OTHER_SEEDS = 2**31
PARTS = ("fairshapley.estimators", "fairshapley.draws")
"""What an estimator consists of"""


@dataclass(frozen=True)
class Method:
    """A method, and what identifies the code that it runs."""

    name: str
    version: str
    group: str
    """"ours", "shapiq", "pydvl" or "process\""""


def methods() -> dict[str, Method]:
    """All methods by name."""
    found = [Method(name, _version(one), "ours") for name, one in OURS.items()]
    found.append(Method(CONTROL, _version(OURS[DEFAULT]), "ours"))
    found.append(Method(PROCESS, _digest("", {Path(process.__file__)}), "process"))
    found += [
        Method(f"{peer.name} {name}", peer.requirements[0], peer.name)
        for peer, names in PEERS.items()
        for name in names
    ]
    return {method.name: method for method in found}


@contextmanager
def solvers(wanted: Collection[str]) -> Iterator[dict[str, Solve]]:
    """The methods that are wanted; the peers' processes end with the block."""
    own = {name: contenders.ours(one) for name, one in OURS.items()}
    own[CONTROL] = contenders.ours(OURS[DEFAULT], first_seed=OTHER_SEEDS)
    own[PROCESS] = _process
    peers = {
        peer: [name for name in names if f"{peer.name} {name}" in wanted]
        for peer, names in PEERS.items()
    }
    with contenders.participants(
        {name: solve for name, solve in own.items() if name in wanted},
        {peer: names for peer, names in peers.items() if names},
    ) as found:
        for name in MOST_EVALUATIONS.keys() & found.keys():
            found[name] = _limited(found[name], MOST_EVALUATIONS[name])
        yield found


def _limited(solve: Solve, most: int) -> Solve:
    """A method that is left out where it takes too long."""

    def limited(task: Task) -> Outcome:
        if task.budget > most:
            raise LeftOutError(f"takes too long with more than {most} evaluations")
        return solve(task)

    return limited


def _process(task: Task) -> Outcome:
    if task.budget // 2 > process.MOST_PAIRS:
        raise LeftOutError(f"takes too long with more than {process.MOST_PAIRS} pairs")
    counted = Counted(task.game)
    began = time.perf_counter()
    values = process.estimate(counted, task.budget, task.seed)
    seconds = time.perf_counter() - began - counted.seconds
    return Outcome(values, None, None, len(counted.asked), seconds)


@cache
def _version(method: str | fs.estimators.Estimator[Any, Any]) -> str:
    """A digest of the code that a method runs, and of its configuration.

    An estimator is its module and those that it imports, as far as they belong to estimators and
    draws; a name such as "auto" is the estimators that it stands for, and what chooses them.
    """
    if not isinstance(method, str):
        return _digest(repr(method), _imported(type(method).__module__))
    chosen = [
        resolve_method(method, n, fs.Budget(int(per_player * n)), None, "raise")
        for n in (10, 100, 10_000)
        for per_player in BUDGETS
    ]
    configuration = [method, inspect.getsource(resolve_method), *map(repr, chosen)]
    sources = [_imported(type(one).__module__) for one in chosen]
    return _digest("\n".join(configuration), set().union(*sources))


def _digest(configuration: str, sources: set[Path]) -> str:
    """Comments and docstrings do not count."""
    digest = hashlib.sha256(configuration.encode())
    for path in sorted(sources):
        digest.update(_code(path))
    return digest.hexdigest()[:12]


@cache
def _code(path: Path) -> bytes:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.dump(tree).encode()


def _source(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _imported(start: str) -> set[Path]:
    """The files of a module and of those it imports, within estimators and draws."""
    waiting, seen, files = [start], {start}, set()
    while waiting:
        path = _source(waiting.pop())
        # A package's own file names all that is in it, needed or not.
        if path is None or path.name == "__init__.py":
            continue
        files.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            names = {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
            new = {name for name in names if name.startswith(PARTS)} - seen
            waiting += new
            seen |= new
    return files
