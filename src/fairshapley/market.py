"""What payments hang on: delivering in two names, another metric, copies that are paid once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import FairShapleyError, GameError
from fairshapley.estimators import Estimator
from fairshapley.games.data import DataGame
from fairshapley.games.game import Game
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.records import PartValues, Split
from fairshapley.results.result import Result
from fairshapley.results.serialising import with_fields
from fairshapley.runs.calls import estimate
from fairshapley.semivalues import Shapley
from fairshapley.unions import OwenValue

# Splits take about as many evaluations as the run itself: of each player at least and at most so
# many pairs of coalitions, each with eight evaluations.
FEWEST_PAIRS, MOST_PAIRS = 4, 32
# The name of the scenario in which copies are paid once.
MERGED = "copies paid once"


def examined(
    result: Result,
    game: DataGame,
    others: Mapping[str, Game],
    method: str | Estimator[Any, Any] = "auto",
    *,
    semivalue: Any = "shapley",
    seed: int | None = 0,
    engine: Any = None,
) -> Result:
    """Return the result with what each player would get in two names, and with other games.

    Parameters
    ----------
    result
        The values of the game.
    game
        Players are groups of rows.
    others
        Games of the same players by name, for example with other metrics.
    method, semivalue, seed, engine
        Of the runs that value them, with as many evaluations as the result has.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> x, who = rng.normal(size=(40, 2)), np.repeat(["a", "b", "c", "d"], 10)
    >>> rows = x, np.where(x[:, 0] > 0, "yes", "no")
    >>> games = [
    ...     fs.games.DataGame(LogisticRegression(), rows, rows, metric, groups=who)
    ...     for metric in ("accuracy", "auc")
    ... ]
    >>> found = examined(fs.exact(games[0]), games[0], {"auc": games[1]})
    >>> len(found.run.splits), [scenario.name for scenario in found.run.scenarios]
    (4, ['auc'])
    """
    notes: list[str] = []
    scenarios: list[PartValues] = []
    method = "exact" if result.exact else method
    budget = None if result.exact else result.evaluations
    given: dict[str, Any] = {"budget": budget, "seed": seed, "engine": engine, "progress": False}
    for name, other in others.items():
        try:
            run = estimate(other, method, semivalue=semivalue, **given)
            scenarios.append(PartValues(name, run.values, _ends(run)))
        except FairShapleyError as error:
            notes.append(f"what {name} would pay is not known: {error}")
    if copies := [found.players for found in result.game.copies]:
        gone = [player for group in copies for player in group[1:]]
        kept = np.delete(np.arange(result.n_players), gone)
        once = _Without(game, kept)
        kind = semivalue.among(kept) if isinstance(semivalue, OwenValue) else semivalue
        run, values = estimate(once, method, semivalue=kind, **given), np.zeros(result.n_players)
        values[kept] = run.values
        for group in copies:
            values[list(group)] = values[group[0]] / len(group)
        scenarios.append(PartValues(MERGED, values, _ends(run)))
    splits: tuple[Split, ...] = ()
    if semivalue == "shapley" or isinstance(semivalue, Shapley):
        try:
            splits = split_players(game, result.evaluations)
        except GameError as error:
            notes.append(f"what players would get in two names is not known: {error}")
    found = with_fields(result, splits=splits, scenarios=tuple(scenarios))
    return replace(found, notes=(*result.notes, *notes))


def split_players(game: DataGame, evaluations: int) -> tuple[Split, ...]:
    """Return what each player would get more if its rows came in two names, half in each.

    The first name to join adds to fewer others than the player did, the second to more. Let d(S)
    be the mean utility of S with one half, less the mean of v(S) and v(S ∪ i). Both values sum to
    φ_i + Σ_s w(s) E[d(S) − d(R)], where R holds the other players outside S. The sizes s are below
    (n − 1)/2, and w(s) = 2(n − 1 − 2s)/(n(n + 1)).

    Parameters
    ----------
    game
        Players are groups of rows.
    evaluations
        How many evaluations to make, about.
    """
    n_players, generator = game.n_players, side_generator(root_seed(0), "halves of players")
    halved, halves = game.halved(generator)
    sizes = np.arange((n_players + 1 - n_players % 2) // 2 if n_players > 1 else 0)
    weights = 2 * (n_players - 1 - 2 * sizes) / (n_players * (n_players + 1))
    inner = float(weights[1:].sum())
    count = int(np.clip(evaluations // (8 * n_players), FEWEST_PAIRS, MOST_PAIRS)) if inner else 0
    splits = []
    for player in np.flatnonzero((halves >= 0).all(axis=1)).tolist():
        rest = np.delete(np.arange(n_players), player)
        sets = np.zeros((2, 1 + count, n_players), dtype=bool)
        for row in range(1, 1 + count):
            size = generator.choice(sizes[1:], p=weights[1:] / inner)
            sets[0, row, generator.permutation(rest)[:size]] = True
        sets[1] = ~sets[0]
        sets[..., player] = False
        gaps = _gaps(halved, halves, sets.reshape(-1, n_players), player).reshape(2, -1)
        first, *others = gaps[0] - gaps[1]
        earned, error = float(weights[0] * first), 0.0
        if others:
            earned += inner * float(np.mean(others))
            error = inner * float(np.std(others, ddof=1)) / np.sqrt(count)
        splits.append(Split(player, earned, error))
    return tuple(splits)


def _gaps(halved: DataGame, halves: IntArray, sets: BoolArray, player: int) -> FloatArray:
    """Return d(S) of each set of the other players."""
    base = np.zeros((len(sets), halved.n_players), dtype=bool)
    for half in halves.T:
        there = half >= 0
        base[:, half[there]] = sets[:, there]
    coalitions = np.repeat(base[None], 4, axis=0)
    coalitions[1][:, halves[player]] = True
    coalitions[2][:, halves[player, 0]] = True
    coalitions[3][:, halves[player, 1]] = True
    nobody, whole, one, other = halved(coalitions.reshape(-1, halved.n_players)).reshape(4, -1)
    gaps: FloatArray = (one + other - nobody - whole) / 2
    return gaps


class _Without:
    """The game on the coalitions of some players."""

    def __init__(self, game: Game, kept: IntArray) -> None:
        self.game, self.kept, self.n_players = game, kept, len(kept)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        whole = np.zeros((len(coalitions), self.game.n_players), dtype=bool)
        whole[:, self.kept] = coalitions
        return self.game(whole)


def _ends(result: Result) -> tuple[float, float]:
    return result.game.endpoints or (0.0, float(result.values.sum()))
