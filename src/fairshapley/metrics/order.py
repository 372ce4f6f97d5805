"""Errors of the order of the players: inversions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.fairness.axioms import check_estimate
from fairshapley.metrics.scaling import Normalise, normalised

# Entries of a temporary array: 2**20 doubles are 8 MiB, about what a core keeps in its cache.
_CHUNK = 1 << 20


def inversions(estimate: ArrayLike, truth: ArrayLike, *, count_ties: bool = False) -> int:
    """N_inv: how many ordered pairs i ≠ j the estimates put in the wrong order.

    N_inv = Σ_{i≠j} 1(φ_i > φ_j and φ̂_i < φ̂_j) + 1(φ_i < φ_j and φ̂_i > φ̂_j). The sum is over
    ordered pairs, so two players that swap places count twice. Section "Generalising to Other
    Scenarios" of the paper, tables of P2–P4. Takes O(n log² n) steps.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    count_ties
        Count as well the pairs that are tied in one of the two and not in the other: the authors'
        code compares the signs of φ_i − φ_j and φ̂_i − φ̂_j.

    Examples
    --------
    >>> inversions([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    2
    >>> inversions([1.0, 1.0], [1.0, 2.0]), inversions([1.0, 1.0], [1.0, 2.0], count_ties=True)
    (0, 2)
    """
    values, phi = check_estimate(estimate, truth)
    # Among players tied in the truth the estimates ascend, so these pairs are never inverted.
    order = np.lexsort((values, phi))
    swapped = _count_inversions(values[order])
    if count_ties:
        both = _tied_pairs(np.column_stack([values, phi]))
        swapped += _tied_pairs(values[:, None]) + _tied_pairs(phi[:, None]) - 2 * both
    return 2 * swapped


def inversion_error(
    estimate: ArrayLike,
    truth: ArrayLike,
    *,
    relative: bool = False,
    normalise: Normalise | None = None,
) -> float:
    """ε_inv: how far the differences between players are off, over ordered pairs.

    ε_inv = Σ_{i≠j} |φ_i − φ_j − (φ̂_i − φ̂_j)|. Section "Generalising to Other Scenarios" of the
    paper, tables of P2–P4, which are computed with ``relative=True`` on normalised values.

    Parameters
    ----------
    estimate, truth
        The estimates φ̂ and the true values φ.
    relative
        Divide each term by max(|φ_i|, |φ_j|), as the authors' code does and the text does not.
        Takes O(n²) steps, in blocks; the definition in the text takes O(n log n).
    normalise
        Divide both by their own "mean", by the value of the "first" player, or by their "sum".

    Examples
    --------
    >>> inversion_error([1.0, 3.0], [1.0, 2.0])
    2.0
    >>> inversion_error([1.0, 3.0], [1.0, 2.0], relative=True)
    1.0
    """
    values, phi = normalised(estimate, truth, normalise)
    errors = phi - values
    if not relative:
        # Each error exceeds the k below it and falls short of the n − 1 − k above it.
        weights = 2.0 * np.arange(errors.size) - (errors.size - 1)
        return 2.0 * float(weights @ np.sort(errors))
    size = np.abs(phi)
    zeros = np.flatnonzero(size == 0)
    if zeros.size > 1:
        raise InputError(
            f"the true values of players {zeros[0]} and {zeros[1]} are both 0, so the error of "
            "their difference has no relative size: use relative=False"
        )
    total = relative_gaps(errors, size)
    if not math.isfinite(total):
        raise InputError(
            "some true values are too close to 0 for relative errors: use relative=False"
        )
    return total


def relative_gaps(errors: FloatArray, sizes: FloatArray, *, chunk: int = _CHUNK) -> float:
    """Σ_{i≠j} |e_i − e_j|/max(s_i, s_j), from temporary arrays of `chunk` entries."""
    total = 0.0
    rows = max(1, chunk // errors.size)
    for start in range(0, errors.size, rows):
        block = slice(start, start + rows)
        gaps = np.abs(errors[block, None] - errors)
        larger = np.maximum(sizes[block, None], sizes)
        # Only the one player with value 0, if any, meets 0 here: itself.
        with np.errstate(over="ignore"):
            total += float(np.divide(gaps, larger, out=gaps, where=larger > 0).sum())
    return total


def _count_inversions(values: FloatArray) -> int:
    """Pairs of places k < l with values[k] > values[l].

    The ranks of such a pair first differ, from the highest bit down, in a bit that the earlier
    has and the later has not: for each bit, count those pairs among the ranks that agree above it.
    """
    ranks = np.unique(values, return_inverse=True)[1].reshape(-1)
    total = 0
    for bit in range(int(ranks.max()).bit_length()):
        prefix = ranks >> (bit + 1)
        order = np.argsort(prefix, kind="stable")
        prefix, has = prefix[order], (ranks[order] >> bit) & 1
        before = np.cumsum(has) - has
        inside = before - before[np.searchsorted(prefix, prefix)]
        total += int(inside[has == 0].sum())
    return total


def _tied_pairs(rows: FloatArray) -> int:
    """Unordered pairs of equal rows."""
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())
