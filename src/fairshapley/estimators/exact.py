"""Exact values by enumeration of all coalitions: O(2ⁿ) after the evaluations, in bounded memory.

Players are folded away one after the other. A player's value is a sum over all marginals, whose
weights hang on sizes alone; afterwards the utilities with and without the player are added up, by
the number of folded players. So the table halves for each player, and gains a column. Blocks of
coalitions that share the last players are folded one by one: what is left of each is a row, and
the last players are folded from these rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace

from fairshapley._basics.types import FloatArray
from fairshapley.draws import AllCoalitions, ListedCoalitions
from fairshapley.draws.device import DeviceCoalitions
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.semivalues import Semivalue, Shapley, log_binomial
from fairshapley.unions import OwenValue

# Each further player doubles the time.
MAX_EXACT_PLAYERS = 30
# A round is a block of all coalitions of so many players: 128 MiB of utilities on a device.
BLOCK_PLAYERS, DEVICE_BLOCK_PLAYERS = 22, 24

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
    values, _ = fold(table[:, None], coalition_weights(semivalue, n_players, n_nulls))
    return np.append(values, np.zeros(n_nulls))


def fold(sums: Any, weights: FloatArray) -> tuple[list[float], Any]:
    """Return the values of players, and what is left of the table once they are folded away.

    Parameters
    ----------
    sums
        Shape (2**players, columns), of numpy or torch: utilities, added up over coalitions of
        others; column j holds those of j others.
    weights
        The weight of a coalition by its size, others included.

    Examples
    --------
    >>> values, left = fold(np.array([[0.0], [1.0], [2.0], [5.0]]), np.array([0.5, 0.5]))
    >>> values, left
    ([2.0, 3.0], array([0., 3., 5.]))
    """
    xp = array_namespace(sums)
    each = xp.asarray(weights, device=sums.device)
    counts = np.bitwise_count(np.arange(len(sums) // 2, dtype=np.uint64)).astype(np.int64)
    sizes = xp.asarray(counts, device=sums.device)[:, None]
    columns = xp.arange(len(weights) + 1, device=sums.device)
    values = []
    while len(sums) > 1:
        width = sums.shape[1]
        split = sums.reshape(-1, 2, width)
        absent, present = split[:, 0], split[:, 1]
        weight = each[sizes[: len(absent)] + columns[:width]]
        values.append(float((weight * (present - absent)).sum()))
        sums = xp.zeros((len(absent), width + 1), dtype=sums.dtype, device=sums.device)
        sums[:, :-1] += absent
        sums[:, 1:] += present
    return values, sums[0]


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
    """The problem, what the blocks told so far, and the values once every utility was told."""

    problem: Problem
    first: FloatArray
    """The values of the players of a block, from the blocks so far"""
    left: list[FloatArray] = field(default_factory=list)
    """What is left of each block"""
    values: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class Exact(Estimator[ExactState, Enumerated]):
    """Every coalition once; works up to 30 players.

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.estimate(fs.games.TableGame([0, 1, 2, 5]), fs.estimators.Exact()).values
    array([2., 3.])
    """

    name = "exact"
    checkpoint_growth = math.inf

    @property
    def traits(self) -> Traits:
        """Everything holds, without probability; utilities must not be random."""
        return Traits(independent=True, noise=False)

    @property
    def min_device_budget(self) -> int:
        """Utilities and sums may stay on a device, whatever the budget."""
        return 2

    @property
    def takes_unions(self) -> bool:
        """It lists the coalitions that keep unions together."""
        return True

    def start(self, problem: Problem) -> ExactState:
        """Return the empty state; raise InputError if the game is too large."""
        n_active = problem.n_players - problem.n_nulls
        check_enumerable(n_active, problem.semivalue)
        most = BLOCK_PLAYERS if problem.device is None else DEVICE_BLOCK_PLAYERS
        return ExactState(problem, np.zeros(min(n_active, most)))

    def ask(self, state: ExactState, rng: np.random.Generator) -> Enumerated | None:
        """Ask for one block of coalitions after the other, then for nothing."""
        if state.values is not None:
            return None
        n_nulls = state.problem.n_nulls
        if isinstance(owen := state.problem.semivalue, OwenValue):
            masks = owen.among(range(state.problem.n_players - n_nulls)).coalitions()
            return ListedCoalitions.of(np.pad(masks, ((0, 0), (0, n_nulls))))
        n_players, block = state.problem.n_players - n_nulls, 1 << len(state.first)
        start = len(state.left) * block
        if state.problem.device is not None:
            return DeviceCoalitions(n_players, 0, start, block, state.problem.device)
        return AllCoalitions(n_players, n_nulls, start, block)

    def tell(self, state: ExactState, draw: Enumerated, values: FloatArray) -> None:
        """Fold the block; compute the values when it was the last."""
        semivalue, n_nulls = state.problem.semivalue, state.problem.n_nulls
        n_active = state.problem.n_players - n_nulls
        if isinstance(semivalue, OwenValue):
            found = owen_values(values, semivalue.among(range(n_active)))
            state.values = np.append(found, np.zeros(n_nulls))
            return
        weights = coalition_weights(semivalue, n_active, n_nulls)
        among, left = fold(values[:, None], weights[len(state.left).bit_count() :])
        state.first += among
        state.left.append(np.array(left.tolist()))
        if len(state.left) << len(state.first) == 1 << n_active:
            last, _ = fold(np.array(state.left), weights)
            state.values = np.concatenate([state.first, last, np.zeros(n_nulls)])

    def estimate(self, state: ExactState) -> Estimate:
        """Return the exact values, or NaN before they are known."""
        if state.values is None:
            return Estimate.unknown(state.problem.n_players)
        known = not np.isnan(state.values).any()
        variances = np.full(len(state.values), 0.0 if known else np.nan)
        counts = np.full(len(state.values), int(known))
        return Estimate(state.values, variances, counts, exact=known)
