"""Greedy selection: whose marginal contribution to sample next.

With invariabilities r_i and counts m_i the fidelity scores are f_i = m_i·r_i. Greedy selection
samples the player with the lowest score, which maximises the lowest score of all (Proposition 2 of
the paper). Several selections at once raise f_i by r_i for each: the water level rises, and nobody
else's score changes.
"""

from __future__ import annotations

import heapq
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._types import FloatArray, IntArray
from fairshapley.errors import InputError

Heap: TypeAlias = list[tuple[float, float, int]]
"""Key, count and player; ties go to the player with the fewest contributions, then the first"""


def invariability(values: FloatArray, variances: FloatArray, xi: float) -> FloatArray:
    """r_i = (|φ_i| + ξ)² / V_i, the fidelity of one contribution, whose variance is V_i.

    Infinite where the variance is 0, and 0 where it is unknown (NaN): such a player comes first.

    Examples
    --------
    >>> invariability(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, np.nan]), 1.0)
    array([ 2., inf,  0.])
    """
    positive = variances > 0
    ratio = np.square(np.abs(values) + xi) / np.where(positive, variances, 1.0)
    return np.where(positive, ratio, np.where(variances == 0, np.inf, 0.0))


def selection_key(invariability: float, count: float, epsilon1: float | None) -> float:
    """What is lowest for the player to select: f_i, or 1/Δp_i of Remark 1."""
    if count == 0:
        return 0.0
    fidelity = count * invariability
    return fidelity if epsilon1 is None else epsilon1**2 * (count + 1) * fidelity


def selection_heap(
    invariabilities: FloatArray, counts: IntArray | FloatArray, epsilon1: float | None = None
) -> Heap:
    """All players, the next to select on top.

    Without `epsilon1` the key is the fidelity f_i. With it, the key is 1/Δp_i, where
    p_i = 1/(ε1²·m_i·r_i) bounds the probability that player i fails (Chebyshev, per player as in
    Remark 1) and Δp_i = p_i(m_i) − p_i(m_i + 1) = 1/(ε1²·r_i·m_i·(m_i + 1)) is what one more
    contribution takes off. ε1 scales all Δp_i alike: it chooses the criterion, not the player.
    """
    rows = zip(invariabilities.tolist(), counts.tolist(), strict=True)
    heap = [
        (selection_key(r, count, epsilon1), count, player) for player, (r, count) in enumerate(rows)
    ]
    heapq.heapify(heap)
    return heap


def pick(
    heap: Heap, invariabilities: FloatArray, picks: int, epsilon1: float | None = None
) -> IntArray:
    """The next `picks` players; the heap stays as it is.

    O(1) for a single pick, O(n + picks·log n) for more.
    """
    if picks == 1:
        return np.array([heap[0][2]], dtype=np.int64)
    rising, rates = heap.copy(), invariabilities.tolist()
    chosen = np.empty(picks, dtype=np.int64)
    for at in range(picks):
        _, count, player = rising[0]
        chosen[at] = player
        key = selection_key(rates[player], count + 1, epsilon1)
        heapq.heapreplace(rising, (key, count + 1, player))
    return chosen


def greedy_allocation(
    invariabilities: ArrayLike,
    counts: ArrayLike,
    budget: int,
    *,
    epsilon1: float | None = None,
) -> IntArray:
    """How many of `budget` contributions each player gets from greedy selection.

    Parameters
    ----------
    invariabilities
        r_i > 0, one for each player.
    counts
        The contributions that each player has already: its initial fidelity is m_i·r_i.
    budget
        The contributions to share out.
    epsilon1
        When given, each goes where it lowers the sum of the failure probabilities most
        (Remark 1) instead of to the lowest fidelity.

    Examples
    --------
    >>> greedy_allocation([1.0, 2.0, 4.0], [0, 0, 0], 7)
    array([4, 2, 1])
    >>> greedy_allocation([1.0, 4.0], [1, 1], 4, epsilon1=0.5)
    array([3, 1])
    """
    rates = np.asarray(invariabilities, dtype=np.float64)
    held = np.asarray(counts, dtype=np.float64)
    if rates.shape != held.shape or rates.ndim != 1:
        raise InputError(
            f"give one invariability and one count per player, not {rates.shape} and {held.shape}"
        )
    chosen = pick(selection_heap(rates, held, epsilon1), rates, budget, epsilon1)
    return np.bincount(chosen[:budget], minlength=len(rates)).astype(np.int64)
