"""Owen and Sobol as the paper counts them: one marginal contribution of each permutation.

Plain Owen sampling with a level for each set needs no form of its own: a set that holds every
other player with probability q, q uniform, has a uniform size and is uniform among the sets of
that size, as the predecessors in a random permutation are. One marginal of it is one of
``MonteCarlo(walk=False)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.draws import SingleMarginals
from fairshapley.draws.sphere import sobol_ranks
from fairshapley.estimators.walks.monte_carlo import MonteCarlo, MonteCarloState

POINTS = 32
"""The points of one scrambled Sobol sequence, as in `fairshapley.Sobol`"""


@dataclass(frozen=True, kw_only=True)
class SingleAntithetic(MonteCarlo):
    """A player's marginal on a random set, and on the complement of the set: Owen, antithetic.

    The mean of the two is one contribution; Shapley values only, whose levels mirror each other.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(4, coalitions=[[0, 1], [1, 2], [3]], weights=[2, 4, 1])
    >>> fs.estimate(game, SingleAntithetic(), budget=fs.Budget(marginals=8), seed=0).values
    array([1., 3., 2., 1.])
    """

    name = "owen-single"

    walk: bool = False

    def ask(self, state: MonteCarloState, rng: np.random.Generator) -> SingleMarginals | None:
        """The sets of the players in turn, each followed by its mirror image."""
        half = super().ask(state, rng)
        assert isinstance(half, SingleMarginals)  # noqa: S101 - for the types: walk is False
        last = np.asarray(state.problem.n_players - 1, dtype=half.ranks.dtype)
        sizes = np.stack([half.sizes, last - half.sizes], axis=1).ravel()
        ranks = np.stack([half.ranks, last - half.ranks], axis=1).reshape(-1, half.ranks.shape[1])
        return SingleMarginals(np.repeat(half.players, 2), sizes, ranks)

    def tell(self, state: MonteCarloState, draw: Any, values: FloatArray) -> None:
        """Fold in the means of the pairs."""
        pairs = (values[1::2] - values[::2]).reshape(-1, 2).mean(axis=1)
        state.moments.add_at(draw.players[::2], pairs, once=True)
        state.turn = int(draw.players[-1] + 1) % state.problem.n_players


@dataclass(frozen=True, kw_only=True)
class SingleSobol(MonteCarlo):
    """One marginal of each permutation of a scrambled Sobol sequence, players in turn.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0])
    >>> fs.estimate(game, SingleSobol(), budget=fs.Budget(marginals=64), seed=0).values
    array([1., 2., 3., 4.])
    """

    name = "sobol-single"

    walk: bool = False

    def ask(self, state: MonteCarloState, rng: np.random.Generator) -> SingleMarginals | None:
        """The next players, each at its place in a permutation of its own."""
        n_players = state.problem.n_players
        ranks = sobol_ranks(rng, POINTS, n_players)
        players = (state.turn + np.arange(POINTS)) % n_players
        return SingleMarginals(players, ranks[np.arange(POINTS), players].astype(int), ranks)

    def tell(self, state: MonteCarloState, draw: Any, values: FloatArray) -> None:
        """Fold in the marginals; a player may come several times."""
        state.moments.add_at(draw.players, values[1::2] - values[::2])
        state.turn = int(draw.players[-1] + 1) % state.problem.n_players
