"""Hashes of the rows of a journal, the same on every machine."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import ByteArray, FloatArray

Words = NDArray[np.uint64]
WORD = 8
MODULUS = 1 << 64
# Those of the hash "splitmix64".
HALF, FACTOR = np.uint64(32), np.uint64(0xBF58476D1CE4E5B9)


def _mixed(words: Words) -> Words:
    """Each word mapped to another one, in place; linear in none of its bits."""
    words ^= words >> HALF
    words *= FACTOR
    words ^= words >> HALF
    return words


@functools.lru_cache(maxsize=16)
def _factors(count: int) -> Words:
    """Odd factors, one for each word of a row: multiplying by one loses no bit."""
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return _mixed(steps) | np.uint64(1)


def _words(packed: ByteArray, behind: int = 0) -> Words:
    """Rows as words, padded with zeros, and with some more words behind each."""
    count, width = packed.shape
    padded: NDArray[Any] = np.zeros((count, (-(-width // WORD) + behind) * WORD), dtype=np.uint8)
    padded[:, :width] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def row_sum(packed: ByteArray, values: FloatArray) -> int:
    """The sum, modulo 2⁶⁴, of a hash of each coalition with its value, whatever their order.

    A single word that changes (8 bytes of a coalition, or the value) always changes the sum. It
    finds accidents: whoever changes a journal on purpose can change its sum too.

    Examples
    --------
    >>> coalitions, values = np.array([[1], [2]], dtype=np.uint8), np.array([0.5, 1.0])
    >>> row_sum(coalitions, values) == row_sum(coalitions[::-1], values[::-1])
    True
    >>> row_sum(coalitions, values) == row_sum(coalitions, values[::-1])
    False
    """
    words = _words(packed, behind=1)
    words[:, -1] = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return int(np.add.reduce(_mixed(words @ _factors(words.shape[1]))))


def coalition_hashes(packed: ByteArray) -> Words:
    """Two words for each coalition, by which it is known: shape (m, 2).

    Coalitions that differ in one word of 64 players never have the same; others have it by chance
    alone, which in a journal of 10⁷ rows is one in 10²³.

    Examples
    --------
    >>> coalition_hashes(np.array([[1], [2]], dtype=np.uint8)).shape
    (2, 2)
    """
    words = _words(packed)
    hashes: Words = _mixed(words) @ _factors(2 * words.shape[1]).reshape(-1, 2)
    return hashes
