"""Coalitions of one size as samples for all players at once: covers, strata, their variances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import random_ranks

# Below this share of Σx², Σx² − (Σx)²/m is rounding: m·1e−16 for some hundred samples of a batch.
ROUNDED_SQUARES = 1e-13


def cover_lengths(n_players: int, sizes: IntArray) -> IntArray:
    """The coalitions of one cover: ⌈n/s⌉, or ⌈n/(n − s)⌉ for sizes above n/2.

    Examples
    --------
    >>> cover_lengths(10, np.array([2, 3, 5, 8]))
    array([5, 4, 2, 5])
    """
    return -(-n_players // np.minimum(sizes, n_players - sizes))


def random_covers(rng: np.random.Generator, n_players: int, sizes: IntArray) -> BoolArray:
    """One cover for each of the given sizes, one after the other.

    The players stand in a circle in random order. A cover of size s ≤ n/2 is the window of the
    first s players, that of the next s, and so on until everyone was in one; the last window runs
    over into the first. For sizes above n/2 the windows are what is left out. So every player is
    in one coalition of a cover at least, and out of one at least.

    Examples
    --------
    >>> masks = random_covers(np.random.default_rng(0), 5, np.array([2, 3]))
    >>> masks.sum(axis=1)
    array([2, 2, 2, 3, 3, 3])
    >>> bool(masks[:3].any(axis=0).all()), bool(masks[3:].all(axis=0).any())
    (True, False)
    """
    lengths = cover_lengths(n_players, sizes)
    ranks = random_ranks(rng, len(sizes), n_players).astype(np.int32)
    cover = np.repeat(np.arange(len(sizes)), lengths)
    places = np.arange(len(cover)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    windows = np.minimum(sizes, n_players - sizes)[cover]
    offsets = ranks[cover] - (places * windows).astype(np.int32)[:, None]
    offsets[offsets < 0] += n_players
    large = 2 * sizes[cover] > n_players
    return (offsets < windows.astype(np.int32)[:, None]) ^ large[:, None]


class Deviations(NamedTuple):
    """Of the utilities of each size from one number for all of them."""

    counts: FloatArray
    means: FloatArray
    squares: FloatArray
    """Σ(x − mean)²"""

    @classmethod
    def of(cls, powers: FloatArray) -> Deviations:
        """From how many there are, their sum and the sum of their squares."""
        counts, sums, squares = powers
        means = sums / np.maximum(counts, 1.0)
        within = squares - sums * means
        return cls(counts, means, np.where(within < ROUNDED_SQUARES * squares, 0.0, within))


class SizeStrata:
    """Utilities of coalitions of each size, with and without every player.

    Every size begins with a cover; what follows are independent uniform coalitions. Kept are sums
    of the utilities' powers 0, 1 and 2, counted from the mean of the first ones of each size.

    Parameters
    ----------
    n_players, sizes
        The number of players, and the sizes.
    weights
        α_0 … α_{n−1}.

    Examples
    --------
    >>> strata = SizeStrata(4, np.array([2]), np.full(4, 0.25))
    >>> halves = np.array([[True, True, False, False], [False, False, True, True]])
    >>> strata.add(np.array([0, 0]), halves, np.array([8.0, 4.0]), covers=True)
    >>> strata.terms()
    array([[ 1.,  1., -1., -1.]])
    """

    def __init__(self, n_players: int, sizes: IntArray, weights: FloatArray) -> None:
        self.n_players, self.sizes = n_players, sizes
        self.plus, self.minus = weights[sizes - 1][:, None], weights[sizes][:, None]
        """α_{s−1} and α_s, columns"""
        self.level: FloatArray = np.full(len(sizes), np.nan)
        """What the utilities of each size are counted from"""
        self._inside: FloatArray = np.zeros((3, len(sizes), n_players))
        """(3, sizes, n): over the coalitions that hold the player"""
        self._covers, self._singles = np.zeros((2, 3, len(sizes), 1))
        """(3, sizes, 1): over the coalitions of the covers, and over the independent ones"""

    @property
    def inside(self) -> Deviations:
        """Over the coalitions that hold the player, (sizes, n)."""
        return Deviations.of(self._inside)

    @property
    def outside(self) -> Deviations:
        """Over those that do not."""
        return Deviations.of(self._covers + self._singles - self._inside)

    def add(self, rows: IntArray, masks: BoolArray, gains: FloatArray, *, covers: bool) -> None:
        """Fold in utilities of the sizes `rows`, which are in order; NaN was skipped."""
        kept = ~np.isnan(gains)
        if not kept.all():
            rows, masks, gains = rows[kept], masks[kept], gains[kept]
        count, n_sizes = len(rows), len(self.sizes)
        found = np.bincount(rows, minlength=n_sizes)
        means = np.bincount(rows, gains, n_sizes) / np.maximum(found, 1)
        self.level = np.where(np.isnan(self.level) & (found > 0), means, self.level)
        off = gains - self.level[rows]
        powers = np.concatenate([np.ones(count), off, np.square(off)])
        # A sparse row for each power and size; the last column of the product is over all of them.
        ends = np.cumsum(np.concatenate([[0], found, found, found]))
        shape = (3 * n_sizes, count)
        by_size = csr_array((powers, np.tile(np.arange(count), 3), ends), shape=shape)
        numbers = np.ones((count, self.n_players + 1))
        numbers[:, :-1] = masks
        sums = (by_size @ numbers).reshape(3, n_sizes, -1)
        self._inside += sums[:, :, :-1]
        whole = self._covers if covers else self._singles
        whole += sums[:, :, -1:]

    @property
    def coalitions(self) -> int:
        """How many were folded in."""
        return int((self._covers + self._singles)[0].sum())

    @property
    def known(self) -> BoolArray:
        """Where a player was both in and out of a coalition of that size."""
        return (self.inside.counts > 0) & (self.outside.counts > 0)

    def terms(self) -> FloatArray:
        """What each size adds to each value; NaN where that is not known.

        The mean of v with the player times α_{s−1}, less that without times α_s. The mean of this
        over the players has the expectation (α_{s−1} − α_s)·E[v]: whatever else it is, is noise.
        """
        known, middle = self.known, Deviations.of(self._covers + self._singles).means
        differences = self.plus * (self.inside.means - middle)
        differences -= self.minus * (self.outside.means - middle)
        differences[~known] = 0.0
        shared = differences.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        expected = (self.plus - self.minus) * (self.level[:, None] + middle)
        terms: FloatArray = differences - shared[:, None] + expected
        return np.where(known, terms, np.nan)

    def variances(self) -> tuple[FloatArray, FloatArray]:
        """The variance of each term and its degrees of freedom; 0 degrees say that it is unknown.

        Given who is in which coalition, independent coalitions give α²_{s−1}·σ²/m⁺ + α²_s·σ²/m⁻,
        since none serves two strata of a player. Two of a cover have the correlation −θ·w/(n − w),
        w = min(s, n − s): θ = 1 on additive games, 0 where disjoint coalitions have nothing to do
        with each other. With a of a player's m⁺ and b of its m⁻ coalitions in the cover, this adds
        its multiple of σ² times (a² − a)·α²_{s−1}/m⁺² + (b² − b)·α²_s/m⁻² − 2ab·α_{s−1}α_s/(m⁺m⁻).
        """
        overlap = np.minimum(self.sizes, self.n_players - self.sizes)[:, None]
        apart = overlap / (self.n_players - overlap)
        pooled, pooled_degrees, theta = self._pooled(apart)
        inside, outside = self.inside, self.outside
        ins, outs = (np.maximum(part.counts, 1.0) for part in (inside, outside))
        spreads, degrees = np.zeros_like(ins), np.zeros_like(ins)
        a = self._covers[0] * self.sizes[:, None] / self.n_players
        b = self._covers[0] - a
        parts = ((inside, self.plus, a), (outside, self.minus, b))
        for part, weight, covered in parts:
            # Those of the cover differ too much from each other to tell the variance alone.
            own = part.counts > 1.0 + covered
            squared = np.where(own, part.squares / np.maximum(part.counts - 1.0, 1.0), pooled)
            spreads += np.square(weight) * squared / np.maximum(part.counts, 1.0)
            degrees += np.where(own, part.counts - 1.0, 0.0)
        cross = (np.square(a) - a) * np.square(self.plus / ins)
        cross += (np.square(b) - b) * np.square(self.minus / outs)
        cross -= 2.0 * a * b * self.plus * self.minus / (ins * outs)
        spreads -= theta * apart * pooled * cross
        return np.maximum(spreads, 0.0), np.where(degrees > 0, degrees, pooled_degrees)

    def _pooled(self, apart: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """σ² of each size over all its coalitions, its degrees of freedom, and θ.

        The coalitions of a cover differ by (1 + θ·w/(n − w))·σ² in the mean; one θ for all sizes is
        what fits best where both are known, within 0 … 1; until then 1.
        """
        singles, covers = Deviations.of(self._singles), Deviations.of(self._covers)
        free, bound = (np.maximum(part.counts - 1.0, 0.0) for part in (singles, covers))
        single = singles.squares / np.maximum(free, 1.0)
        within = covers.squares / np.maximum(bound, 1.0)
        both = (free > 0) & (bound > 0)
        scale = float((single * np.square(apart))[both].sum())
        theta = float(((within - single) * apart)[both].sum()) / scale if scale > 0 else 1.0
        theta = min(max(theta, 0.0), 1.0)
        squares = singles.squares + covers.squares / (1.0 + theta * apart)
        return squares / np.maximum(free + bound, 1.0), free + bound, theta
