"""The Pigou–Dalton principle: a more equal division of the same fidelity is better."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairshapley.errors import InputError


def pdp_prefers(f: ArrayLike, f_prime: ArrayLike, *, tolerance: float = 1e-9) -> bool:
    """Whether the Pigou–Dalton principle prefers the fidelity scores `f` to `f_prime`.

    It does when there are players i and j such that (a) everyone else has the same score in
    both, (b) f_i + f_j = f'_i + f'_j, and (c) |f_i − f_j| < |f'_i − f'_j|.

    Parameters
    ----------
    f, f_prime
        Finite fidelity scores, one per player.
    tolerance
        Differences up to this share of the largest score are rounding.

    Examples
    --------
    >>> pdp_prefers([20, 10, 5], [25, 5, 5])
    True
    >>> pdp_prefers([25, 5, 5], [20, 10, 5])
    False
    """
    one, other = np.asarray(f, dtype=np.float64), np.asarray(f_prime, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1 or one.size == 0:
        raise InputError(f"give two vectors of equal length, not {one.shape} and {other.shape}")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise InputError("the Pigou–Dalton principle compares finite fidelity scores")
    slack = tolerance * float(np.abs([one, other]).max())
    changed = np.flatnonzero(np.abs(one - other) > slack)
    # Scores that differ in one place only have another sum; in three or more, (a) fails.
    if len(changed) != 2:
        return False
    pair, pair_prime = one[changed], other[changed]
    same_sum = abs(float(pair.sum() - pair_prime.sum())) <= slack
    return same_sum and float(np.ptp(pair)) < float(np.ptp(pair_prime)) - slack
