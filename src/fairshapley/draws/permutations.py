"""Random permutations, as ranks, random sizes and random sets of given sizes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray

# Entry (r, i) is the place of player i in permutation r: np.uint16, or np.uint32 above 65 536.
RankArray: TypeAlias = NDArray[Any]

# Keys are drawn for this many entries at a time: 16 MiB.
KEY_ENTRIES = 1 << 22


def random_ranks(rng: np.random.Generator, rows: int, n_players: int) -> RankArray:
    """Draw `rows` uniform permutations; entry (r, i) is the place of player i in row r."""
    # One below 2**16, so that sizes up to n_players fit as well.
    small = n_players < 1 << 16
    ranks: RankArray = np.empty((rows, n_players), dtype=np.uint16 if small else np.uint32)
    ranks[:] = np.arange(n_players)
    rng.permuted(ranks, axis=1, out=ranks)
    return ranks


def with_reverses(ranks: RankArray) -> RankArray:
    """Return every permutation, each followed by its reverse.

    Examples
    --------
    >>> with_reverses(np.array([[0, 1, 2]], dtype=np.uint16))
    array([[0, 1, 2],
           [2, 1, 0]], dtype=uint16)
    """
    n_players = ranks.shape[1]
    last = np.asarray(n_players - 1, dtype=ranks.dtype)
    pairs: RankArray = np.stack([ranks, last - ranks], axis=1)
    return pairs.reshape(-1, n_players)


def random_sizes(rng: np.random.Generator, rows: int, weights: FloatArray) -> IntArray:
    """Draw `rows` sizes with the probabilities `weights`."""
    cumulative = np.cumsum(weights)
    # The last entry may be 1 − 1e−16; dividing keeps every draw inside.
    sizes = np.searchsorted(cumulative / cumulative[-1], rng.random(rows), side="right")
    return sizes.astype(np.int64)


def random_sets(rng: np.random.Generator, sizes: IntArray, n_players: int) -> BoolArray:
    """Draw one uniform coalition of each given size, 0 … n_players; a row each.

    The players with the smallest of n random keys: sorting keys of 32 bits takes vector
    instructions, and a quarter of the time of a permutation.

    Examples
    --------
    >>> random_sets(np.random.default_rng(0), np.array([0, 2, 3]), 3).sum(axis=1)
    array([0, 2, 3])
    """
    masks: BoolArray = np.empty((len(sizes), n_players), dtype=bool)
    step = max(1, KEY_ENTRIES // max(n_players, 1))
    waiting = np.arange(len(sizes))
    while len(waiting):
        rows, waiting = waiting[:step], waiting[step:]
        drawn, tied = _smallest_keys(rng, sizes[rows], n_players)
        if len(rows) == len(masks) and not tied.any():
            return drawn
        masks[rows] = drawn
        waiting = np.concatenate([waiting, rows[tied]])
    return masks


def _smallest_keys(
    rng: np.random.Generator, sizes: IntArray, n_players: int
) -> tuple[BoolArray, BoolArray]:
    """Draw sets of these sizes, and say whose last player is tied with the next: draw those again.

    A tie is equally likely for all players, so sets without one stay uniform.
    """
    keys = rng.integers(1 << 32, size=(len(sizes), n_players), dtype=np.uint32)
    ordered = np.sort(keys, axis=1).ravel()
    inner = (sizes > 0) & (sizes < n_players)
    behind = np.arange(0, len(ordered), n_players) + np.where(inner, sizes, 1)
    last, following = ordered[behind - 1], ordered[np.minimum(behind, len(ordered) - 1)]
    drawn: BoolArray = keys <= last[:, None]
    if not inner.all():
        drawn[~inner] = (sizes == n_players)[~inner, None]
    return drawn, inner & (last == following)


def packed_sets(rng: np.random.Generator, sizes: IntArray, n_players: int) -> ByteArray:
    """Draw one uniform coalition of each given size, 0 … n_players; a row of bits each.

    For very many players: at n = 100 000 sorting keys takes a millisecond, and choosing players row
    by row a tenth of it. Where a set has more than half of the players, its complement is drawn.

    Examples
    --------
    >>> rows = packed_sets(np.random.default_rng(0), np.array([0, 300, 700, 999]), 999)
    >>> np.unpackbits(rows, axis=1).sum(axis=1, dtype=int)
    array([  0, 300, 700, 999])
    """
    packed: ByteArray = np.empty((len(sizes), bits.width(n_players)), dtype=np.uint8)
    for row, size in zip(packed, sizes.tolist(), strict=True):
        drawn = min(size, n_players - size)
        mask = np.full(n_players, 2 * size > n_players)
        mask[rng.choice(n_players, drawn, replace=False, shuffle=False)] ^= True
        row[:] = bits.pack(mask[None])[0]
    return packed
