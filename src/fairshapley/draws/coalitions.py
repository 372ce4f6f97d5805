"""Draws: what an estimator asks for in one round, as coalitions that are made when needed.

A draw has a length and gives any slice of its coalitions as a boolean array. It holds the
permutations or sizes behind them, not the masks, so that a walk of 10 000 players needs no
array of 10 000 × 10 000 and an engine may cut it into chunks of any size.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray
from fairshapley.draws.permutations import RankArray


class Draw(Protocol):
    """The coalitions of one round.

    ``unit_length`` says how many consecutive coalitions belong together, 1 without it: random
    utilities of a unit may share one seed.
    """

    @property
    def marginals(self) -> int | None:
        """How many marginal contributions the round gives; None where that has no meaning."""
        ...

    def __len__(self) -> int:
        """Return the number of coalitions."""
        ...

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions `start` … `stop` − 1 as a boolean array, one row each."""
        ...


@runtime_checkable
class DivisibleDraw(Draw, Protocol):
    """A draw whose first part is a round too: the budget may end within it."""

    def cut(self, coalitions: int) -> DivisibleDraw | None:
        """Return whole units up to a number of coalitions; None if not even one unit fits."""
        ...


@dataclass(frozen=True, eq=False)
class EqualUnits:
    """A draw of units of equal length, each with a row of every array in the draw."""

    group: int = field(default=1, kw_only=True)
    """How many consecutive units belong together"""

    @property
    def unit_length(self) -> int:
        """The coalitions of a unit."""
        raise NotImplementedError

    def cut(self, coalitions: int) -> Self | None:
        """Return the first groups of units, up to a number of coalitions; None if none fits.

        Examples
        --------
        >>> len(Walks(np.array([[1, 0, 2], [2, 1, 0]], dtype=np.uint16)).cut(3))
        2
        """
        units = coalitions // (self.unit_length * self.group) * self.group
        parts: dict[str, Any] = {
            name: rows[:units] for name, rows in vars(self).items() if isinstance(rows, np.ndarray)
        }
        return replace(self, **parts) if units else None


@dataclass(frozen=True, eq=False)
class Walks(EqualUnits):
    """Whole permutations: the n − 1 coalitions between ∅ and N on each of them.

    Examples
    --------
    >>> Walks(np.array([[1, 0, 2]], dtype=np.uint16)).masks(0, 2)
    array([[False,  True, False],
           [ True,  True, False]])
    """

    ranks: RankArray

    @property
    def marginals(self) -> int:
        """Each walk gives one marginal contribution of every player."""
        walks, n_players = self.ranks.shape
        return int(walks * n_players)

    def __len__(self) -> int:
        walks, n_players = self.ranks.shape
        return int(walks * (n_players - 1))

    @property
    def unit_length(self) -> int:
        """The coalitions of a walk."""
        return max(1, int(self.ranks.shape[1]) - 1)

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions `start` … `stop` − 1."""
        n_players = self.ranks.shape[1]
        steps = n_players - 1
        first, last = start // steps, -(-stop // steps)
        places = np.arange(steps, dtype=self.ranks.dtype)
        if last - first == 1:  # the usual case at large n: a part of one walk
            places = places[start - first * steps : stop - first * steps]
        if last - first == 1 or (last - first) * steps == stop - start:
            masks: BoolArray = self.ranks[first:last, None] <= places[:, None]
            return masks.reshape(-1, n_players)
        walk, place = np.divmod(np.arange(start, stop), steps)
        return self.ranks[walk] <= places[place, None]

    def marginal_contributions(self, values: FloatArray, empty: float, full: float) -> FloatArray:
        """Return what the player at place k of walk w added, entry (w, k)."""
        walks, n_players = self.ranks.shape
        path = np.empty((walks, n_players + 1))
        path[:, 0] = empty
        path[:, 1:-1] = values.reshape(walks, n_players - 1)
        path[:, -1] = full
        return np.diff(path, axis=1)

    def contributions(
        self, values: FloatArray, empty: float, full: float, weights: FloatArray
    ) -> FloatArray:
        """Return the marginal of every player on each walk, times the weight of its place.

        Examples
        --------
        >>> walks = Walks(np.array([[0, 1], [1, 0]], dtype=np.uint16))
        >>> walks.contributions(np.array([1.0, 2.0]), 0.0, 4.0, np.ones(2))
        array([[1., 3.],
               [2., 2.]])
        """
        marginals = self.marginal_contributions(values, empty, full)
        return np.take_along_axis(marginals * weights, self.ranks, axis=1)


@dataclass(frozen=True, eq=False)
class SingleMarginals(EqualUnits):
    """One marginal contribution per permutation: S and S ∪ {i} for each given player i.

    Row r of `ranks` is a uniform permutation; S holds the `sizes[r]` players that come first
    in it when player `players[r]` is taken out.
    """

    players: IntArray
    sizes: IntArray
    ranks: RankArray

    @property
    def unit_length(self) -> int:
        """A coalition without the player, and with it."""
        return 2

    @property
    def marginals(self) -> int:
        """One for each permutation."""
        return len(self.players)

    def __len__(self) -> int:
        return 2 * len(self.players)

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions `start` … `stop` − 1: S, then S ∪ {i}, player by player."""
        first, last = start // 2, -(-stop // 2)
        ranks = self.ranks[first:last]
        rows = np.arange(last - first)
        players = self.players[first:last]
        own = ranks[rows, players]
        sizes = self.sizes[first:last].astype(ranks.dtype)
        # Without the player, everyone behind it moves up one place.
        limits = sizes + (own < sizes)
        masks = np.repeat(ranks < limits[:, None], 2, axis=0)
        masks[2 * rows, players] = False
        masks[2 * rows + 1, players] = True
        return masks[start - 2 * first : stop - 2 * first]


@dataclass(frozen=True)
class AllCoalitions:
    """Every coalition of a small game, or a block: row r is the bit mask r, player 0 lowest.

    Null players behind the others, if any, are in none of them.
    """

    n_players: int
    n_nulls: int = 0
    first: int = 0
    """The bit mask of the first row"""
    count: int | None = None
    """The number of rows; None for all"""

    marginals: ClassVar[None] = None

    def __len__(self) -> int:
        return 1 << self.n_players if self.count is None else self.count

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions in the rows `start` … `stop` − 1."""
        masks = bits.numbered(range(self.first + start, self.first + stop), self.n_players)
        return np.pad(masks, ((0, 0), (0, self.n_nulls))) if self.n_nulls else masks


@dataclass(frozen=True, eq=False)
class ListedCoalitions:
    """Coalitions given one by one, kept as bits."""

    packed: ByteArray
    n_players: int
    unit_length: int = field(default=1, kw_only=True)
    """How many consecutive coalitions belong together: 2 for pairs"""

    marginals: ClassVar[None] = None

    @classmethod
    def of(cls, masks: BoolArray, unit_length: int = 1) -> ListedCoalitions:
        """Return the draw of these coalitions.

        Examples
        --------
        >>> draw = ListedCoalitions.of(np.array([[True, False, True]]))
        >>> len(draw), draw.masks(0, 1)
        (1, array([[ True, False,  True]]))
        """
        return cls(bits.pack(masks), masks.shape[1], unit_length=unit_length)

    def __len__(self) -> int:
        return len(self.packed)

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions `start` … `stop` − 1."""
        return bits.unpack(self.packed[start:stop], self.n_players)


class FreshCoalitions(ListedCoalitions):
    """Listed coalitions that were drawn at random: the first of them are a round too."""

    def cut(self, coalitions: int) -> Self | None:
        """Return the first units, up to a number of coalitions."""
        count = coalitions // self.unit_length * self.unit_length
        return replace(self, packed=self.packed[:count]) if count > 0 else None


# Masks that are made at a time to become bits.
MASK_BYTES = 1 << 25


def packed_rows(draw: Draw, start: int, stop: int, n_players: int) -> ByteArray:
    """Return the coalitions `start` … `stop` − 1 of a draw as bits.

    Examples
    --------
    >>> masks = np.array([[True, False, True], [False, False, True]])
    >>> packed_rows(ListedCoalitions.of(masks), 1, 2, 3)
    array([[4]], dtype=uint8)
    """
    if isinstance(draw, ListedCoalitions):
        return draw.packed[start:stop]
    step = max(1, MASK_BYTES // n_players)
    starts = range(start, max(stop, start + 1), step)
    return np.concatenate([bits.pack(draw.masks(at, min(stop, at + step))) for at in starts])


@dataclass(frozen=True, eq=False)
class Neighbourhoods(EqualUnits):
    """Coalitions with all their neighbours: S, then S with player 0, 1, … put in or taken out.

    n + 1 coalitions give one marginal contribution v(S ∪ {i}) − v(S ∖ {i}) of every player.
    """

    centres: BoolArray

    @property
    def marginals(self) -> int:
        """One of every player for each centre."""
        return int(self.centres.size)

    def __len__(self) -> int:
        centres, n_players = self.centres.shape
        return int(centres * (n_players + 1))

    @property
    def unit_length(self) -> int:
        """A coalition with its neighbours."""
        return int(self.centres.shape[1]) + 1

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions `start` … `stop` − 1."""
        centre, flipped = np.divmod(np.arange(start, stop), self.centres.shape[1] + 1)
        masks = self.centres[centre]
        rows = np.flatnonzero(flipped)
        masks[rows, flipped[rows] - 1] ^= True
        return masks

    def marginal_contributions(self, values: FloatArray) -> FloatArray:
        """Return v(S ∪ {i}) − v(S ∖ {i}) for the centre S = c, entry (c, i)."""
        centres, n_players = self.centres.shape
        table = values.reshape(centres, n_players + 1)
        difference: FloatArray = table[:, 1:] - table[:, :1]
        return np.where(self.centres, -difference, difference)
