"""What greedy active estimation asks for: marginals and permutations that know their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import RankArray, SingleMarginals, Walks, random_ranks
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


@dataclass(frozen=True, eq=False)
class PlacedWalks(WeightedWalks):
    """Whole permutations in which one player was put at a place drawn from its proposal."""

    players: IntArray


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


def placed_walks(
    rng: np.random.Generator, proposal: FloatArray, base: FloatArray, players: IntArray
) -> PlacedWalks:
    """Draw uniform permutations of the others, each given player at a place from its proposal."""
    places = proposed_sizes(rng, proposal, players)
    ranks = random_ranks(rng, len(players), len(base))
    rows = np.arange(len(players))
    # Move each player to its place; the others keep their order.
    to = places.astype(ranks.dtype)[:, None]
    ranks -= ranks > ranks[rows, players][:, None]
    ranks += ranks >= to
    ranks[rows, players] = to[:, 0]
    return PlacedWalks(ranks, placed_weights(ranks, players, proposal, base), players)


def placed_weights(
    ranks: RankArray, players: IntArray, proposal: FloatArray, base: FloatArray
) -> FloatArray:
    """Return the weight of player i's marginal contribution on walk w, entry (w, i).

    With j at place c ~ q' and the others uniform, i ≠ j is at place k behind j with probability
    Q(c < k)/(n − 1), where the semivalue has α_k·k/(n − 1): the weight is α_k·k/Q(c < k). Before
    j it is α_k·(n − 1 − k)/Q(c > k). Player j has α_c/q'(c).
    """
    n_players, rows = len(base), np.arange(len(players))
    q, places = by_player(proposal)[players], np.arange(n_players)
    below, above = np.zeros((2, *q.shape))
    below[:, 1:] = np.cumsum(q, axis=1)[:, :-1]
    above[:, :-1] = np.cumsum(q[:, ::-1], axis=1)[:, -2::-1]
    own = ranks[rows, players]
    is_behind = ranks > own[:, None]
    # Places that never happen have the weight 0.
    behind = np.divide(base * places, below, out=np.zeros_like(q), where=below > 0)
    before = np.divide(base * places[::-1], above, out=np.zeros_like(q), where=above > 0)
    at = ranks.astype(np.int64)
    weights = np.where(
        is_behind, np.take_along_axis(behind, at, axis=1), np.take_along_axis(before, at, axis=1)
    )
    weights[rows, players] = base[own] / q[rows, own]
    return weights
