"""Random permutations, as ranks, and random sizes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._types import FloatArray, IntArray

# Entry (r, i) is the place of player i in permutation r: np.uint16, or np.uint32 above 65 536.
RankArray: TypeAlias = NDArray[Any]


def random_ranks(rng: np.random.Generator, rows: int, n_players: int) -> RankArray:
    """`rows` uniform permutations as ranks: entry (r, i) is the place of player i in row r."""
    # One below 2**16, so that sizes up to n_players fit as well.
    small = n_players < 1 << 16
    ranks: RankArray = np.empty((rows, n_players), dtype=np.uint16 if small else np.uint32)
    ranks[:] = np.arange(n_players)
    rng.permuted(ranks, axis=1, out=ranks)
    return ranks


def random_sizes(rng: np.random.Generator, rows: int, weights: FloatArray) -> IntArray:
    """`rows` sizes drawn with the probabilities `weights`."""
    cumulative = np.cumsum(weights)
    # The last entry may be 1 − 1e−16; dividing keeps every draw inside.
    sizes = np.searchsorted(cumulative / cumulative[-1], rng.random(rows), side="right")
    return sizes.astype(np.int64)
