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
# Sets of very many players: random bytes drawn at a time, 4 MiB. Putting players in is cheaper than
# taking them off: the bytes aim below the size, by so many standard deviations of how many they
# let in.
BLOCK_BYTES, DEVIATIONS = 1 << 22, 2.0


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


def random_sets(
    rng: np.random.Generator, sizes: IntArray, n_players: int, *, key_entries: int = KEY_ENTRIES
) -> BoolArray:
    """Draw one uniform coalition of each given size, 0 … n_players; a row each.

    The players with the smallest of n random keys: sorting keys of 32 bits takes vector
    instructions, and a quarter of the time of a permutation.

    Examples
    --------
    >>> random_sets(np.random.default_rng(0), np.array([0, 2, 3]), 3).sum(axis=1)
    array([0, 2, 3])
    """
    masks: BoolArray = np.empty((len(sizes), n_players), dtype=bool)
    step = max(1, key_entries // max(n_players, 1))
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

    For very many players: sorting n keys takes a millisecond at n = 100 000. Here a player is in
    when a random byte is below a limit, which takes a tenth of that, and a few players more or
    fewer put the size right. However many the bytes let in, they are a uniform set of that size,
    and adding or taking off uniform players leaves it so: the limit decides the work, not the
    distribution.

    Examples
    --------
    >>> rows = packed_sets(np.random.default_rng(0), np.array([0, 300, 700, 999]), 999)
    >>> np.unpackbits(rows, axis=1).sum(axis=1, dtype=int)
    array([  0, 300, 700, 999])
    """
    packed: ByteArray = np.empty((len(sizes), bits.width(n_players)), dtype=np.uint8)
    step = max(1, BLOCK_BYTES // max(n_players, 1))
    for start in range(0, len(sizes), step):
        part = sizes[start : start + step]
        # Of a set with more than half of the players, those outside are drawn.
        outside = 2 * part > n_players
        masks = _sets(rng, np.where(outside, n_players - part, part), n_players)
        masks ^= outside[:, None]
        packed[start : start + step] = bits.pack(masks)
    return packed


def _sets(rng: np.random.Generator, sizes: IntArray, n_players: int) -> BoolArray:
    """Draw sets of at most half of the players."""
    deviation = np.sqrt(sizes * (1.0 - sizes / max(n_players, 1)))
    aim = np.maximum(sizes - DEVIATIONS * deviation, 0.0)
    limits = (256.0 * aim / max(n_players, 1)).astype(np.uint8)
    words = rng.integers(1 << 64, size=(len(sizes), -(-n_players // 8)), dtype=np.uint64)
    octets = words.astype("<u8", copy=False).view(np.uint8)[:, :n_players]
    masks: BoolArray = octets < limits[:, None]
    for mask, size in zip(masks, sizes.tolist(), strict=True):
        # Row by row: counting along an axis adds bytes up one by one.
        missing = size - int(np.count_nonzero(mask))
        if missing > 0:
            _put_in(rng, mask, missing)
        elif missing < 0:
            inside = np.flatnonzero(mask)
            mask[inside[rng.choice(len(inside), -missing, replace=False, shuffle=False)]] = False
    return masks


def _put_in(rng: np.random.Generator, mask: BoolArray, missing: int) -> None:
    """Put uniform players in that are not; at least half are not, so that a few tries do."""
    while missing:
        drawn = rng.integers(len(mask), size=2 * missing + 16)
        fresh = drawn[~mask[drawn]]
        first = np.sort(np.unique(fresh, return_index=True)[1])[:missing]
        mask[fresh[first]] = True
        missing -= len(first)
