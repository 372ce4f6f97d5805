"""What the methods share that walk along permutations: contributions, and groups of walks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.draws import Walks
from fairshapley.draws.permutations import RankArray
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.rounds import walks_of_round
from fairshapley.estimators.statistics.moments import ROUNDING, Moments, floor_variances
from fairshapley.estimators.statistics.weighted import whole_below

# A group is at most this share of the walks before it: sixteen groups of each size give their
# variance with 15 degrees of freedom. As the sizes before carry half the weight, a quarter, …, the
# estimate has about 15/(1/4 + 1/16 + …) = 45 while groups grow, and more when they do not. A
# share of 8 (21 degrees) would lower the variance by 10 to 20 %, and at a level of 1e−3 Student's
# t takes (3.82/3.52)² = 1.18 back.
GROUP_SHARE = 16


def walk_weights(problem: Problem) -> FloatArray:
    """n·α_k: places are uniform on a walk, so that a marginal at place k counts α_k/(1/n)."""
    return problem.n_players * problem.semivalue.weights(problem.n_players)


def walk_contributions(
    draw: Walks, values: FloatArray, problem: Problem, weights: FloatArray
) -> FloatArray:
    """One contribution of every player for each walk, shape (walks, n_players).

    `weights` are the `walk_weights`.

    Examples
    --------
    >>> from fairshapley.semivalues import Shapley
    >>> problem = Problem(2, Shapley(), empty=0.0, full=4.0, xi=1e-3)
    >>> walks = Walks(np.array([[0, 1], [1, 0]], dtype=np.uint16))
    >>> walk_contributions(walks, np.array([1.0, 2.0]), problem, np.ones(2))
    array([[1., 3.],
           [2., 2.]])
    """
    marginals = draw.marginal_contributions(values, problem.empty, problem.full)
    return np.take_along_axis(marginals * weights, draw.ranks, axis=1)


def group_means(contributions: FloatArray, size: int) -> FloatArray:
    """The means over each `size` rows that belong together.

    What was skipped (NaN) is left out of its group's mean; a group without anything gives NaN.

    Examples
    --------
    >>> group_means(np.array([[1.0, 3.0], [2.0, np.nan], [5.0, np.nan], [6.0, np.nan]]), 2)
    array([[1.5, 3. ],
           [5.5, nan]])
    """
    grouped = contributions.reshape(-1, size, contributions.shape[1])
    missing = np.isnan(grouped)
    if not missing.any():
        return grouped.mean(axis=1)
    present = size - missing.sum(axis=1)
    sums = np.where(missing, 0.0, grouped).sum(axis=1)
    return np.where(present > 0, sums / np.maximum(present, 1), np.nan)


def group_size(told: int, first: int, largest: int) -> int:
    """The walks of the next group after `told` walks: doubling from `first` up to `largest`.

    Examples
    --------
    >>> [group_size(told, 4, 22) for told in (0, 127, 128, 256, 351, 352, 10**6)]
    [4, 4, 8, 16, 16, 22, 22]
    """
    size = min(first, largest)
    while size < largest and GROUP_SHARE * (bigger := min(2 * size, largest)) <= told:
        size = bigger
    return size


@dataclass(eq=False)
class GroupedState:
    """The problem, and the moments of single walks and of group means for each size of group."""

    problem: Problem
    weights: FloatArray
    """n·α_k"""
    singles: Moments
    """Of the single walks: whether they all gave the same"""
    levels: dict[int, Moments] = field(default_factory=dict)
    """By the walks in a group"""
    told: int = 0
    """The walks told so far"""


def combine(levels: dict[int, Moments], singles: Moments) -> Estimate:
    """The mean of all walks and its variance, from the means of independent groups.

    Groups are weighted by their walks. Let a group of g walks have the variance r_g/g; its rate
    r_g is estimated from the groups of its own size, because r_g falls as g grows. With W_g walks
    in groups of g the mean has the variance Σ W_g·r_g / (Σ W_g)². Where a size has a single group
    yet, the rate pooled over all sizes stands in: it is that of smaller groups, hence too large
    rather than too small.
    """
    moments = list(levels.values()) or [Moments(len(singles.counts))]
    sizes = np.array(list(levels) or [1], dtype=np.float64)[:, None]
    counts = np.array([level.counts for level in moments])
    squares = np.array([level.squares for level in moments])
    means = np.array([level.means for level in moments])
    walks = sizes * counts
    total = walks.sum(axis=0)
    known = np.maximum(total, 1.0)
    values = np.where(total > 0, (walks * means).sum(axis=0) / known, np.nan)

    degrees = np.maximum(counts - 1, 0)
    freedom = degrees.sum(axis=0)
    pooled = (sizes * squares).sum(axis=0) / np.maximum(freedom, 1)
    rates = np.where(degrees > 0, sizes * squares / np.maximum(degrees, 1), pooled)
    variances = np.where(freedom > 0, (walks * rates).sum(axis=0) / known**2, np.nan)

    # Weights w count as (Σw)²/Σw² equal ones (Kish): all groups, when they have the same size.
    effective = total**2 / np.maximum((walks * sizes).sum(axis=0), 1.0)
    # A size with one group says nothing of tails: fmax passes over its NaN.
    extremes: FloatArray = np.fmax.reduce([level.extremes() for level in moments])
    floored = _with_floor(variances, moments, singles)
    return Estimate(values, floored, whole_below(effective), extremes=extremes)


def _with_floor(variances: FloatArray, levels: list[Moments], singles: Moments) -> FloatArray:
    """The variances with the floor of `floor_variances` where they vanish.

    A player whose single walks were all equal has that many equal contributions: the walks of a
    group are spread more evenly than independent ones, so that they prove no less. Where only the
    means of the groups are equal, their number counts.
    """
    pooled = Moments(len(variances))
    for level in levels:
        pooled.merge(level)
    equal = singles.squares <= ROUNDING**2 * singles.mean_square * singles.counts
    by_groups = floor_variances(variances, pooled.counts, pooled.mean_square)
    by_walks = floor_variances(np.where(equal, 0.0, variances), singles.counts, singles.mean_square)
    return np.where(equal, by_walks, by_groups)


@dataclass(frozen=True, kw_only=True)
class GroupedWalks(Estimator[GroupedState, Walks]):
    """Walks on permutations that are uniform each, but dependent within a group.

    The mean of a group is one contribution; groups are independent of each other. The larger a
    group, the more its walks complement each other, and the fewer groups there are to tell the
    standard error from: groups start small and double.
    """

    @abstractmethod
    def _sizes(self, n_players: int) -> tuple[int, int]:
        """The walks of the first and of the largest group."""

    @abstractmethod
    def _draw_group(self, rng: np.random.Generator, walks: int, n_players: int) -> RankArray:
        """The permutations of one group."""

    @property
    def traits(self) -> Traits:
        """Unbiased and linear; the groups do not depend on what was told, only on how much."""
        return Traits(iid=False)

    def start(self, problem: Problem) -> GroupedState:
        """No contributions yet."""
        return GroupedState(problem, walk_weights(problem), Moments(problem.n_players))

    def ask(self, state: GroupedState, rng: np.random.Generator) -> Walks | None:
        """One group; on a small game a few of the same size."""
        n_players = state.problem.n_players
        size = self._next_size(state)
        steps, in_flight = size * (n_players - 1), state.problem.in_flight
        groups = walks_of_round(state.told // size, steps, in_flight)
        ranks = [self._draw_group(rng, size, n_players) for _ in range(groups)]
        return Walks(np.concatenate(ranks))

    def tell(self, state: GroupedState, draw: Walks, values: FloatArray) -> None:
        """Fold in the means of the groups."""
        size = self._next_size(state)
        level = state.levels.setdefault(size, Moments(state.problem.n_players))
        contributions = walk_contributions(draw, values, state.problem, state.weights)
        level.add(group_means(contributions, size))
        state.singles.add(contributions)
        state.told += len(contributions)

    def estimate(self, state: GroupedState) -> Estimate:
        """The mean over all walks."""
        return combine(state.levels, state.singles)

    def contribution_width(self, problem: Problem, value_width: float) -> float:
        """A group's mean lies, as each walk's marginal, within ± the width times n·α_k."""
        return float(2.0 * value_width * walk_weights(problem).max())

    def _next_size(self, state: GroupedState) -> int:
        return group_size(state.told, *self._sizes(state.problem.n_players))
