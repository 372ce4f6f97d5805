"""Random sets of given sizes among very many players, as bits.

Sorting n keys, or a permutation, takes a millisecond at n = 100 000. Here a player is in when a
random byte is below a limit, which takes a tenth of that, and a few players more or fewer put the
size right. However many the bytes let in, they are a uniform set of that size, and adding or
taking off uniform players leaves it so: the limit decides the work, not the distribution.
"""

from __future__ import annotations

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, IntArray

# Random bytes drawn at a time: 4 MiB.
BLOCK_BYTES = 1 << 22
# Putting players in is cheaper than taking them off: the bytes aim below the size, by this many
# standard deviations of how many they let in.
DEVIATIONS = 2.0


def packed_sets(rng: np.random.Generator, sizes: IntArray, n_players: int) -> ByteArray:
    """One uniform coalition of each given size, 0 … n_players; a row of bits each.

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
    """Sets of at most half of the players."""
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
