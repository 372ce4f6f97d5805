"""Monte Carlo: the mean of marginal contributions on random permutations (Castro et al. 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import SingleMarginals, Walks, random_ranks, random_sizes
from fairshapley.draws.permutations import with_reverses
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Problem, Traits
from fairshapley.estimators.rounds import ROUND_MARGINALS, walks_of_round
from fairshapley.estimators.sampling.family import Sampling, SamplingState, group_means
from fairshapley.unions import OwenValue


@dataclass(frozen=True, kw_only=True)
class MonteCarlo(Sampling[Walks | SingleMarginals]):
    """Monte Carlo estimation from permutations drawn uniformly.

    Parameters
    ----------
    walk
        True: every player's marginal contribution on each permutation, n − 1 evaluations for n
        marginals. False: the paper's form, one marginal of one player per permutation (up to two
        evaluations), players in turn; the estimates are then independent of each other.
    antithetic
        Take each permutation with its reverse. The pair's mean is one contribution, so that the
        standard errors hold although the two are correlated. Needs ``walk=True``.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0, 3.0])
    >>> fs.estimate(game, fs.MonteCarlo(), budget=6, seed=0).values
    array([1., 2., 3.])
    """

    name = "mc"

    walk: bool = True
    antithetic: bool = False

    def __post_init__(self) -> None:
        flags = {name: checks.flag(name, getattr(self, name)) for name in ("walk", "antithetic")}
        checks.set_fields(self, **flags)
        if self.antithetic and not self.walk:
            raise InputError(
                "antithetic permutations need whole walks: use MonteCarlo(antithetic=True), "
                "or MonteCarlo(walk=False) without it"
            )

    @property
    def traits(self) -> Traits:
        """Unbiased and linear; independent only when no permutation serves two players."""
        return Traits(efficient=self.walk, independent=not self.walk)

    @property
    def takes_unions(self) -> bool:
        """Walks can keep unions together; single marginals cannot."""
        return self.walk

    def weights(self, problem: Problem) -> FloatArray:
        """Return n·α_k for walks, whose places are uniform, and α_k for single marginals."""
        alone = problem.semivalue.weights(problem.n_players)
        return super().weights(problem) if self.walk else alone

    def ask(self, state: SamplingState, rng: np.random.Generator) -> Walks | SingleMarginals | None:
        """Draw a few permutations: whole walks, or one marginal of each of the next players."""
        n_players = state.problem.n_players
        semivalue = state.problem.semivalue
        if not self.walk:
            count = min(n_players, ROUND_MARGINALS)
            players: IntArray = (state.told + np.arange(count)) % n_players
            sizes = random_sizes(rng, count, state.weights)
            return SingleMarginals(players, sizes, random_ranks(rng, count, n_players))
        steps = max(1, n_players - 1) * (2 if self.antithetic else 1)
        walks = walks_of_round(state.told, steps, state.problem.in_flight, long=True)
        if isinstance(semivalue, OwenValue):
            ranks = semivalue.ranks(rng, walks)
        else:
            ranks = random_ranks(rng, walks, n_players)
        return Walks(with_reverses(ranks), group=2) if self.antithetic else Walks(ranks)

    def contributions(self, state: SamplingState, draw: Any, values: FloatArray) -> FloatArray:
        """Return the weighted marginals of each walk, or the mean of each antithetic pair."""
        problem = state.problem
        rows = draw.contributions(values, problem.empty, problem.full, state.weights)
        return group_means(rows, 2) if self.antithetic else rows

    def tell(self, state: SamplingState, draw: Walks | SingleMarginals, values: FloatArray) -> None:
        """Fold in the marginal contributions."""
        if not isinstance(draw, SingleMarginals):
            super().tell(state, draw, values)
            return
        state.moments.add_at(draw.players, values[1::2] - values[::2], once=True)
        state.told += len(draw.players)

    def contribution_width(self, problem: Problem, value_width: float) -> float:
        """Return the width for a marginal; on a walk it is weighted by n·α_k."""
        return super().contribution_width(problem, value_width) if self.walk else 2.0 * value_width
