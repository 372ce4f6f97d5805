"""What greedy active estimation asks for: marginals and permutations that know their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import SingleMarginals, Walks, random_ranks
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.greedy.proposal import by_player, proposed_sizes


class WeightedMarginals(NamedTuple):
    """Marginal contributions in flat arrays, each with its player, its size and its weight."""

    players: IntArray
    sizes: IntArray
    marginals: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class SelectedMarginals(SingleMarginals):
    """Marginal contributions of selected players, at sizes drawn from their proposals."""

    weights: FloatArray
    """α_c/q'(c) for size c"""

    def cut(self, coalitions: int) -> None:
        """Return None: what is selected is a round as a whole."""

    def weighted(self, values: FloatArray, problem: Problem) -> WeightedMarginals:
        """Return one marginal contribution for each selected player."""
        marginals = values[1::2] - values[::2]
        return WeightedMarginals(self.players, self.sizes, marginals, self.weights)


@dataclass(frozen=True, eq=False)
class WeightedWalks(Walks):
    """Whole permutations, which serve all players."""

    weights: FloatArray
    """Entry (w, i): the weight of the marginal contribution of player i on walk w"""

    def weighted(self, values: FloatArray, problem: Problem) -> WeightedMarginals:
        """Return one marginal contribution of every player for each permutation."""
        places = self.ranks.astype(np.int64)
        by_place = self.marginal_contributions(values, problem.empty, problem.full)
        marginals = np.take_along_axis(by_place, places, axis=1)
        players = np.broadcast_to(np.arange(problem.n_players), places.shape)
        return WeightedMarginals(
            players.ravel(), places.ravel(), marginals.ravel(), self.weights.ravel()
        )


WeightedDraw: TypeAlias = SelectedMarginals | WeightedWalks


def uniform_walk(rng: np.random.Generator, base: FloatArray) -> WeightedWalks:
    """Draw one uniform permutation: a marginal at place k has the weight n·α_k."""
    ranks = random_ranks(rng, 1, len(base))
    return WeightedWalks(ranks, (len(base) * base)[ranks])


def selected_marginals(
    rng: np.random.Generator, proposal: FloatArray, base: FloatArray, players: IntArray
) -> SelectedMarginals:
    """Draw one marginal contribution of each given player, at a size from its proposal."""
    sizes = proposed_sizes(rng, proposal, players)
    ranks = random_ranks(rng, len(players), len(base))
    weights = base[sizes] / by_player(proposal)[players, sizes]
    return SelectedMarginals(players, sizes, ranks, weights)
