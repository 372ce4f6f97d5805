"""Any estimator after the paper's bootstrap: m' whole permutations that count for everybody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.draws import Draw, Walks, random_ranks
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.statistics.moments import Moments
from fairshapley.estimators.walks.contributions import walk_contributions


@dataclass(frozen=True, eq=False)
class BootstrapWalk(Walks):
    """A permutation of the bootstrap, told apart from those of the method."""


@dataclass(eq=False)
class BootstrappedState:
    """The bootstrap's moments, and the state of the method behind it."""

    problem: Problem
    weights: FloatArray
    """n·α_k"""
    moments: Moments
    inner: Any
    permutations: int = 0
    """Of the bootstrap, so far"""
    effort: tuple[int, int] = (0, 0)
    """Marginals (coalitions where there are none) of the bootstrap and of the method"""


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
        """Those of the method, but that a permutation serves all players."""
        return replace(self.inner.traits, independent=False, iid=False, efficient=False)

    def start(self, problem: Problem) -> BootstrappedState:
        """Nothing told."""
        weights = problem.semivalue.weights(problem.n_players) * problem.n_players
        moments = Moments(problem.n_players)
        return BootstrappedState(problem, weights, moments, self.inner.start(problem))

    def ask(self, state: BootstrappedState, rng: np.random.Generator) -> Draw | None:
        """A permutation, and after the last of them what the method asks."""
        if state.permutations < self.permutations:
            return BootstrapWalk(random_ranks(rng, 1, state.problem.n_players))
        return self.inner.ask(state.inner, rng)

    def tell(self, state: BootstrappedState, draw: Draw, values: FloatArray) -> None:
        """Fold in the permutation, or pass on what the method asked."""
        bootstrap, method = state.effort
        if isinstance(draw, BootstrapWalk):
            state.moments.add(walk_contributions(draw, values, state.problem, state.weights))
            state.permutations += 1
            state.effort = (bootstrap + draw.marginals, method)
            return
        self.inner.tell(state.inner, draw, values)
        effort = len(draw) if draw.marginals is None else draw.marginals
        state.effort = (bootstrap, method + effort)

    def estimate(self, state: BootstrappedState) -> Estimate:
        """The weighted mean; the bootstrap alone for players the method knows nothing of yet."""
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
