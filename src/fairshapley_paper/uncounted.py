"""GAE as the published numbers of P2–P4 count it: a permutation's n marginals for the price of one.

There the paper's code evaluates all n marginal contributions of every permutation that it draws for
one player, keeps them all, and counts one. All have one weight, 1/(n·q'(c)) of the player that was
placed: it is the likelihood ratio of the whole permutation, and so right for everybody on it. Here
that form is there, and one in which each player has a weight of its own (see
`PlacedWalks.weights`), which varies less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.estimators.greedy.greedy_active import ActiveState, GreedyActive
from fairshapley.estimators.greedy.weighted_draws import PlacedWalks, WeightedDraw


@dataclass(frozen=True, eq=False)
class UncountedWalks(PlacedWalks):
    """Whole permutations that are counted as one marginal each."""

    @property
    def marginals(self) -> int:
        """One for each permutation."""
        return len(self.players)


@dataclass(frozen=True, eq=False)
class OneWeightWalks(UncountedWalks):
    """Whole permutations on which all players have the weight of the one that was placed."""

    def weights(self, base: FloatArray) -> FloatArray:
        """Entry (w, i), the same for every i."""
        rows = np.arange(len(self.players))
        own = super().weights(base)[rows, self.players]
        return np.repeat(own[:, None], self.ranks.shape[1], axis=1)


@dataclass(frozen=True, kw_only=True)
class UncountedGreedy(GreedyActive):
    """Greedy active estimation by whole permutations, of which one marginal is counted.

    Parameters
    ----------
    one_weight
        Whether all marginals of a permutation have the weight of the player that was placed.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(12, seed=0)
    >>> method = UncountedGreedy(bootstrap=4)
    >>> result = fs.estimate(game, method, budget=fs.Budget(marginals=4 * 12 + 6), seed=0)
    >>> result.marginals, result.counts.sum() == (4 + 6) * 12
    (54, np.True_)
    """

    name = "gae-uncounted"

    reuse: Literal["single", "walk"] = "walk"
    one_weight: bool = False

    def ask(self, state: ActiveState, rng: np.random.Generator) -> WeightedDraw | None:
        """As for GAE, but that a permutation after the bootstrap counts one marginal."""
        draw = super().ask(state, rng)
        if isinstance(draw, PlacedWalks):
            kind = OneWeightWalks if self.one_weight else UncountedWalks
            return kind(draw.ranks, draw.players, draw.proposal)
        return draw
