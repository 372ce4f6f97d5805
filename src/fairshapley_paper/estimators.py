"""Forms of the estimators that the paper's text describes.

Any estimator after the paper's bootstrap: m' whole permutations that count for everybody.

Owen and Sobol with one marginal contribution of each permutation. Plain Owen sampling with a level
for each set needs no form of its own: a set that holds every other player with probability q, q
uniform, has a uniform size and is uniform among the sets of that size, as the predecessors in a
random permutation are. One marginal of it is one of ``MonteCarlo(walk=False)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.draws import Draw, SingleMarginals, Walks, random_ranks
from fairshapley.draws.sphere import sobol_ranks
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.moments import Moments
from fairshapley.estimators.sampling.family import SamplingState, walk_weights
from fairshapley.estimators.sampling.monte_carlo import MonteCarlo


@dataclass(frozen=True, eq=False)
class BootstrapWalk(Walks):
    """A permutation of the bootstrap, a type apart from the draws of the method."""


@dataclass(eq=False)
class BootstrappedState:
    """The bootstrap's moments, and the state of the method behind it."""

    problem: Problem
    weights: FloatArray
    """n·α_k"""
    moments: Moments
    inner: Any
    permutations: int = 0
    """The permutations of the bootstrap so far"""
    effort: tuple[int, int] = (0, 0)
    """The marginals of the bootstrap and of the method; coalitions if it has no marginals"""


@dataclass(frozen=True, kw_only=True)
class Bootstrapped(Estimator[BootstrappedState, Draw]):
    """The mean of a bootstrap of permutations and of another estimator, by what each has cost.

    "Bootstrapping (included for all baselines)". Where the method averages contributions of the
    same kind (Monte Carlo, plain Owen), they may be `pooled`: φ̂ is the mean of all of them and s²/m
    its variance, as in the paper. Else the weights are the shares of the marginals (of the
    coalitions, for a method without marginals). They depend on the schedule alone, so that two
    unbiased estimates give an unbiased one, and the variances add up.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0, 3.0])
    >>> method = Bootstrapped(inner=fs.MonteCarlo(walk=False), permutations=4)
    >>> fs.estimate(game, method, budget=fs.Budget(marginals=30), seed=0).values
    array([1., 2., 3.])
    """

    name = "bootstrapped"

    inner: Estimator[Any, Any]
    permutations: int
    pooled: bool = False
    """Whether a contribution of the method, whose state has moments, weighs as much as one here"""

    @property
    def traits(self) -> Traits:
        """The traits of the method; a permutation serves all players."""
        return replace(self.inner.traits, independent=False, iid=False, efficient=False)

    def start(self, problem: Problem) -> BootstrappedState:
        """Start with no utilities."""
        weights = walk_weights(problem)
        moments = Moments(problem.n_players)
        return BootstrappedState(problem, weights, moments, self.inner.start(problem))

    def ask(self, state: BootstrappedState, rng: np.random.Generator) -> Draw | None:
        """Return a permutation, and after the last of them what the method asks."""
        if state.permutations < self.permutations:
            return BootstrapWalk(random_ranks(rng, 1, state.problem.n_players))
        return self.inner.ask(state.inner, rng)

    def tell(self, state: BootstrappedState, draw: Draw, values: FloatArray) -> None:
        """Fold in the permutation, or pass on what the method asked."""
        bootstrap, method = state.effort
        if isinstance(draw, BootstrapWalk):
            problem, weights = state.problem, state.weights
            rows = draw.contributions(values, problem.empty, problem.full, weights)
            state.moments.add(rows)
            state.permutations += 1
            state.effort = (bootstrap + draw.marginals, method)
            return
        self.inner.tell(state.inner, draw, values)
        effort = len(draw) if draw.marginals is None else draw.marginals
        state.effort = (bootstrap, method + effort)

    def estimate(self, state: BootstrappedState) -> Estimate:
        """Return the weighted mean; the bootstrap alone for players without a contribution."""
        if self.pooled:
            pooled = Moments(state.problem.n_players)
            pooled.merge(state.moments)
            pooled.merge(state.inner.moments)
            return pooled.estimate()
        first, second = state.moments.estimate(), self.inner.estimate(state.inner)
        share = state.effort[1] / max(1, sum(state.effort))
        # Contributions that are all 0 have a value but no scale for the floor of their variance.
        varied = np.isfinite(second.variances)
        known = np.isfinite(second.values) & (varied | (second.counts >= 2))
        weights = np.where(known, share, 0.0)
        values = (1 - weights) * first.values + weights * np.where(known, second.values, 0.0)
        variances = (1 - weights) ** 2 * first.variances
        variances = variances + weights**2 * np.where(known & varied, second.variances, 0.0)
        counts = first.counts + np.where(known, second.counts, 0)
        return Estimate(values, variances, counts)


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

    def ask(self, state: SamplingState, rng: np.random.Generator) -> SingleMarginals | None:
        """Return the sets of the players in turn, each followed by its mirror image."""
        half = super().ask(state, rng)
        assert isinstance(half, SingleMarginals)  # noqa: S101 - for the types: walk is False
        last = np.asarray(state.problem.n_players - 1, dtype=half.ranks.dtype)
        sizes = np.stack([half.sizes, last - half.sizes], axis=1).ravel()
        ranks = np.stack([half.ranks, last - half.ranks], axis=1).reshape(-1, half.ranks.shape[1])
        return SingleMarginals(np.repeat(half.players, 2), sizes, ranks, group=2)

    def tell(self, state: SamplingState, draw: Any, values: FloatArray) -> None:
        """Fold in the means of the pairs."""
        pairs = (values[1::2] - values[::2]).reshape(-1, 2).mean(axis=1)
        state.moments.add_at(draw.players[::2], pairs, once=True)
        state.told += len(pairs)


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

    def ask(self, state: SamplingState, rng: np.random.Generator) -> SingleMarginals | None:
        """Return the next players, each at its place in a permutation of its own."""
        n_players = state.problem.n_players
        ranks = sobol_ranks(rng, POINTS, n_players)
        players = (state.told + np.arange(POINTS)) % n_players
        return SingleMarginals(players, ranks[np.arange(POINTS), players].astype(int), ranks)

    def tell(self, state: SamplingState, draw: Any, values: FloatArray) -> None:
        """Fold in the marginals; a player may come several times."""
        state.moments.add_at(draw.players, values[1::2] - values[::2])
        state.told += len(draw.players)
