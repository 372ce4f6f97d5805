"""Pairs of a coalition and its complement, by size, drawn without replacement."""

from __future__ import annotations

import math

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import random_sets

# Classes of up to 2**18 pairs are visited in a random order that is kept, 4 bytes a pair; all
# classes of 20 players are among them. In a larger one, m pairs drawn independently hold some
# m²/2**19 repetitions, one in a hundred at m = 5000, and a repetition costs no evaluation.
MAX_LISTED = 1 << 18


class PairClasses:
    """The pairs {z, N∖z}, in classes by the smaller size s = 1 … ⌊n/2⌋.

    Examples
    --------
    >>> classes = PairClasses(4)
    >>> classes.sizes, classes.pairs, classes.shares
    (array([1, 2]), array([4., 3.]), array([1. , 0.5]))
    """

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players
        self.sizes: IntArray = np.arange(1, n_players // 2 + 1)
        middle = 2 * self.sizes == n_players
        self.shares: FloatArray = np.where(middle, 0.5, 1.0)
        """Half the sizes that a class holds: it is visited in proportion to them"""
        counts = [math.comb(n_players, size) >> int(2 * size == n_players) for size in self.sizes]
        self.pairs: FloatArray = np.array([min(count, 1 << 62) for count in counts], dtype=float)
        """How many pairs there are, up to 2**62"""
        self.listed: BoolArray = self.pairs <= MAX_LISTED

    def __len__(self) -> int:
        return len(self.sizes)

    def random_orders(self, rng: np.random.Generator) -> list[IntArray]:
        """For each listed class an order of all its pairs; they are the smallest and come first."""
        return [
            rng.permutation(np.arange(count, dtype=np.uint32))
            for count in self.pairs[self.listed].astype(np.int64)
        ]

    def choose(self, rng: np.random.Generator, asked: IntArray, count: int) -> IntArray:
        """The classes of the next pairs, fewer than `count` when nothing else is left.

        First comes every pair of a single player and all others. From then on the j-th visit of a
        class falls at a random moment of its j-th turn; turns are as long as one over its share.
        The next visits are the earliest: at every moment all classes were visited in proportion to
        their shares, but for the turn in progress.
        """
        # No end where they are not listed.
        limits = np.where(self.listed, self.pairs, np.inf)
        if len(self) and asked[0] < limits[0]:
            return np.zeros(min(count, int(limits[0] - asked[0])), dtype=np.int64)
        roomy = int((limits - asked >= count).sum())
        most = min(count, 2 + 2 * -(-count // roomy)) if roomy else count
        visits = asked[:, None] + np.arange(most)
        moments = (visits + rng.random(visits.shape)) / self.shares[:, None]
        moments[visits >= limits[:, None]] = np.inf
        flat = moments.reshape(-1)
        count = min(count, int(np.isfinite(flat).sum()))
        earliest = np.sort(np.argsort(flat)[:count])
        return earliest // most

    def draw(
        self, rng: np.random.Generator, chosen: IntArray, asked: IntArray, orders: list[IntArray]
    ) -> BoolArray:
        """One coalition of the smaller size for each chosen class; `chosen` is in order."""
        n_players = self.n_players
        firsts = np.searchsorted(chosen, chosen)  # where the run of the same class begins
        numbers = asked[chosen] + np.arange(len(chosen)) - firsts
        masks: BoolArray = np.empty((len(chosen), n_players), dtype=bool)
        free = ~self.listed[chosen]
        masks[free] = random_sets(rng, self.sizes[chosen[free]], n_players)
        for index in np.unique(chosen[~free]):
            rows = np.flatnonzero(chosen == index)
            masks[rows] = self._listed(int(index), orders[index][numbers[rows]].astype(np.int64))
        return masks

    def _listed(self, index: int, numbers: IntArray) -> BoolArray:
        """Pairs of a class by their numbers, each as its coalition of the smaller size."""
        size = int(self.sizes[index])
        if 2 * size < self.n_players:
            return bits.unrank(numbers, self.n_players, size)
        # Of two halves, the one that holds the last player stands for the pair.
        rest = bits.unrank(numbers, self.n_players - 1, size - 1)
        return np.pad(rest, ((0, 0), (0, 1)), constant_values=True)
