"""The paper's forms of the estimators, as its published numbers count and weigh.

Any estimator after the paper's bootstrap: m' whole permutations that count for everybody.

Owen and Sobol with one marginal contribution of each permutation. Plain Owen sampling with a level
for each set needs no form of its own: a set that holds every other player with probability q, q
uniform, has a uniform size and is uniform among the sets of that size, as the predecessors in a
random permutation are. One marginal of it is one of ``MonteCarlo(walk=False)``.

GAE with a permutation's n marginals for the price of one, in P2–P4. There the paper's code
evaluates all n marginal contributions of every permutation that it draws for one player, keeps them
all, and counts one. All have one weight, 1/(n·q'(c)) of the player that was placed: it is the
likelihood ratio of the whole permutation, and so right for everybody on it. Here that form is
there, and one in which each player has a weight of its own (see `placed_weights`), which
varies less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import Draw, RankArray, SingleMarginals, Walks, random_ranks
from fairshapley.draws.sphere import sobol_ranks
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.greedy.greedy_active import (
    ActiveState,
    GreedyActive,
    WeightedDraw,
    WeightedWalks,
)
from fairshapley.estimators.greedy.plan import by_player, proposed_sizes
from fairshapley.estimators.moments import Moments
from fairshapley.estimators.sampling.family import SamplingState, walk_weights
from fairshapley.estimators.sampling.monte_carlo import MonteCarlo


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
        weights = walk_weights(problem)
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
        """The sets of the players in turn, each followed by its mirror image."""
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
        """The next players, each at its place in a permutation of its own."""
        n_players = state.problem.n_players
        ranks = sobol_ranks(rng, POINTS, n_players)
        players = (state.told + np.arange(POINTS)) % n_players
        return SingleMarginals(players, ranks[np.arange(POINTS), players].astype(int), ranks)

    def tell(self, state: SamplingState, draw: Any, values: FloatArray) -> None:
        """Fold in the marginals; a player may come several times."""
        state.moments.add_at(draw.players, values[1::2] - values[::2])
        state.told += len(draw.players)


@dataclass(frozen=True, eq=False)
class UncountedWalks(WeightedWalks):
    """Whole permutations that are counted as one marginal each."""

    @property
    def marginals(self) -> int:
        """One for each permutation."""
        return len(self.ranks)


def uncounted_walks(
    rng: np.random.Generator,
    proposal: FloatArray,
    base: FloatArray,
    players: IntArray,
    *,
    one_weight: bool,
) -> UncountedWalks:
    """Draw uniform permutations of the others, each given player at a place from its proposal.

    With `one_weight` all marginals of a permutation have the weight of the player that was placed.
    """
    places = proposed_sizes(rng, proposal, players)
    ranks = random_ranks(rng, len(players), len(base))
    rows = np.arange(len(players))
    # Move each player to its place; the others keep their order.
    to = places.astype(ranks.dtype)[:, None]
    ranks -= ranks > ranks[rows, players][:, None]
    ranks += ranks >= to
    ranks[rows, players] = to[:, 0]
    weights = placed_weights(ranks, players, proposal, base)
    if one_weight:
        weights = np.broadcast_to(weights[rows, players][:, None], weights.shape)
    return UncountedWalks(ranks, weights)


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
    placed = ranks[rows, players]
    is_behind = ranks > placed[:, None]
    # Places that never happen have the weight 0.
    behind = np.divide(base * places, below, out=np.zeros_like(q), where=below > 0)
    before = np.divide(base * places[::-1], above, out=np.zeros_like(q), where=above > 0)
    at = ranks.astype(np.int64)
    weights = np.where(
        is_behind, np.take_along_axis(behind, at, axis=1), np.take_along_axis(before, at, axis=1)
    )
    weights[rows, players] = base[placed] / q[rows, placed]
    return weights


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

    batch: int | None = 1
    one_weight: bool = False

    @property
    def traits(self) -> Traits:
        """Every permutation serves all players: the number of contributions is fixed."""
        return Traits(linear=False, efficient=False)

    def ask(self, state: ActiveState, rng: np.random.Generator) -> WeightedDraw | None:
        """As for GAE, but that a permutation after the bootstrap counts one marginal."""
        if self._in_bootstrap(state):
            return super().ask(state, rng)
        players = self._select(state)
        return uncounted_walks(rng, state.proposal, state.base, players, one_weight=self.one_weight)
