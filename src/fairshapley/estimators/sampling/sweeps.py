"""Sweeps: stratified sampling before every stratum of every player has been reached.

A sweep cuts a player's marginal contributions into B blocks of equal probability and draws *two*
independent ones from each block: two, because the difference of a pair says how much a block
varies, whatever the blocks' means are. Blocks come in random order, so that a sweep which the
budget cuts off is a simple random sample of blocks: its mean is unbiased at every stop, and the
variance of two-stage sampling (Cochran 1977, eq. 10.15) is estimated without bias from it.
"""

from __future__ import annotations

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.moments import Means
from fairshapley.estimators.sampling.strata import Part

# A turn is two blocks: from one alone the variance between the blocks could not be told.
BLOCKS_PER_TURN = 2


class Sweep:
    """One sweep of every player over its blocks, players in turn.

    Examples
    --------
    >>> sweep = Sweep(n_players=2, blocks=1)
    >>> sweep.add(np.array([0]), np.array([[0]]), np.array([[[1.0, 3.0]]]))
    >>> usable, part = sweep.summary()
    >>> usable, part.values, part.variances
    (array([1, 0]), array([ 2., nan]), array([ 1., nan]))
    """

    def __init__(self, n_players: int, blocks: int) -> None:
        self.n_players = n_players
        self.blocks = blocks
        self.turn = 0
        self.visited: BoolArray = np.zeros((n_players, blocks), dtype=bool)
        self.between = Means(n_players)
        """The means of the pairs"""
        self.within: FloatArray = np.zeros(n_players)
        """The sum of the pairs' variances"""
        self.within_norm: FloatArray = np.zeros(n_players)
        """The root of the sum of their squares"""
        self.pairs: IntArray = np.zeros(n_players, dtype=np.int64)
        """The pairs of which no evaluation was skipped"""

    @property
    def finished(self) -> bool:
        """Whether every player has visited every block."""
        return self.turn >= self.n_players * -(-self.blocks // BLOCKS_PER_TURN)

    def choose(self, rng: np.random.Generator, marginals: int) -> tuple[IntArray, IntArray]:
        """Return the next players and the blocks of each, for about so many marginals."""
        lap, first = divmod(self.turn, self.n_players)
        visits = min(BLOCKS_PER_TURN, self.blocks - BLOCKS_PER_TURN * lap)
        turns = max(1, marginals // (2 * visits))
        players = np.arange(first, min(self.n_players, first + turns))
        order = rng.random((len(players), self.blocks))
        order[self.visited[players]] = 2.0  # behind every block that was not visited
        if visits == self.blocks:
            return players, np.argsort(order, axis=1)
        return players, np.argpartition(order, visits - 1, axis=1)[:, :visits]

    def add(self, players: IntArray, blocks: IntArray, pairs: FloatArray) -> None:
        """Fold in the pairs of contributions, shape (players, blocks of a player, 2)."""
        self.visited[players[:, None], blocks] = True
        self.turn += len(players)
        valid = ~np.isnan(pairs)
        both = valid.all(axis=2)
        kept = np.where(valid, pairs, 0.0).sum(axis=2)
        means = np.where(valid.any(axis=2), kept / np.maximum(valid.sum(axis=2), 1), np.nan)
        halves = np.where(both, 0.5 * np.square(pairs[:, :, 1] - pairs[:, :, 0]), 0.0)
        self.within[players] += halves.sum(axis=1)
        norms = np.hypot.reduce(halves, axis=1)
        self.within_norm[players] = np.hypot(self.within_norm[players], norms)
        self.pairs[players] += both.sum(axis=1)
        for column in means.T:
            self.between.add_at(players, column, once=True)

    def summary(self) -> tuple[IntArray, Part]:
        """Return how many blocks count for each player, and the mean over them with its variance.

        With P of B blocks visited, variance s₁² of the pairs' means and mean variance s₂² within
        the pairs: (1 − P/B)·s₁²/P + s₂²/(2B). s₁² has P − 1 degrees of freedom and every pair 1
        of its own, since blocks differ in how much they vary.
        """
        counts = self.between.counts
        whole = counts == self.blocks
        usable = np.where(whole | (counts > 1), counts, 0)
        cut_off = np.where(whole, 0.0, self.between.variances_of_means) * (
            1.0 - counts / self.blocks
        )
        share = 1.0 / (2.0 * self.blocks * np.maximum(self.pairs, 1))
        inside = np.where(self.pairs > 0, self.within, np.nan) * share
        degrees = np.where(whole, 0.0, np.maximum(counts - 1.0, 0.0))
        variance_errors = np.hypot(
            cut_off / np.sqrt(degrees + 2.0), self.within_norm * share / np.sqrt(3.0)
        )
        values = np.where(usable > 0, self.between.means, np.nan)
        return usable, Part(values, cut_off + inside, variance_errors, degrees + self.pairs)
