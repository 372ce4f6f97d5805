"""What greedy active estimation keeps, and what selection reads from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.estimator import Estimate, Problem
from fairshapley.estimators.greedy.epochs import Epochs
from fairshapley.estimators.greedy.proposal import SizeStatistics
from fairshapley.estimators.greedy.selection import Heap, invariability
from fairshapley.estimators.statistics.averages import Average

# Failed evaluations after which a player without two contributions has to wait for its turn.
PATIENCE = 10
ALL_PLAYERS = slice(None)


@dataclass(eq=False)
class ActiveState:
    """What was told: moments by player and by size, and what follows from them."""

    problem: Problem
    base: FloatArray
    """α_k of the semivalue"""
    xi: float
    sizes: SizeStatistics
    bootstrap: Average
    average: Average
    """All contributions that are kept; the bootstrap itself when it is"""
    proposal: FloatArray | None
    """q', by size or by player and size; None until it is learned"""
    failed: IntArray
    """Contributions that greedy selection asked of each player and that failed (NaN)"""
    bootstrapped: int = 0
    """Marginals of the bootstrap told so far"""
    sampled: int = 0
    """Marginals told after it"""
    invariabilities: FloatArray | None = None
    heap: Heap | None = None
    epochs: Epochs | None = None


def told_invariability(state: ActiveState, players: IntArray | slice) -> FloatArray:
    """r_i of the contributions told: those that are averaged, or else the bootstrap's.

    Where it is unknown, it is taken to be the median of the others (1 where nobody's is known): a 0
    would give a player whose evaluations fail all of the budget. Only then does it take O(n).
    """
    average = state.average if state.average.counts[players].min() > 1 else state.bootstrap
    rates = invariability(average.values[players], average.variances_of_one(players), state.xi)
    unknown = np.isnan(rates)
    if unknown.any():
        rates = np.where(unknown, _typical_invariability(state), rates)
    return rates


def _typical_invariability(state: ActiveState) -> float:
    told = state.bootstrap
    rates = invariability(told.values, told.variances_of_one(slice(None)), state.xi)
    known = rates[np.isfinite(rates) & (rates > 0)]
    return float(np.median(known)) if len(known) else 1.0


def attempts_and_due(
    state: ActiveState, players: IntArray | slice = ALL_PLAYERS
) -> tuple[IntArray, IntArray]:
    """Contributions asked of each player, and the number below which it comes before the others.

    Until a player has two contributions it has no mean and variance of its own to select by, and,
    without the bootstrap, keeps everybody's estimate at the bootstrap's. It comes first until then,
    but no longer once `PATIENCE` evaluations of it have failed.
    """
    counts, failed = state.average.counts[players], state.failed[players]
    attempts: IntArray = counts + failed
    missing = np.where(failed < PATIENCE, np.maximum(2 - counts, 0), 0)
    return attempts, np.where(missing > 0, attempts + missing, 0)


def estimate_of(average: Average) -> Estimate:
    """Values, variances of the means, and counts."""
    counts = average.counts
    values = np.where(counts > 0, average.values, np.nan)
    variances = average.variances_of_one(slice(None)) / np.maximum(counts, 1)
    return Estimate(values, variances, counts.copy(), extremes=average.extremes())
