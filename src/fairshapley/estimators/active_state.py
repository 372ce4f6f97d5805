"""What greedy active estimation keeps, and how a round becomes weighted marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._types import FloatArray, IntArray
from fairshapley.draws import Draw, SingleMarginals, Walks
from fairshapley.estimators.averages import Average
from fairshapley.estimators.base import Estimate, Problem
from fairshapley.estimators.epochs import Epochs
from fairshapley.estimators.placed_walks import PlacedWalks
from fairshapley.estimators.proposal import SizeStatistics, size_weights
from fairshapley.estimators.selection import Heap, invariability


@dataclass(eq=False)
class ActiveState:
    """What was told: moments by player and by size, and what follows from them."""

    problem: Problem
    base: FloatArray
    """α_k of the semivalue"""
    xi: float
    sizes: SizeStatistics
    bootstrap: Average
    average: Average
    """All contributions that are kept; the bootstrap itself when it is"""
    proposal: FloatArray | None
    """q', by size or by player and size; None until it is learned"""
    bootstrapped: int = 0
    """Marginals of the bootstrap told so far"""
    sampled: int = 0
    """Marginals told after it"""
    invariabilities: FloatArray | None = None
    heap: Heap | None = None
    epochs: Epochs | None = None


def weighted_marginals(
    state: ActiveState, draw: Draw, values: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Players, sizes, marginal contributions and weights of a round, as flat arrays."""
    if isinstance(draw, SingleMarginals):
        assert state.proposal is not None  # noqa: S101 - the sizes were drawn from it
        weights = size_weights(state.base, state.proposal, draw.players, draw.sizes)
        return draw.players, draw.sizes, values[1::2] - values[::2], weights
    assert isinstance(draw, Walks)  # noqa: S101 - what `ask` gave
    problem = state.problem
    sizes = draw.ranks.astype(np.int64)
    by_place = draw.marginal_contributions(values, problem.empty, problem.full)
    marginals = np.take_along_axis(by_place, sizes, axis=1)
    if isinstance(draw, PlacedWalks):
        assert state.proposal is not None  # noqa: S101 - the places were drawn from it
        weights = draw.weights(state.base, state.proposal)
    else:
        weights = (problem.n_players * state.base)[sizes]
    players = np.broadcast_to(np.arange(problem.n_players), sizes.shape)
    return players.ravel(), sizes.ravel(), marginals.ravel(), weights.ravel()


def told_invariability(state: ActiveState, players: IntArray | slice) -> FloatArray:
    """r_i of the contributions told: those that are averaged, or else the bootstrap's."""
    average = state.average if state.average.counts[players].min() > 1 else state.bootstrap
    return invariability(average.values[players], average.variances_of_one(players), state.xi)


def estimate_of(average: Average) -> Estimate:
    """Values, variances of the means, and counts."""
    counts = average.counts
    values = np.where(counts > 0, average.values, np.nan)
    variances = average.variances_of_one(slice(None)) / np.maximum(counts, 1)
    return Estimate(values, variances, counts.copy(), extremes=average.extremes())
