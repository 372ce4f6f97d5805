"""Coalitions of one size as samples for all players at once: covers, strata, their variances."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import random_ranks
from fairshapley.estimators.statistics.moments import Means

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
    masks: BoolArray = (offsets < windows.astype(np.int32)[:, None]) ^ large[:, None]
    return masks


def merge_sums(
    means: Means,
    rows: IntArray,
    counts: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    about: FloatArray,
) -> None:
    """Fold a batch into each of some rows; sums and squares are of deviations from `about`.

    Examples
    --------
    >>> means = Means(1, 1)
    >>> merge_sums(means, np.array([0]), *np.array([[[2.0]], [[0.0]], [[2.0]], [[5.0]]]))
    >>> merge_sums(means, np.array([0]), *np.array([[[1.0]], [[1.0]], [[1.0]], [[7.0]]]))
    >>> means.means, means.squares
    (array([[6.]]), array([[8.]]))
    """
    shifts = sums / np.maximum(counts, 1.0)
    within = squares - sums * shifts
    within[within < ROUNDED_SQUARES * squares] = 0.0
    means.merge_at(rows, counts, about + shifts, within)


@dataclass(eq=False)
class SizeStrata:
    """Utilities of coalitions of each size, with and without every player.

    Every size begins with a cover; what follows are independent uniform coalitions.

    Examples
    --------
    >>> strata = SizeStrata(4, np.array([2]), np.full(4, 0.25))
    >>> halves = np.array([[True, True, False, False], [False, False, True, True]])
    >>> strata.add(np.array([0, 0]), halves, np.array([8.0, 4.0]), covers=True)
    >>> strata.terms()
    array([[ 1.,  1., -1., -1.]])
    """

    n_players: int
    sizes: IntArray
    weights: FloatArray
    """α_0 … α_{n−1}"""
    inside: Means = field(init=False)
    """(sizes, n): over the coalitions that hold the player"""
    outside: Means = field(init=False)
    """(sizes, n): over those that do not"""
    covers: Means = field(init=False)
    """(sizes, 1): over the coalitions of the cover"""
    singles: Means = field(init=False)
    """(sizes, 1): over the independent coalitions"""

    def __post_init__(self) -> None:
        count = len(self.sizes)
        # Counts as floats: they are divided and multiplied by at every turn.
        self.inside, self.outside = (
            Means(count, self.n_players, counts=np.float64) for _ in range(2)
        )
        self.covers, self.singles = (Means(count, 1) for _ in range(2))

    def add(self, rows: IntArray, masks: BoolArray, gains: FloatArray, *, covers: bool) -> None:
        """Fold in utilities of the sizes `rows`, which are in order; NaN was skipped."""
        kept = ~np.isnan(gains)
        if not kept.all():
            rows, masks, gains = rows[kept], masks[kept], gains[kept]
        if not len(rows):
            return
        found, firsts, inverse = np.unique(rows, return_index=True, return_inverse=True)
        totals = np.diff(firsts, append=len(rows))[:, None].astype(np.float64)
        level = np.add.reduceat(gains, firsts)[:, None] / totals
        deviations = gains - level[inverse, 0]
        counts = np.add.reduceat(masks, firsts, axis=0, dtype=np.float64)
        sums, squares = (
            np.add.reduceat(masks * factor[:, None], firsts, axis=0)
            for factor in (deviations, np.square(deviations))
        )
        all_sums, all_squares = (
            np.add.reduceat(power, firsts)[:, None] for power in (deviations, np.square(deviations))
        )
        merge_sums(self.inside, found, counts, sums, squares, level)
        # Those without a player are the others.
        rest = (totals - counts, all_sums - sums, all_squares - squares)
        merge_sums(self.outside, found, *rest, level)
        whole = self.covers if covers else self.singles
        merge_sums(whole, found, totals, all_sums, all_squares, level)

    @property
    def plus(self) -> FloatArray:
        """α_{s−1}, a column."""
        return self.weights[self.sizes - 1][:, None]

    @property
    def minus(self) -> FloatArray:
        """α_s, a column."""
        return self.weights[self.sizes][:, None]

    @property
    def known(self) -> BoolArray:
        """Where a player was both in and out of a coalition of that size."""
        known: BoolArray = (self.inside.counts > 0) & (self.outside.counts > 0)
        return known

    def terms(self) -> FloatArray:
        """What each size adds to each value; NaN where that is not known.

        The mean of v with the player times α_{s−1}, less that without times α_s. The mean of this
        over the players has the expectation (α_{s−1} − α_s)·E[v]: whatever else it is, is noise.
        """
        known = self.known
        total = self.covers.counts + self.singles.counts
        level = self.covers.means * self.covers.counts + self.singles.means * self.singles.counts
        level /= np.maximum(total, 1.0)
        differences = self.plus * (self.inside.means - level)
        differences -= self.minus * (self.outside.means - level)
        differences[~known] = 0.0
        shared = differences.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        terms: FloatArray = differences - shared[:, None] + (self.plus - self.minus) * level
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
        ins, outs = (np.maximum(part.counts, 1.0) for part in (self.inside, self.outside))
        spreads, degrees = np.zeros_like(ins), np.zeros_like(ins)
        a = self.covers.counts * self.sizes[:, None] / self.n_players
        b = self.covers.counts - a
        parts = ((self.inside, self.plus, a), (self.outside, self.minus, b))
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
        free = np.maximum(self.singles.counts - 1.0, 0.0)
        bound = np.maximum(self.covers.counts - 1.0, 0.0)
        single = self.singles.squares / np.maximum(free, 1.0)
        within = self.covers.squares / np.maximum(bound, 1.0)
        both = (free > 0) & (bound > 0)
        scale = float((single * np.square(apart))[both].sum())
        theta = float(((within - single) * apart)[both].sum()) / scale if scale > 0 else 1.0
        theta = min(max(theta, 0.0), 1.0)
        squares = self.singles.squares + self.covers.squares / (1.0 + theta * apart)
        return squares / np.maximum(free + bound, 1.0), free + bound, theta
