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

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray


def invariability(values: FloatArray, variances: FloatArray, xi: float) -> FloatArray:
    """Return r_i = (|φ_i| + ξ)² / V_i, the fidelity of one contribution with the variance V_i.

    Infinite where the variance is 0, and NaN where it is unknown (NaN).

    Examples
    --------
    >>> invariability(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, np.nan]), 1.0)
    array([ 2., inf, nan])
    """
    positive = variances > 0
    ratio = np.square(np.abs(values) + xi) / np.where(positive, variances, 1.0)
    return np.where(positive, ratio, np.where(variances == 0, np.inf, np.nan))


def selection_keys(
    rates: FloatArray,
    attempts: IntArray | FloatArray,
    epsilon1: float | None = None,
    due: IntArray | None = None,
) -> FloatArray:
    """Return the numbers of which the lowest is selected; 0 before any or `due` attempts.

    Without `epsilon1` it is the fidelity f = attempts·r. With it, x = ε1²·f up to 1, and then
    1 + (attempts + 1)·(x − 1), which falls as Δp of Remark 1 rises.

    Examples
    --------
    >>> selection_keys(np.array([0.5]), np.array([4]))
    array([2.])
    >>> selection_keys(np.array([0.5, 0.5]), np.array([4, 0]), 1.0)
    array([6., 0.])
    """
    started = (attempts > 0) & (attempts >= (0 if due is None else due))
    keys = np.where(started, attempts, 1.0) * rates
    if epsilon1 is not None:
        keys = epsilon1**2 * keys
        keys = np.where(keys <= 1, keys, 1.0 + (attempts + 1) * (keys - 1.0))
    return np.where(started, keys, 0.0)


def pick(
    rates: FloatArray,
    attempts: IntArray | FloatArray,
    picks: int,
    epsilon1: float | None = None,
    due: IntArray | None = None,
) -> IntArray:
    """Return the next `picks` players, each chosen as if the picks before it had been told.

    `attempts` counts contributions and failed tries: a player whose evaluations fail has had its
    turn. A player with fewer than `due` attempts comes before the others. Ties go to the player
    with the fewest attempts, then to the first.

    The keys of a player rise with its attempts, so that these are the lowest keys of all; only the
    players with the lowest present keys can have them.
    """
    due = np.zeros(len(rates), dtype=np.int64) if due is None else due
    players = np.lexsort((attempts, selection_keys(rates, attempts, epsilon1, due)))[:picks]
    tries = (attempts[players, None] + np.arange(picks)).ravel()
    players = np.repeat(players, picks)
    keys = selection_keys(rates[players], tries, epsilon1, due[players])
    lowest = np.flatnonzero(keys <= np.partition(keys, picks - 1)[picks - 1])
    order = np.lexsort((players[lowest], tries[lowest], keys[lowest]))[:picks]
    return players[lowest[order]]
