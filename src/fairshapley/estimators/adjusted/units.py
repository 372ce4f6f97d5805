"""What the regression-adjusted estimator keeps of every unit: a coalition, or a pair of them.

Nothing else in the estimator knows how masks are kept, so that they may as well be drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray

# Masks as numbers. Products with single precision take half the time, and counts of players are
# exact in it up to 2**24.
MaskArray: TypeAlias = NDArray[np.float32]

# Entries of a block of masks: 1 MiB, which a core keeps in its cache with what is made of them. So
# many units at least, or a product would write more than it reads.
BLOCK_ENTRIES, LEAST_BLOCK = 1 << 18, 64


class Units:
    """Packed masks, sizes, gains and plans of the units told so far, in the order of telling.

    n/8 + 28 bytes for each: 7 MB for 10⁵ units of 300 players, 0.4 GB for the 300 000 units that
    are 60 evaluations for each of 10 000 players.

    Examples
    --------
    >>> units = Units(3)
    >>> units.add(np.array([[True, False, True]]), np.array([0.5]), plan=0)
    >>> len(units), units.sizes, units.masks(0, 1)
    (1, array([2]), array([[ True, False,  True]]))
    """

    def __init__(self, n_players: int, *, block_entries: int = BLOCK_ENTRIES) -> None:
        self.n_players = n_players
        self.block = max(LEAST_BLOCK, block_entries // n_players)
        """How many units `rows` gives at a time"""
        self._count = 0
        self._packed: ByteArray = np.empty((16, bits.width(n_players)), dtype=np.uint8)
        self._sizes = np.empty(16, dtype=np.int32)
        self._gains: FloatArray = np.empty(16)
        self._levels: FloatArray = np.empty(16)
        self._plans = np.empty(16, dtype=np.int16)

    def add(
        self,
        masks: BoolArray,
        gains: FloatArray,
        plan: int | IntArray,
        levels: FloatArray | None = None,
    ) -> None:
        """Keep units drawn by the plan of this number; those with a gain of NaN are left out.

        The levels of pairs, half of v(S) + v(N ∖ S), are kept so that pairs can be split.
        """
        kept = ~np.isnan(gains)
        masks, gains = masks[kept], gains[kept]
        start, stop = self._count, self._count + len(gains)
        if stop > len(self._gains):
            self._grow(max(stop, len(self._gains) * 3 // 2))
        self._packed[start:stop] = bits.pack(masks)
        self._sizes[start:stop] = masks.sum(axis=1)
        self._gains[start:stop] = gains
        self._levels[start:stop] = 0.0 if levels is None else levels[kept]
        self._plans[start:stop] = plan if isinstance(plan, int) else plan[kept]
        self._count = stop

    def _grow(self, capacity: int) -> None:
        for name in ("_packed", "_sizes", "_gains", "_levels", "_plans"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), dtype=old.dtype)
            new[: self._count] = old[: self._count]
            setattr(self, name, new)

    def __len__(self) -> int:
        return self._count

    @property
    def sizes(self) -> IntArray:
        """The size of each unit's coalition."""
        return self._sizes[: self._count].astype(np.int64)

    @property
    def gains(self) -> FloatArray:
        """v(S), or half of v(S) − v(N ∖ S) for a pair."""
        return self._gains[: self._count]

    @property
    def plans(self) -> IntArray:
        """The number of the plan that drew each unit."""
        return self._plans[: self._count].astype(np.int64)

    def split(self) -> Units:
        """Each pair as two units, a coalition and after it its complement.

        Examples
        --------
        >>> pairs = Units(3)
        >>> pairs.add(np.array([[True, False, True]]), np.array([1.0]), 0, np.array([4.0]))
        >>> pairs.split().gains, pairs.split().sizes
        (array([5., 3.]), array([2, 1]))
        """
        single = Units(self.n_players)
        for start in range(0, len(self), self.block):
            stop = min(start + self.block, len(self))
            masks = self.masks(start, stop)
            gains, levels = self._gains[start:stop], self._levels[start:stop]
            both = bits.with_complements(masks)
            values = np.stack([levels + gains, levels - gains], axis=1).ravel()
            single.add(both, values, np.repeat(self.plans[start:stop], 2))
        return single

    def masks(self, start: int, stop: int) -> BoolArray:
        """The coalitions of the units `start` … `stop` − 1."""
        return bits.unpack(self._packed[start:stop], self.n_players)

    def rows(self, chosen: IntArray, start: int = 0) -> Iterator[tuple[slice, MaskArray]]:
        """The masks of the chosen units as numbers, in blocks, with their places in `chosen`.

        From the place `start` on.
        """
        for first in range(start, len(chosen), self.block):
            part = slice(first, min(first + self.block, len(chosen)))
            masks = bits.unpack(self._packed[chosen[part]], self.n_players)
            yield part, masks.astype(np.float32)
