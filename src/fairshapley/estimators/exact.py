"""Exact values by enumeration of all coalitions: O(n·2ⁿ) after the evaluations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.draws import AllCoalitions
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.games.game import MAX_TABLE_PLAYERS
from fairshapley.semivalues import Semivalue, log_binomial

# Each further player doubles memory and time.
MAX_EXACT_PLAYERS = MAX_TABLE_PLAYERS


def exact_values(table: FloatArray, semivalue: Semivalue, n_nulls: int = 0) -> FloatArray:
    """The values of the game with the 2**n utilities `table` (player 0 is the lowest bit).

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
    weights = _weights(semivalue, n_players, n_nulls)
    # Sizes of the coalitions without one player; the same array serves every player.
    sizes = np.bitwise_count(np.arange(table.size // 2, dtype=np.uint64))
    coalition_weights = weights[sizes]
    values = np.zeros(n_players + n_nulls)
    for player in range(n_players):
        split = table.reshape(-1, 2, 1 << player)
        marginals = split[:, 1] - split[:, 0]
        values[player] = np.sum(coalition_weights * marginals.ravel())
    return values


def _weights(semivalue: Semivalue, n_players: int, n_nulls: int) -> FloatArray:
    """The weight of a coalition of j others: that of all it becomes with some null players."""
    log_weights = semivalue.log_coalition_weights(n_players + n_nulls)
    added = np.arange(n_nulls + 1, dtype=np.float64)
    sizes = np.arange(n_players)[:, None] + np.arange(n_nulls + 1)
    weights: FloatArray = np.exp(log_weights[sizes] + log_binomial(n_nulls, added)).sum(axis=1)
    return weights


def check_enumerable(n_players: int) -> None:
    """An InputError when 2**n coalitions are too many to enumerate."""
    if n_players > MAX_EXACT_PLAYERS:
        raise InputError(
            f"{n_players} players have 2**{n_players} coalitions; exact values are computed for "
            f"up to {MAX_EXACT_PLAYERS} players. Use method='auto' or 'mc' with a budget: the "
            "result comes with standard errors and fidelity"
        )


@dataclass(eq=False)
class ExactState:
    """The problem, and the values once every utility was told."""

    problem: Problem
    values: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class Exact(Estimator[ExactState, AllCoalitions]):
    """Every coalition once; works up to 25 players.

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.estimate(fs.games.TableGame([0, 1, 2, 5]), fs.Exact()).values
    array([2., 3.])
    """

    name = "exact"

    @property
    def traits(self) -> Traits:
        """Everything holds; certified without probability."""
        return Traits(independent=True)

    def start(self, problem: Problem) -> ExactState:
        """Nothing known, or an InputError when the game is too large."""
        check_enumerable(problem.n_players - problem.n_nulls)
        return ExactState(problem)

    def ask(self, state: ExactState, rng: np.random.Generator) -> AllCoalitions | None:
        """All coalitions at once, then nothing more."""
        if state.values is not None:
            return None
        n_nulls = state.problem.n_nulls
        return AllCoalitions(state.problem.n_players - n_nulls, n_nulls)

    def tell(self, state: ExactState, draw: AllCoalitions, values: FloatArray) -> None:
        """Compute the values."""
        state.values = exact_values(values, state.problem.semivalue, state.problem.n_nulls)

    def estimate(self, state: ExactState) -> Estimate:
        """The exact values, or NaN before they are known."""
        n_players = state.problem.n_players
        known = state.values is not None and not np.isnan(state.values).any()
        values = state.values if state.values is not None else np.full(n_players, np.nan)
        variances = np.full(n_players, 0.0 if known else np.nan)
        return Estimate(values, variances, np.full(n_players, int(known)), exact=known)
