"""What the coalitions that were not drawn may hide.

Standard errors know only what was drawn. A deal that needs ten of twelve members, a jackpot or a
heavy tail may not have been met yet, so that the errors look small. How large such a deviation may
be is read from the utilities themselves: from coalitions next to ∅ and N, from the jump to v(N),
from sudden steps between sizes, from the largest deviation inside, and from v(N) − v(∅). How common
it may be follows from the number of draws: a kind of coalition that was not met in m draws has a
share of at most log(1/δ)/m of them, with a probability of 1 − δ (the rule of three at δ = 5 %).
"""

from __future__ import annotations

import math

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, FloatMatrix, IntArray
from fairshapley.semivalues import log_binomial

# A deviation of a size has been met once one of this share of it was drawn there.
MET = 1.0 / 3.0
# From one size to the next, away from ∅ or N, the largest deviation falls by this factor.
FADING = 0.7
# Deviations of this many standard deviations are ordinary.
ORDINARY = 5.0
# Neighbouring sizes are taken together where they differ by less than this share of the distance to
# ∅ or N.
WIDTH = 0.25
# At any one size there may be a deviation as large as this share of v(N) − v(∅), or as the largest
# next to ∅ or N. Chosen, as all of these, on half of the games of benchmarks/certificates.
SHARE_OF_TOTAL = 0.1


def allowance(unseen: FloatMatrix, delta: float) -> float:
    """Return by how much any value may be off because of what was not met, at a level of δ.

    Parameters
    ----------
    unseen
        What `find_unseen` found.
    delta
        The level.

    Examples
    --------
    >>> round(allowance(np.array([[0.5, 10.0, 0.0], [0.1, 10.0, 1.0]]), 0.1), 3)
    0.115
    """
    gaps, draws, alone = unseen.T
    missed = gaps * np.minimum(1.0, math.log(1.0 / delta) / draws)
    return max(float(missed[alone == 0].sum()), float(missed[alone == 1].max(initial=0.0)))


def size_bins(n_players: int) -> IntArray:
    """Return the bin of each size 0 … n: single sizes next to ∅ and N, wider ones inside.

    Examples
    --------
    >>> size_bins(6)
    array([0, 1, 2, 3, 4, 5, 6])
    >>> bool(size_bins(24).max() < 24)
    True
    """
    bins, size = [0], 1
    while size < n_players:
        width = max(1, int(WIDTH * min(size, n_players - size)))
        if size < n_players / 2:
            width = min(width, max(1, n_players // 2 - size + 1))
        width = min(width, n_players - size)
        bins += [bins[-1] + 1] * width
        size += width
    return np.array([*bins, bins[-1] + 1])


def find_unseen(
    masks: BoolArray,
    utilities: FloatArray,
    ends: tuple[float, float],
    values: FloatArray,
    weights: FloatArray,
    *,
    thinning: float = 1.0,
    width: float | None = None,
) -> FloatMatrix:
    """Return what the coalitions that were not drawn may hide.

    Parameters
    ----------
    masks, utilities
        Coalitions that were evaluated, without ∅ and N.
    ends
        v(∅) and v(N).
    values
        The estimated values, by which single players are taken off.
    weights
        The probability α_k that a player has k predecessors.
    thinning
        How many coalitions were evaluated for each of these.
    width
        The highest minus the lowest utility there can be, where that is known.

    Returns
    -------
    array
        Rows of three numbers: by how much a value changes if a kind of coalition that was not met
        were all there is at some size; the draws that could have met it; and 0 where such changes
        add up, 1 where only the largest counts.
    """
    n_players = masks.shape[1]
    sizes, bins = masks.sum(axis=1), size_bins(n_players)
    n_bins = int(bins[-1]) - 1
    at = bins[sizes] - 1
    rest = utilities - masks @ values
    drawn = np.bincount(at, minlength=n_bins).astype(float)
    means = np.bincount(at, rest, n_bins) / np.maximum(drawn, 1.0)
    deviations = np.abs(rest - means[at])
    largest = np.zeros(n_bins)
    np.maximum.at(largest, at, deviations)
    log_counts = np.minimum(log_binomial(n_players, np.arange(1.0, n_players)), 600.0)
    counts = np.bincount(bins[1:-1] - 1, np.exp(log_counts), n_bins)
    importance = np.bincount(bins[1:-1] - 1, weights[:-1] + weights[1:], n_bins)
    # Half a draw hides as much as none, and lets a prediction grow.
    drawn = np.clip(drawn * thinning, 0.5, counts)
    left = importance * (1.0 - drawn / counts)
    cap = math.inf if width is None else width
    gaps, draws = [], []
    for order, jump in (
        (range(n_bins), 0.0),
        (range(n_bins - 1, -1, -1), _last_jump(sizes, utilities, ends[1], n_players)),
    ):
        reach = max(float(largest[order[0]]), jump)
        for place in order:
            border = place == order[0]
            met = largest[place] >= MET * reach
            if not border and (met or left[place] == 0):
                break
            if not met:
                gaps.append(min(reach, cap) * left[place])
                draws.append(drawn[place])
            reach *= FADING
    steps = _sudden_steps(means, drawn)
    for place, step in steps:
        if largest[place] < MET * step:
            gaps.append(min(step, cap) * left[place])
            draws.append(drawn[place])
    inner = (sizes > 1) & (sizes < n_players - 1)
    if inner.any():
        spread = float(np.sqrt(np.square(deviations[inner]).mean()))
        beyond = min(float(deviations[inner].max()) - ORDINARY * spread, cap)
        if beyond > 0:
            gaps.extend(beyond * left)
            draws.extend(drawn)
    beside = float(max(largest[0], largest[-1]))
    floors = min(max(SHARE_OF_TOTAL * abs(ends[1] - ends[0]), beside), cap) * left
    added = np.column_stack([gaps, draws, np.zeros(len(gaps))]).reshape(-1, 3)
    return np.concatenate([added, np.column_stack([floors, drawn, np.ones(n_bins)])])


def _sudden_steps(means: FloatArray, drawn: FloatArray) -> list[tuple[int, float]]:
    """Return bins beside a step between neighbours that is more than twice the steps beside it."""
    present = np.flatnonzero(drawn > 0)
    steps = np.abs(np.diff(means[present]))
    found = []
    for place, step in enumerate(steps):
        beside = [steps[other] for other in (place - 1, place + 1) if 0 <= other < len(steps)]
        if beside and (beyond := step - 2.0 * max(beside)) > 0:
            found += [(int(present[place]), beyond), (int(present[place + 1]), beyond)]
    return found


def _last_jump(sizes: IntArray, utilities: FloatArray, full: float, n_players: int) -> float:
    """Return how far v(N) lies beyond twice the step between the two largest sizes drawn."""
    present = np.unique(sizes)
    if len(present) < 2:
        return 0.0
    last, before = (float(utilities[sizes == size].mean()) for size in present[[-1, -2]])
    step = abs(last - before) / (present[-1] - present[-2])
    return max(0.0, abs(full - last) - 2.0 * step * (n_players - present[-1]))
