"""GAE as the published numbers of P2–P4 count it: a permutation's n marginals for the price of one.

There the paper's code evaluates all n marginal contributions of every permutation that it draws for
one player, keeps them all, and counts one. Its weight is right for the chosen player alone; here
each has its own (see `PlacedWalks.weights`), so that only the counting is different.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairshapley.estimators.greedy.greedy_active import GreedyActive
from fairshapley.estimators.greedy.state import ActiveState
from fairshapley.estimators.greedy.weighted_draws import PlacedWalks, WeightedDraw


@dataclass(frozen=True, eq=False)
class UncountedWalks(PlacedWalks):
    """Whole permutations that are counted as one marginal each."""

    @property
    def marginals(self) -> int:
        """One for each permutation."""
        return len(self.players)


@dataclass(frozen=True, kw_only=True)
class UncountedGreedy(GreedyActive):
    """Greedy active estimation by whole permutations, of which one marginal is counted.

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

    def ask(self, state: ActiveState, rng: np.random.Generator) -> WeightedDraw | None:
        """As for GAE, but that a permutation after the bootstrap counts one marginal."""
        draw = super().ask(state, rng)
        if isinstance(draw, PlacedWalks):
            return UncountedWalks(draw.ranks, draw.players, draw.proposal)
        return draw
