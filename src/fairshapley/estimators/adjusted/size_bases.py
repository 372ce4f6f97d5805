"""Functions of the size that the linear proxy is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.estimators.adjusted.size_plan import SizeWeights


@dataclass(frozen=True, eq=False)
class SizeBases:
    """Functions of the size, as tables over the sizes 1 … n − 1."""

    slopes: FloatArray
    """h_q, shape (Q, n − 1)"""
    offsets: FloatArray
    """a's basis, shape (J, n − 1)"""

    @classmethod
    def of(cls, weights: SizeWeights, usage: FloatArray) -> SizeBases:
        """Return bases that are orthonormal under the weight that each size is expected to have."""
        n, s = weights.n_players, weights.sizes
        u, near = s / n, 1.0 / (s + 2.0)
        if weights.paired:
            slopes, offsets = paired_functions(s, n)
            usage = usage + usage[::-1]
        else:
            slopes = [np.ones_like(s), near, u, near**2]
            offsets = [np.ones_like(s), near, u, u**2, near**2]
        return cls(orthonormal(slopes, usage * spread(n)), orthonormal(offsets, usage))


def paired_functions(
    sizes: FloatArray, n_players: int
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return even functions of the size for slopes of pairs, and odd functions for offsets."""
    share, near, far = sizes / n_players, 1.0 / (sizes + 2.0), 1.0 / (n_players - sizes + 2.0)
    slopes = [np.ones_like(sizes), near + far, share * (1.0 - share)]
    return slopes, [share - 0.5, near - far, (share - 0.5) ** 3]


def spread(n_players: int) -> FloatArray:
    """Return Σ_i E[z_i²]/(n − 1) at each size: 4s(n − s)/(n(n − 1))."""
    s = np.arange(1.0, n_players)
    return 4.0 * s * (n_players - s) / (n_players * (n_players - 1.0))


def orthonormal(functions: list[FloatArray], usage: FloatArray) -> FloatArray:
    """Return the functions by Gram–Schmidt under `usage`, without those that depend on others."""
    usage = usage / usage.sum()
    kept: list[FloatArray] = []
    for function in functions:
        rest = function
        for _ in range(2):  # twice is enough for orthogonality to rounding
            for other in kept:
                rest = rest - (usage @ (other * rest)) * other
        norm = np.sqrt(usage @ rest**2)
        if norm > 1e-4 * np.sqrt(usage @ function**2) and norm > 0:
            kept.append(rest / norm)
    return np.array(kept).reshape(len(kept), len(usage))
