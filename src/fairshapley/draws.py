"""Draws: what an estimator asks for in one round, as coalitions that are made when needed.

A draw has a length and gives any slice of its coalitions as a boolean array. It holds the
permutations or sizes behind them, not the masks, so that a walk of 10 000 players needs no
array of 10 000 × 10 000 and an engine may cut it into chunks of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._types import BoolArray, FloatArray, IntArray

# Ranks are np.uint16, or np.uint32 above 65 536 players.
RankArray: TypeAlias = NDArray[Any]


class Draw(Protocol):
    """The coalitions of one round."""

    @property
    def marginals(self) -> int | None:
        """How many marginal contributions the round gives; None where that has no meaning."""
        ...

    def __len__(self) -> int:
        """The number of coalitions."""
        ...

    def masks(self, start: int, stop: int) -> BoolArray:
        """The coalitions `start` … `stop` − 1 as a boolean array, one row each."""
        ...


def random_ranks(rng: np.random.Generator, rows: int, n_players: int) -> RankArray:
    """`rows` uniform permutations as ranks: entry (r, i) is the place of player i in row r."""
    small = n_players <= 1 << 16
    ranks: RankArray = np.empty((rows, n_players), dtype=np.uint16 if small else np.uint32)
    ranks[:] = np.arange(n_players)
    rng.permuted(ranks, axis=1, out=ranks)
    return ranks


def random_sizes(rng: np.random.Generator, rows: int, weights: FloatArray) -> IntArray:
    """`rows` sizes drawn with the probabilities `weights`."""
    cumulative = np.cumsum(weights)
    # The last entry may be 1 − 1e−16; dividing keeps every draw inside.
    sizes = np.searchsorted(cumulative / cumulative[-1], rng.random(rows), side="right")
    return sizes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Walks:
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
        return int(self.ranks.size)

    def __len__(self) -> int:
        walks, n_players = self.ranks.shape
        return int(walks * (n_players - 1))

    def masks(self, start: int, stop: int) -> BoolArray:
        """The coalitions `start` … `stop` − 1."""
        steps = self.ranks.shape[1] - 1
        first, last = start // steps, -(-stop // steps)
        if last - first == 1:  # the usual case at large n: broadcast instead of gathering
            places = np.arange(start - first * steps, stop - first * steps)
            places = places.astype(self.ranks.dtype)
            masks: BoolArray = self.ranks[first] <= places[:, None]
            return masks
        walk, place = np.divmod(np.arange(start, stop), steps)
        gathered: BoolArray = self.ranks[walk] <= place.astype(self.ranks.dtype)[:, None]
        return gathered

    def marginal_contributions(self, values: FloatArray, empty: float, full: float) -> FloatArray:
        """Entry (w, k): what the player at place k of walk w added."""
        walks, n_players = self.ranks.shape
        path = np.empty((walks, n_players + 1))
        path[:, 0] = empty
        path[:, 1:-1] = values.reshape(walks, n_players - 1)
        path[:, -1] = full
        return np.diff(path, axis=1)


@dataclass(frozen=True, eq=False)
class SingleMarginals:
    """One marginal contribution per permutation: S and S ∪ {i} for each given player i.

    Row r of `ranks` is a uniform permutation; S holds the `sizes[r]` players that come first
    in it when player `players[r]` is taken out.
    """

    players: IntArray
    sizes: IntArray
    ranks: RankArray

    @property
    def marginals(self) -> int:
        """One for each permutation."""
        return len(self.players)

    def __len__(self) -> int:
        return 2 * len(self.players)

    def masks(self, start: int, stop: int) -> BoolArray:
        """The coalitions `start` … `stop` − 1: S, then S ∪ {i}, for one player after the other."""
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
    """Every coalition of a small game; row r is the bit mask r, player 0 the lowest bit."""

    n_players: int

    @property
    def marginals(self) -> None:
        """Enumeration averages no sampled marginal contributions."""
        return

    def __len__(self) -> int:
        return 1 << self.n_players

    def masks(self, start: int, stop: int) -> BoolArray:
        """The coalitions with the bit masks `start` … `stop` − 1."""
        numbers = np.arange(start, stop, dtype="<u8")
        octets = numbers.view(np.uint8).reshape(-1, 8)
        bits = np.unpackbits(octets, axis=1, bitorder="little", count=self.n_players)
        return bits.view(np.bool_)
