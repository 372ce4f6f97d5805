"""Audits and comparisons: run a method many times, and check what it says about itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.estimators import Estimator
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.games.game import Game
from fairshapley.randomness import root_seed
from fairshapley.results.repeated_runs import Audit, Comparison, audit_runs
from fairshapley.runs.calls import estimate, exact
from fairshapley.runs.setup import check_game
from fairshapley.stopping import Budget, Rule

# 65 536 evaluations for a truth that is exact; larger games need one that is given.
EXACT_TRUTH_PLAYERS = 16


def audit(
    game: Game,
    method: str | Estimator[Any, Any],
    truth: FloatArray | None = None,
    *,
    budget: int | Budget | None,
    repeats: int,
    xi: float = 1e-3,
    seed: int | None = 0,
    semivalue: str = "shapley",
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
    until: Rule | None = None,
) -> Audit:
    """Repeat a run with different seeds and compare with the truth.

    Parameters
    ----------
    game, method, budget, until, semivalue, xi
        As in `estimate`.
    truth
        The true values. None takes the game's own `shapley_values`, or computes them for up to 16
        players.
    repeats
        The number of runs, with the seeds `seed`, `seed` + 1, …
    seed
        The first seed.
    epsilon1, delta
        The tolerance at which fairness is judged and certificates are asked for.

    Examples
    --------
    >>> import fairshapley as fs
    >>> report = audit(fs.games.SumOfUnanimity(12, seed=1), "mc", budget=300, repeats=20)
    >>> report.repeats, 0.85 < report.coverage < 1
    (20, True)
    """
    if not isinstance(repeats, int | np.integer) or repeats < 2:
        raise InputError(f"repeats must be a whole number of at least 2, not {repeats!r}")
    phi = _truth(game, truth, semivalue)
    first = root_seed(seed)
    runs = [
        estimate(
            game,
            method,
            budget=budget,
            until=until,
            semivalue=semivalue,
            xi=xi,
            seed=first + repeat,
            progress=False,
        )
        for repeat in range(repeats)
    ]
    dominated = getattr(game, "dominated_pairs", ())
    return audit_runs(runs, phi, xi=xi, epsilon1=epsilon1, delta=delta, dominated_pairs=dominated)


def compare(
    game: Game,
    methods: Sequence[str | Estimator[Any, Any]] | dict[str, str | Estimator[Any, Any]],
    *,
    budget: int | Budget,
    repeats: int,
    truth: FloatArray | None = None,
    seed: int | None = 0,
    xi: float = 1e-3,
    semivalue: str = "shapley",
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
) -> Comparison:
    """Audit several methods on one game, with the same budget and the same seeds.

    Parameters
    ----------
    methods
        Names or estimators; a dict gives them labels of your own.
    game, budget, repeats, truth, seed, xi, semivalue, epsilon1, delta
        As in `audit`.
    """
    if not methods:
        raise InputError("give at least one method to compare")
    named = methods if isinstance(methods, dict) else _labels(methods)
    phi, first = _truth(game, truth, semivalue), root_seed(seed)
    audits = {
        label: audit(
            game,
            method,
            phi,
            budget=budget,
            repeats=repeats,
            xi=xi,
            seed=first,
            semivalue=semivalue,
            epsilon1=epsilon1,
            delta=delta,
        )
        for label, method in named.items()
    }
    return Comparison(audits)


def _labels(methods: Sequence[str | Estimator[Any, Any]]) -> dict[str, str | Estimator[Any, Any]]:
    """Methods by name, or by configuration where a name would appear twice."""
    names = [method if isinstance(method, str) else method.name for method in methods]
    labels = [
        str(method) if names.count(name) > 1 else name
        for name, method in zip(names, methods, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise InputError("a method is given twice: compare each once, or label them with a dict")
    return dict(zip(labels, methods, strict=True))


def _truth(game: Game, truth: FloatArray | None, semivalue: str) -> FloatArray:
    """The values to compare with: given, known to the game, or computed where that is cheap."""
    n_players = check_game(game)
    if truth is not None:
        return checks.vector(truth, "the truth")
    known = getattr(game, "shapley_values", None)
    if known is not None and semivalue == "shapley":
        return np.asarray(known, dtype=np.float64)
    if n_players <= EXACT_TRUTH_PLAYERS:
        return exact(game, semivalue).values
    raise InputError(
        f"the true values of {n_players} players are not known: give truth=, for example "
        "fs.estimate(game, 'mc', budget=…).values with a budget a hundred times that of the audit"
    )
