"""Greedy selection: whose marginal contribution to sample next.

With invariabilities r_i and counts m_i the fidelity scores are f_i = m_i·r_i. Greedy selection
samples the player with the lowest score, which maximises the lowest score of all (Proposition 2 of
the paper). Several selections at once raise f_i by r_i for each: the water level rises, and nobody
else's score changes.

With ε1 given, Remark 1 of the paper selects for the product p = ∏(1 − 1/(ε1²·f_i)) instead: the
largest factor Δp = p'/p = (ε1²·r − 1/(m + 1))/(ε1²·r − 1/m) that one more contribution gains. Since
Δp − 1 = 1/((m + 1)·(ε1²·f − 1)), that is the lowest (m + 1)·(ε1²·f − 1). While ε1²·f ≤ 1 a
player's factor is not positive and says nothing (Chebyshev's bound is empty): the lowest f first.
"""

from __future__ import annotations

import heapq
from typing import TypeAlias

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray

Heap: TypeAlias = list[tuple[float, float, int]]
"""Key, attempts and player; ties go to the player with the fewest attempts, then the first"""


def invariability(values: FloatArray, variances: FloatArray, xi: float) -> FloatArray:
    """r_i = (|φ_i| + ξ)² / V_i, the fidelity of one contribution, whose variance is V_i.

    Infinite where the variance is 0, and NaN where it is unknown (NaN).

    Examples
    --------
    >>> invariability(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, np.nan]), 1.0)
    array([ 2., inf, nan])
    """
    positive = variances > 0
    ratio = np.square(np.abs(values) + xi) / np.where(positive, variances, 1.0)
    return np.where(positive, ratio, np.where(variances == 0, np.inf, np.nan))


def selection_key(
    invariability: float, attempts: float, epsilon1: float | None, due: float = 0.0
) -> float:
    """What is lowest for the player to select; 0, the lowest of all, below `due` attempts.

    Without `epsilon1` it is the fidelity f = attempts·r. With it, x = ε1²·f up to 1, and then
    1 + (attempts + 1)·(x − 1), which falls as Δp of Remark 1 rises.

    Examples
    --------
    >>> selection_key(0.5, 4, None)
    2.0
    >>> selection_key(0.5, 4, 1.0), selection_key(0.5, 4, 0.5)
    (6.0, 0.5)
    """
    if attempts == 0 or attempts < due:
        return 0.0
    fidelity = attempts * invariability
    if epsilon1 is None:
        return fidelity
    scaled = epsilon1**2 * fidelity
    return scaled if scaled <= 1 else 1.0 + (attempts + 1) * (scaled - 1.0)


def selection_heap(
    invariabilities: FloatArray,
    attempts: IntArray | FloatArray,
    epsilon1: float | None = None,
    due: IntArray | None = None,
) -> Heap:
    """All players, the next to select on top, in O(n); see `selection_key`.

    `attempts` counts contributions and failed tries: a player whose evaluations fail has had its
    turn. A player with fewer than `due` attempts comes before the others.
    """
    first = np.zeros(len(attempts), dtype=np.int64) if due is None else due
    rows = zip(invariabilities.tolist(), attempts.tolist(), first.tolist(), strict=True)
    heap = [
        (selection_key(rate, tries, epsilon1, least), tries, player)
        for player, (rate, tries, least) in enumerate(rows)
    ]
    heapq.heapify(heap)
    return heap


def pick(
    heap: Heap,
    invariabilities: FloatArray,
    picks: int,
    epsilon1: float | None = None,
    due: IntArray | None = None,
) -> IntArray:
    """The next `picks` players; the heap stays as it is.

    O(1) for a single pick, O(n + picks·log n) for more.
    """
    if picks == 1:
        return np.array([heap[0][2]], dtype=np.int64)
    rising, rates = heap.copy(), invariabilities.tolist()
    first = [0] * len(rates) if due is None else due.tolist()
    chosen = np.empty(picks, dtype=np.int64)
    for at in range(picks):
        _, tries, player = rising[0]
        chosen[at] = player
        key = selection_key(rates[player], tries + 1, epsilon1, first[player])
        heapq.heapreplace(rising, (key, tries + 1, player))
    return chosen
