"""A sum over the rows of a journal, by which a changed, lost or added row is noticed.

Each row, a coalition and its value, is hashed to 64 bits; the hashes are added up, so that neither
the order of the rows nor the table they are in matters. It finds accidents. Whoever changes a
journal on purpose can change its sum too.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray

_Words = NDArray[np.uint64]
WORD = 8
MODULUS = 1 << 64
# Those of the hash "splitmix64".
HALF, FACTOR = np.uint64(32), np.uint64(0xBF58476D1CE4E5B9)
# Rows hashed at a time: the arrays stay inside a processor's cache.
SLICE_BYTES = 1 << 20


@functools.lru_cache(maxsize=16)
def _factors(count: int) -> _Words:
    """Odd factors, one for each word of a row: multiplying by one loses no bit."""
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return _mixed(steps) | np.uint64(1)


def _mixed(words: _Words) -> _Words:
    """Each word mapped to another one, in place; linear in none of its bits."""
    words ^= words >> HALF
    words *= FACTOR
    words ^= words >> HALF
    return words


def row_sum(keys: Collection[bytes], values: FloatArray, *, slice_bytes: int = SLICE_BYTES) -> int:
    r"""The sum, modulo 2⁶⁴, of the hashes of rows; all keys have the same length.

    A single word that changes (8 bytes of a coalition, or the value) always changes the sum.

    Examples
    --------
    >>> there, back = np.array([0.5, 1.0]), np.array([1.0, 0.5])
    >>> row_sum([b"\x01", b"\x02"], there) == row_sum([b"\x02", b"\x01"], back)
    True
    >>> row_sum([b"\x01", b"\x02"], there) == row_sum([b"\x01", b"\x02"], back)
    False
    """
    if not keys:
        return 0
    count = len(keys)
    raw: NDArray[Any] = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(count, -1)
    numbers = np.ascontiguousarray(values, dtype="<f8").view("<u8")
    width = raw.shape[1]
    n_words = -(-width // WORD) + 1
    rows = max(1, slice_bytes // (n_words * WORD))
    total = 0
    for start in range(0, count, rows):
        part = raw[start : start + rows]
        padded = np.zeros((len(part), n_words * WORD), dtype=np.uint8)
        padded[:, :width] = part
        words = padded.view("<u8")
        words[:, -1] = numbers[start : start + rows]
        hashes = _mixed(words.astype(np.uint64, copy=False) @ _factors(n_words))
        total += int(np.add.reduce(hashes))
    return total % MODULUS
