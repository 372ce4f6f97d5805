"""Exact values by enumeration of all coalitions: O(n·2ⁿ) after the evaluations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.draws import AllCoalitions, ListedCoalitions
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.games.game import MAX_TABLE_PLAYERS
from fairshapley.semivalues import Semivalue, Shapley, log_binomial
from fairshapley.unions import OwenValue

# Each further player doubles memory and time.
MAX_EXACT_PLAYERS = MAX_TABLE_PLAYERS

Enumerated: TypeAlias = AllCoalitions | ListedCoalitions


def exact_values(table: FloatArray, semivalue: Semivalue, n_nulls: int = 0) -> FloatArray:
    """Return the values of the game with the 2**n utilities `table` (player 0 is the lowest bit).

    Marginal contributions are formed first and weighted after, so that a null player's value is
    exactly 0.

    Parameters
    ----------
    table
        All utilities, the index a bit mask.
    semivalue
        The semivalue.
    n_nulls
        Null players that the game has besides; their values are appended.

    Examples
    --------
    >>> from fairshapley.semivalues import Shapley
    >>> exact_values(np.array([0.0, 1.0, 2.0, 5.0]), Shapley())
    array([2., 3.])
    """
    n_players = table.size.bit_length() - 1
    if isinstance(semivalue, OwenValue):
        inner = semivalue.among(range(n_players))
        listed = table[inner.coalitions() @ (1 << np.arange(n_players))]
        return np.append(owen_values(listed, inner), np.zeros(n_nulls))
    weights = coalition_weights(semivalue, n_players, n_nulls)
    # Sizes of the coalitions without one player; the same array serves every player.
    sizes = np.bitwise_count(np.arange(table.size // 2, dtype=np.uint64))
    each = weights[sizes]
    values = np.zeros(n_players + n_nulls)
    for player in range(n_players):
        split = table.reshape(-1, 2, 1 << player)
        marginals = split[:, 1] - split[:, 0]
        values[player] = np.sum(each * marginals.ravel())
    return values


def owen_values(utilities: FloatArray, owen: OwenValue) -> FloatArray:
    """Return the Owen values of the game with these utilities of `owen.coalitions()`.

    The members of a union share by the Shapley values of a game of their own: the worth of a part
    of them is what it adds to the other unions, a mean over sets of these.

    Examples
    --------
    >>> owen = OwenValue(("north", "north", "south"))
    >>> owen_values(np.array([0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 6.0]), owen)
    array([0., 3., 3.])
    """
    each = coalition_weights(Shapley(), owen.n_unions, 0)
    weights = each[np.bitwise_count(np.arange(1 << (owen.n_unions - 1), dtype=np.uint64))]
    values = np.zeros(len(owen.unions))
    for players, at in zip(owen.members, owen.positions(), strict=True):
        values[players] = exact_values(weights @ utilities[at], Shapley())
    return values


def coalitions_needed(n_players: int, semivalue: Semivalue | None = None) -> int:
    """Return how many coalitions exact values need.

    Examples
    --------
    >>> coalitions_needed(6), coalitions_needed(6, OwenValue(("a", "a", "a", "b", "b", "b")))
    (64, 28)
    """
    return semivalue.n_coalitions if isinstance(semivalue, OwenValue) else 1 << n_players


def coalition_weights(semivalue: Semivalue, n_players: int, n_nulls: int) -> FloatArray:
    """Return the weight of a coalition of j others: of all it becomes with some null players."""
    log_weights = semivalue.log_coalition_weights(n_players + n_nulls)
    added = np.arange(n_nulls + 1, dtype=np.float64)
    sizes = np.arange(n_players)[:, None] + np.arange(n_nulls + 1)
    return np.exp(log_weights[sizes] + log_binomial(n_nulls, added)).sum(axis=1)


def check_enumerable(n_players: int, semivalue: Semivalue | None = None) -> None:
    """Raise InputError if there are too many coalitions to enumerate."""
    if isinstance(semivalue, OwenValue):
        semivalue.coalitions()
    elif n_players > MAX_EXACT_PLAYERS:
        raise InputError(
            f"{n_players} players have 2**{n_players} coalitions; exact values are computed for "
            f"up to {MAX_EXACT_PLAYERS} players",
            remedy="give {method:'auto'} or 'mc' with a budget for estimates with standard errors",
        )


@dataclass(eq=False)
class ExactState:
    """The problem, and the values once every utility was told."""

    problem: Problem
    values: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class Exact(Estimator[ExactState, Enumerated]):
    """Every coalition once; works up to 25 players.

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.estimate(fs.games.TableGame([0, 1, 2, 5]), fs.estimators.Exact()).values
    array([2., 3.])
    """

    name = "exact"

    @property
    def traits(self) -> Traits:
        """Everything holds, without probability; utilities must not be random."""
        return Traits(independent=True, noise=False)

    @property
    def takes_unions(self) -> bool:
        """It lists the coalitions that keep unions together."""
        return True

    def start(self, problem: Problem) -> ExactState:
        """Return the empty state; raise InputError if the game is too large."""
        check_enumerable(problem.n_players - problem.n_nulls, problem.semivalue)
        return ExactState(problem)

    def ask(self, state: ExactState, rng: np.random.Generator) -> Enumerated | None:
        """Ask for all coalitions at once, then for nothing."""
        if state.values is not None:
            return None
        n_nulls = state.problem.n_nulls
        if isinstance(owen := state.problem.semivalue, OwenValue):
            masks = owen.among(range(state.problem.n_players - n_nulls)).coalitions()
            return ListedCoalitions.of(np.pad(masks, ((0, 0), (0, n_nulls))))
        return AllCoalitions(state.problem.n_players - n_nulls, n_nulls)

    def tell(self, state: ExactState, draw: Enumerated, values: FloatArray) -> None:
        """Compute the values."""
        semivalue, n_nulls = state.problem.semivalue, state.problem.n_nulls
        if isinstance(semivalue, OwenValue):
            inner = semivalue.among(range(state.problem.n_players - n_nulls))
            state.values = np.append(owen_values(values, inner), np.zeros(n_nulls))
        else:
            state.values = exact_values(values, semivalue, n_nulls)

    def estimate(self, state: ExactState) -> Estimate:
        """Return the exact values, or NaN before they are known."""
        if state.values is None:
            return Estimate.unknown(state.problem.n_players)
        known = not np.isnan(state.values).any()
        variances = np.full(len(state.values), 0.0 if known else np.nan)
        counts = np.full(len(state.values), int(known))
        return Estimate(state.values, variances, counts, exact=known)
