r"""Coalitions as bits: the only module that knows their order.

A coalition of n players is a row of ⌈n/8⌉ bytes, player 0 the lowest bit of the first byte; the
bits behind the last player are 0. A *key* is such a row as a bytes object, as caches and journals
keep it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fairshapley._basics.types import BoolArray, ByteArray, IntArray, SizeArray


def width(n_players: int) -> int:
    """Return the bytes of a row."""
    return -(-n_players // 8)


def pack(masks: BoolArray) -> ByteArray:
    """Return boolean rows as rows of bits.

    Examples
    --------
    >>> pack(np.array([[True, False, True]]))
    array([[5]], dtype=uint8)
    """
    return np.packbits(masks, axis=1, bitorder="little")


def unpack(packed: ByteArray, n_players: int) -> BoolArray:
    """Return rows of bits as boolean rows.

    Examples
    --------
    >>> unpack(np.array([[5]], dtype=np.uint8), 3)
    array([[ True, False,  True]])
    """
    return np.unpackbits(packed, axis=1, bitorder="little", count=n_players).view(np.bool_)


def numbered(numbers: range, n_players: int) -> BoolArray:
    """Return the coalitions whose bits are the binary digits of these numbers, as boolean rows.

    Examples
    --------
    >>> numbered(range(1, 3), 2)
    array([[ True, False],
           [False,  True]])
    """
    octets = np.arange(numbers.start, numbers.stop, dtype="<u8").view(np.uint8).reshape(-1, 8)
    return unpack(octets, n_players)


def complements(packed: ByteArray, n_players: int) -> ByteArray:
    """Return the players that are not in each row.

    Examples
    --------
    >>> complements(np.array([[0b101]], dtype=np.uint8), 3)
    array([[2]], dtype=uint8)
    """
    return first_players(~packed, n_players)


def with_complements(packed: ByteArray, n_players: int) -> ByteArray:
    """Return each row, and after it its complement.

    Examples
    --------
    >>> with_complements(np.array([[0b101]], dtype=np.uint8), 3)
    array([[5],
           [2]], dtype=uint8)
    """
    both = np.stack([packed, complements(packed, n_players)], axis=1)
    return both.reshape(2 * len(packed), -1)


def keys(masks: BoolArray) -> list[bytes]:
    r"""Return boolean rows as keys.

    Examples
    --------
    >>> keys(np.array([[True, False, True]]))
    [b'\x05']
    """
    return packed_keys(pack(masks))


def packed_keys(packed: ByteArray) -> list[bytes]:
    r"""Return rows of bits as keys.

    Examples
    --------
    >>> packed_keys(np.array([[5]], dtype=np.uint8))
    [b'\x05']
    """
    rows = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")
    found: list[bytes] = rows.ravel().tolist()
    return found


def from_keys(given: Sequence[bytes], n_players: int) -> BoolArray:
    r"""Return the boolean rows of keys.

    Examples
    --------
    >>> from_keys([b"\x05"], 3)
    array([[ True, False,  True]])
    """
    return unpack(joined(given, width(n_players)), n_players)


def joined(given: Sequence[bytes], n_bytes: int) -> ByteArray:
    r"""Return keys of `n_bytes` bytes as rows of bits.

    Examples
    --------
    >>> joined([b"\x05", b"\x01"], 1)
    array([[5],
           [1]], dtype=uint8)
    """
    return np.frombuffer(b"".join(given), dtype=np.uint8).reshape(len(given), n_bytes)


def first_players(packed: ByteArray, n_players: int) -> ByteArray:
    """Return the rows without all players from this number on.

    Examples
    --------
    >>> first_players(np.array([[0b111, 0b1]], dtype=np.uint8), 2)
    array([[3]], dtype=uint8)
    """
    first = packed[:, : width(n_players)].copy()
    if n_players % 8:
        first[:, -1] &= (1 << n_players % 8) - 1
    return first


def sizes(packed: ByteArray) -> SizeArray:
    """Return the number of players in each row of bits.

    Examples
    --------
    >>> sizes(np.array([[5], [7]], dtype=np.uint8))
    array([2, 3], dtype=int32)
    """
    counts = np.bitwise_count(packed)
    if len(packed) > packed.shape[1]:  # short rows are added up faster side by side
        return counts.T.copy().sum(axis=0, dtype=np.int32)
    return counts.sum(axis=1, dtype=np.int32)


def unrank(ranks: IntArray, n_players: int, size: int) -> BoolArray:
    """Return the coalitions of `size` players with the given ranks, 0 … C(n, size) − 1.

    The players c_1 < … < c_s have the rank C(c_1, 1) + … + C(c_s, s), so that the largest player is
    found first. The first C(n − 1, size) coalitions leave out the last player: for size n/2 they
    are one half of each pair.

    Examples
    --------
    >>> unrank(np.array([0, 5]), 4, 2).astype(int)
    array([[1, 1, 0, 0],
           [0, 0, 1, 1]])
    """
    masks: BoolArray = np.zeros((len(ranks), n_players), dtype=bool)
    rows, left = np.arange(len(ranks)), ranks.copy()
    for place in range(size, 0, -1):
        below = _binomials(n_players, place)
        chosen = np.searchsorted(below, left, side="right") - 1
        masks[rows, chosen] = True
        left -= below[chosen]
    return masks


@lru_cache(maxsize=256)
def _binomials(n_players: int, k: int) -> IntArray:
    """Return C(c, k) for c = 0 … n − 1, cut off where a machine integer ends."""
    most = int(np.iinfo(np.int64).max)
    column = np.array([min(math.comb(c, k), most) for c in range(n_players)])
    column.setflags(write=False)
    return column
