"""What the regression-adjusted estimator keeps of every unit: a coalition, or a pair of them.

Nothing else in the estimator knows how masks are kept, so that they may as well be drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray

# Masks as numbers. Products with single precision take half the time, and counts of players are
# exact in it up to 2**24.
MaskArray: TypeAlias = NDArray[Any]

# Entries of a block of masks: 1 MiB, which a core keeps in its cache with what is made of them. So
# many units at least, or a product would write more than it reads.
BLOCK_ENTRIES, MIN_BLOCK = 1 << 18, 64


class Units:
    """Packed masks, sizes, gains and plans of the units told so far, in the order of telling.

    n/8 + 28 bytes for each: 7 MB for 10⁵ units of 300 players, 0.4 GB for the 300 000 units that
    are 60 evaluations for each of 10 000 players.

    Examples
    --------
    >>> units = Units(3)
    >>> units.add_packed(np.array([[5]], dtype=np.uint8), np.array([0.5]), plan=0)
    >>> len(units), units.sizes, units.masks(slice(0, 1))
    (1, array([2]), array([[ True, False,  True]]))
    """

    def __init__(self, n_players: int, *, block_entries: int = BLOCK_ENTRIES) -> None:
        self.n_players = n_players
        self._count = 0
        kinds = {"sizes": np.int32, "gains": np.float64, "levels": np.float64, "plans": np.int16}
        self._columns: dict[str, NDArray[Any]] = {
            "packed": np.empty((16, bits.width(n_players)), dtype=np.uint8),
            **{name: np.empty(16, dtype=kind) for name, kind in kinds.items()},
        }
        self.block = max(MIN_BLOCK, block_entries // n_players)
        """How many units `rows` gives at a time"""

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self._columns[column][: self._count]

    def add_packed(
        self,
        packed: ByteArray,
        gains: FloatArray,
        plan: int | IntArray,
        levels: FloatArray | float = 0.0,
    ) -> None:
        """Keep units drawn by the plan of this number; units with a gain of NaN are left out.

        The levels of pairs, half of v(S) + v(N ∖ S), are kept so that pairs can be split.
        """
        if (skipped := np.isnan(gains)).any():
            kept = ~skipped
            packed, gains = packed[kept], gains[kept]
            plan, levels = (np.broadcast_to(one, kept.shape)[kept] for one in (plan, levels))
        start, stop = self._count, self._count + len(packed)
        told = {"sizes": bits.sizes(packed), "gains": gains, "levels": levels, "plans": plan}
        for name, entries in {"packed": packed, **told}.items():
            old = self._columns[name]
            if stop > len(old):  # the room grows by half at a time, so that adding is cheap
                room = max(stop, len(old) * 3 // 2)
                self._columns[name] = np.empty((room, *old.shape[1:]), dtype=old.dtype)
                self._columns[name][:start] = old[:start]
            self._columns[name][start:stop] = entries
        self._count = stop

    def masks(self, rows: IntArray | slice) -> BoolArray:
        """Return the coalitions of some units."""
        packed = self["packed"]
        some = packed[rows] if isinstance(rows, slice) else packed.take(rows, axis=0)
        return bits.unpack(some, self.n_players)

    @property
    def sizes(self) -> IntArray:
        """The size of each unit's coalition."""
        return self["sizes"].astype(np.int64)

    @property
    def gains(self) -> FloatArray:
        """v(S), or half of v(S) − v(N ∖ S) for a pair."""
        return self["gains"]

    @property
    def plans(self) -> IntArray:
        """The number of the plan that drew each unit."""
        return self["plans"].astype(np.int64)

    def split(self) -> Units:
        """Return each pair as two units, a coalition and after it its complement.

        Examples
        --------
        >>> pairs = Units(3)
        >>> packed = np.array([[5]], dtype=np.uint8)
        >>> pairs.add_packed(packed, np.array([1.0]), 0, np.array([4.0]))
        >>> pairs.split().gains, pairs.split().sizes
        (array([5., 3.]), array([2, 1]))
        """
        single = Units(self.n_players)
        for start in range(0, len(self), self.block):
            rows = slice(start, start + self.block)
            both = bits.with_complements(self["packed"][rows], self.n_players)
            gains, levels = self.gains[rows], self["levels"][rows]
            values = np.stack([levels + gains, levels - gains], axis=1).ravel()
            single.add_packed(both, values, np.repeat(self.plans[rows], 2))
        return single

    def rows(
        self, chosen: IntArray, start: int = 0, kind: DTypeLike = np.float32
    ) -> Iterator[tuple[slice, MaskArray]]:
        """Yield the masks of the chosen units as numbers, in blocks, with their places in `chosen`.

        From the place `start` on.
        """
        for first in range(start, len(chosen), self.block):
            part = slice(first, min(first + self.block, len(chosen)))
            yield part, self.masks(chosen[part]).astype(kind)
