"""Coalitions that an estimator keeps, as bits, with numbers for each; the store grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, IntArray


class CoalitionStore:
    """Packed coalitions in the order of telling, and columns of numbers.

    The capacity grows by half at a time, so that adding is cheap.

    Parameters
    ----------
    n_players
        The number of players.
    **columns
        The type of the numbers in each column.

    Examples
    --------
    >>> store = CoalitionStore(3, gains=np.float64)
    >>> store.append(np.array([[0b101]], dtype=np.uint8), gains=0.5)
    >>> len(store), store["gains"], store.masks(slice(0, 1))
    (1, array([0.5]), array([[ True, False,  True]]))
    """

    def __init__(self, n_players: int, **columns: DTypeLike) -> None:
        self.n_players = n_players
        self._count = 0
        self._columns: dict[str, NDArray[Any]] = {
            "packed": np.empty((16, bits.width(n_players)), dtype=np.uint8),
            **{name: np.empty(16, dtype=kind) for name, kind in columns.items()},
        }

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self._columns[column][: self._count]

    def append(self, packed: ByteArray, **columns: Any) -> None:
        """Keep coalitions with an entry for each in every column, or one entry for all."""
        start, stop = self._count, self._count + len(packed)
        for name, entries in {"packed": packed, **columns}.items():
            old = self._columns[name]
            if stop > len(old):
                room = max(stop, len(old) * 3 // 2)
                self._columns[name] = np.empty((room, *old.shape[1:]), dtype=old.dtype)
                self._columns[name][:start] = old[:start]
            self._columns[name][start:stop] = entries
        self._count = stop

    def masks(self, rows: IntArray | slice) -> BoolArray:
        """Some of the coalitions."""
        packed = self["packed"]
        some = packed[rows] if isinstance(rows, slice) else packed.take(rows, axis=0)
        return bits.unpack(some, self.n_players)
