"""Audits and comparisons: run a method many times, and check what it says about itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.arguments import known_names
from fairshapley._basics.types import FloatArray
from fairshapley.comparison.repeated_runs import Audit, Comparison, audit_runs
from fairshapley.draws import AllCoalitions
from fairshapley.errors import InputError
from fairshapley.estimators import Estimator
from fairshapley.estimators.exact import exact_values
from fairshapley.fairness.axioms import Premises
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.games import abilities
from fairshapley.games.game import Game
from fairshapley.randomness import root_seed
from fairshapley.runs.calls import estimate
from fairshapley.runs.plan import GameFacts
from fairshapley.runs.setup import evaluating, game_facts
from fairshapley.semivalues import parse_semivalue
from fairshapley.stopping import Budget, Rule

# 65 536 evaluations for a truth that is exact, and for the cases of which the axioms speak; larger
# games need a truth that is given, and cases that are declared.
EXACT_TRUTH_PLAYERS = 16


@known_names
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

    Up to 16 players every coalition is evaluated once, which shows the null, the interchangeable
    and the dominated players of which A1–A3 speak. In larger games they are those that the game
    declares: `null_players` or `n_active`, `identical_players` and `dominated_pairs`.

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
    repeats = checks.whole("repeats", repeats, least=2)
    run = {"budget": budget, "until": until, "semivalue": semivalue, "xi": xi}
    ground = _ground(game, truth, semivalue)
    return _audited(game, method, ground, repeats, seed, run, epsilon1=epsilon1, delta=delta)


class _Ground(NamedTuple):
    """The true values of a game, and the cases of the axioms in it."""

    truth: FloatArray
    premises: Premises


def _audited(
    game: Game,
    method: str | Estimator[Any, Any],
    ground: _Ground,
    repeats: int,
    seed: int | None,
    run: dict[str, Any],
    **judged: float,
) -> Audit:
    """Audit a method against a known truth; `run` are options of `estimate`."""
    first = root_seed(seed)
    runs = [
        estimate(game, method, seed=first + repeat, progress=False, **run)
        for repeat in range(repeats)
    ]
    return audit_runs(runs, ground.truth, xi=run["xi"], premises=ground.premises, **judged)


@known_names
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
    repeats = checks.whole("repeats", repeats, least=2)
    ground, first = _ground(game, truth, semivalue), root_seed(seed)
    run = {"budget": budget, "semivalue": semivalue, "xi": xi}
    judged = {"epsilon1": epsilon1, "delta": delta}
    return Comparison(
        {
            label: _audited(game, method, ground, repeats, first, run, **judged)
            for label, method in named.items()
        }
    )


def _labels(methods: Sequence[str | Estimator[Any, Any]]) -> dict[str, str | Estimator[Any, Any]]:
    """Return methods by name, or by configuration where a name would appear twice."""
    names = [method if isinstance(method, str) else method.name for method in methods]
    labels = [
        str(method) if names.count(name) > 1 else name
        for name, method in zip(names, methods, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise InputError("a method is given twice: compare each once, or label them with a dict")
    return dict(zip(labels, methods, strict=True))


def _ground(game: Game, truth: FloatArray | None, semivalue: str) -> _Ground:
    """Return the true values, given, known to the game or enumerated; and the cases."""
    facts = game_facts(game, needed=False)
    n_players, nulls = facts.n_players, facts.n_players - facts.n_active
    small = n_players <= EXACT_TRUTH_PLAYERS
    given = None if truth is None else checks.vector(truth, "the truth")
    if given is None and semivalue == "shapley":
        given = abilities.known_values(game)
    if given is None and not small:
        raise InputError(
            f"the true values of {n_players} players are not known",
            remedy="give {truth}, the values of a run with a hundred times the budget",
        )
    premises = _declared(game, facts)
    if small:
        with evaluating(game, facts) as evaluator:
            table = evaluator.evaluate(AllCoalitions(facts.n_active, nulls)).values
        if given is None:
            given = exact_values(table, parse_semivalue(semivalue), nulls)
        premises = premises | Premises.of_table(np.tile(table, 1 << nulls))
    assert given is not None  # noqa: S101 - found above, one way or the other
    return _Ground(given, premises)


def _declared(game: Game, facts: GameFacts) -> Premises:
    """Return the cases that a game declares."""
    return Premises(
        abilities.null_players(game), facts.identical_players, abilities.dominated_pairs(game)
    )
