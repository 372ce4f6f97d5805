"""Orthogonal: walks on permutations from orthogonal directions on the sphere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics import checks
from fairshapley.draws.permutations import RankArray
from fairshapley.draws.sphere import orthogonal_ranks
from fairshapley.estimators.sampling.spread import SpreadWalks

# One vector and its negative are the antithetic pair, which `MonteCarlo` has; two are the first
# group that is more, and five groups of their four walks fit into 20 evaluations per player.
FIRST_VECTORS = 2


@dataclass(frozen=True, kw_only=True)
class Orthogonal(SpreadWalks):
    """Walks on orthogonal spherical permutations (Mitchell et al. 2022, algorithm 3).

    A group takes k orthonormal directions in the hyperplane Σ x_i = 0 with their negatives: 2k
    walks. The negatives cancel all that is odd in the direction, and a complete basis of n − 1
    directions all that is quadratic too. The group's mean is one contribution, so that the
    standard errors hold although its walks are correlated (the paper's variance table).

    Parameters
    ----------
    vectors
        The directions of the largest group; None is the complete basis of n − 1. Groups start
        with 2 directions and double when sixteen of the larger ones would fit into what was done
        before, because 2(n − 1) walks are more than most budgets hold a few times.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.sampling.orthogonal import Orthogonal
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> fs.estimate(game, Orthogonal(), budget=30, seed=0).values.round(6)
    array([1., 2., 3., 4., 5.])
    """

    name = "orthogonal"

    vectors: int | None = None

    def __post_init__(self) -> None:
        if self.vectors is not None:
            remedy = "give None for the complete basis"
            checks.settle(self, vectors=checks.whole("vectors", self.vectors, remedy=remedy))

    def group_sizes(self, n_players: int) -> tuple[int, int]:
        """Return the walks of the first and of the largest group."""
        complete = max(1, n_players - 1)
        largest = complete if self.vectors is None else min(self.vectors, complete)
        return 2 * FIRST_VECTORS, 2 * largest

    def draw_group(self, rng: np.random.Generator, walks: int, n_players: int) -> RankArray:
        """Draw the permutations of one group."""
        return orthogonal_ranks(rng, walks // 2, n_players)
