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

    proposal: FloatArray

    def weighted(self, values: FloatArray, problem: Problem, base: FloatArray) -> WeightedMarginals:
        """A player at size c has the weight α_c/q'(c)."""
        weights = base[self.sizes] / by_player(self.proposal)[self.players, self.sizes]
        return WeightedMarginals(self.players, self.sizes, values[1::2] - values[::2], weights)


@dataclass(frozen=True, eq=False)
class WeightedWalks(Walks):
    """Uniform permutations, which serve all players alike."""

    def weighted(self, values: FloatArray, problem: Problem, base: FloatArray) -> WeightedMarginals:
        """One marginal contribution of every player for each permutation."""
        places = self.ranks.astype(np.int64)
        by_place = self.marginal_contributions(values, problem.empty, problem.full)
        marginals = np.take_along_axis(by_place, places, axis=1)
        players = np.broadcast_to(np.arange(problem.n_players), places.shape)
        return WeightedMarginals(
            players.ravel(), places.ravel(), marginals.ravel(), self.weights(base).ravel()
        )

    def weights(self, base: FloatArray) -> FloatArray:
        """Entry (w, i): the weight of player i's marginal contribution on walk w."""
        return (len(base) * base)[self.ranks]


@dataclass(frozen=True, eq=False)
class PlacedWalks(WeightedWalks):
    """Whole permutations in which one player was put at a place drawn from its proposal."""

    players: IntArray
    proposal: FloatArray

    def weights(self, base: FloatArray) -> FloatArray:
        """Entry (w, i): the weight of player i's marginal contribution on walk w.

        With j at place c ~ q' and the others uniform, i ≠ j is at place k behind j with
        probability Q(c < k)/(n − 1), where the semivalue has α_k·k/(n − 1): the weight is
        α_k·k/Q(c < k). Before j it is α_k·(n − 1 − k)/Q(c > k). Player j has α_c/q'(c).
        """
        n_players = self.ranks.shape[1]
        q = by_player(self.proposal)[self.players]
        places = np.arange(n_players)
        below = np.zeros_like(q)
        below[:, 1:] = np.cumsum(q, axis=1)[:, :-1]
        above = np.zeros_like(q)
        above[:, :-1] = np.cumsum(q[:, ::-1], axis=1)[:, -2::-1]
        behind = _ratio(base * places, below)
        before = _ratio(base * (n_players - 1 - places), above)
        rows = np.arange(len(self.players))
        own = self.ranks[rows, self.players]
        ranks = self.ranks.astype(np.int64)
        weights = np.where(
            self.ranks > own[:, None],
            np.take_along_axis(behind, ranks, axis=1),
            np.take_along_axis(before, ranks, axis=1),
        )
        weights[rows, self.players] = base[own] / q[rows, own]
        return weights


WeightedDraw: TypeAlias = SelectedMarginals | WeightedWalks


def placed_walks(rng: np.random.Generator, proposal: FloatArray, players: IntArray) -> PlacedWalks:
    """Uniform permutations of the others, each given player at a place from its proposal."""
    places = proposed_sizes(rng, proposal, players)
    ranks = random_ranks(rng, len(players), proposal.shape[-1])
    return PlacedWalks(_put(ranks, players, places), players, proposal)


def selected_marginals(
    rng: np.random.Generator, proposal: FloatArray, players: IntArray
) -> SelectedMarginals:
    """One marginal contribution of each given player, at a size from its proposal."""
    sizes = proposed_sizes(rng, proposal, players)
    ranks = random_ranks(rng, len(players), proposal.shape[-1])
    return SelectedMarginals(players, sizes, ranks, proposal)


def _ratio(numerators: FloatArray, denominators: FloatArray) -> FloatArray:
    """Quotients; 0 where the denominator is 0, the probability of what never happens."""
    possible = denominators > 0
    return np.where(possible, numerators / np.where(possible, denominators, 1.0), 0.0)


def _put(ranks: RankArray, players: IntArray, places: IntArray) -> RankArray:
    """Move each row's player to its place; the others keep their order."""
    rows = np.arange(len(players))
    own = ranks[rows, players][:, None]
    to = places.astype(ranks.dtype)[:, None]
    others = ranks - (ranks > own)
    moved: RankArray = others + (others >= to)
    moved[rows, players] = to[:, 0]
    return moved
