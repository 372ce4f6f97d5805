"""Walks on evenly spread permutations: dependent within a group, independent between groups.

Orthogonal directions on the sphere, or a scrambled Sobol sequence on it, give the permutations.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.draws import RankArray, Walks
from fairshapley.draws.sphere import orthogonal_ranks, sobol_ranks
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Problem, Traits
from fairshapley.estimators.moments import ROUNDING, Moments, floor_variances, whole_below
from fairshapley.estimators.rounds import walks_of_round
from fairshapley.estimators.sampling.family import Sampling, SamplingState, group_means

# A group is at most this share of the walks before it: sixteen groups of each size give their
# variance with 15 degrees of freedom. As the sizes before carry half the weight, a quarter, …, the
# estimate has about 15/(1/4 + 1/16 + …) = 45 while groups grow, and more when they do not. A
# share of 8 (21 degrees) would lower the variance by 10 to 20 %, and at a level of 1e−3 Student's
# t takes (3.82/3.52)² = 1.18 back.
GROUP_SHARE = 16
# One vector and its negative are the antithetic pair, which `MonteCarlo` has; two are the first
# group that is more, and five groups of their four walks fit into 20 evaluations per player.
FIRST_VECTORS = 2
# Two points only mirror each other; from four on the variance is below that of antithetic walks
# on most games. Five groups of four fit into 20 evaluations per player.
FIRST_POINTS = 4
# The largest game that the sequence was tested on; more dimensions than that gain nothing from
# groups of a few dozen points.
MAX_PLAYERS = 1000


def group_size(told: int, first: int, largest: int) -> int:
    """Return the walks of the next group after `told` walks: doubling from `first` up to `largest`.

    Examples
    --------
    >>> [group_size(told, 4, 22) for told in (0, 127, 128, 256, 351, 352, 10**6)]
    [4, 4, 8, 16, 16, 22, 22]
    """
    size = min(first, largest)
    while size < largest and GROUP_SHARE * (bigger := min(2 * size, largest)) <= told:
        size = bigger
    return size


def combine(levels: dict[int, Moments], singles: Moments) -> Estimate:
    """Return the mean of all walks and its variance, from the means of independent groups.

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
    skewness = np.fmax.reduce([np.abs(level.skewness()) for level in moments])
    floored = _with_floor(variances, moments, singles)
    return Estimate(values, floored, whole_below(effective), extremes=extremes, skewness=skewness)


def _with_floor(variances: FloatArray, levels: list[Moments], singles: Moments) -> FloatArray:
    """Return the variances with the floor of `floor_variances` where they vanish.

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
class SpreadWalks(Sampling[Walks]):
    """Walks on permutations that are uniform each, but dependent within a group.

    The mean of a group is one contribution; groups are independent of each other. The larger a
    group, the more its walks complement each other, and the fewer groups there are to estimate the
    standard error from: groups start small and double.
    """

    @abstractmethod
    def group_sizes(self, n_players: int) -> tuple[int, int]:
        """Return the walks of the first and of the largest group."""

    @abstractmethod
    def draw_group(self, rng: np.random.Generator, walks: int, n_players: int) -> RankArray:
        """Draw the permutations of one group."""

    @property
    def traits(self) -> Traits:
        """Unbiased and linear; the groups depend on how much was told, not on what."""
        return Traits(iid=False)

    def ask(self, state: SamplingState, rng: np.random.Generator) -> Walks | None:
        """Draw one group; on a small game a few of the same size."""
        n_players = state.problem.n_players
        size = group_size(state.told, *self.group_sizes(n_players))
        steps, in_flight = size * (n_players - 1), state.problem.in_flight
        groups = walks_of_round(state.told // size, steps, in_flight)
        ranks = [self.draw_group(rng, size, n_players) for _ in range(groups)]
        return Walks(np.concatenate(ranks), group=size)

    def contributions(self, state: SamplingState, draw: Walks, values: FloatArray) -> FloatArray:
        """Return the weighted marginals of each walk."""
        problem = state.problem
        return draw.contributions(values, problem.empty, problem.full, state.weights)

    def tell(self, state: SamplingState, draw: Walks, values: FloatArray) -> None:
        """Fold in single walks, and the means of the groups."""
        n_players = state.problem.n_players
        size = group_size(state.told, *self.group_sizes(n_players))
        contributions = self.contributions(state, draw, values)
        level = state.levels.setdefault(size, Moments(n_players))
        level.add(group_means(contributions, size))
        state.moments.add(contributions)
        state.told += len(contributions)

    def estimate(self, state: SamplingState) -> Estimate:
        """Return the mean over all walks."""
        return combine(state.levels, state.moments)


@dataclass(frozen=True, kw_only=True)
class Orthogonal(SpreadWalks):
    """Walks on orthogonal spherical permutations (Mitchell et al. 2022, algorithm 3).

    A group takes k orthonormal directions in the hyperplane Σ x_i = 0 with their negatives: 2k
    walks. The negatives cancel all that is odd in the direction, and a complete basis of n − 1
    directions all that is quadratic too. The group's mean is one contribution, so that the
    standard errors hold although its walks are correlated (the paper's variance table).

    Parameters
    ----------
    vectors
        The directions of the largest group; None is the complete basis of n − 1. Groups start
        with 2 directions and double when sixteen of the larger ones would fit into what was done
        before, because 2(n − 1) walks are more than most budgets hold a few times.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> fs.estimate(game, fs.estimators.Orthogonal(), budget=30, seed=0).values.round(6)
    array([1., 2., 3., 4., 5.])
    """

    name = "orthogonal"

    vectors: int | None = None

    def __post_init__(self) -> None:
        if self.vectors is not None:
            remedy = "give None for the complete basis"
            checks.set_fields(self, vectors=checks.whole("vectors", self.vectors, remedy=remedy))

    def group_sizes(self, n_players: int) -> tuple[int, int]:
        """Return the walks of the first and of the largest group."""
        complete = max(1, n_players - 1)
        largest = complete if self.vectors is None else min(self.vectors, complete)
        return 2 * FIRST_VECTORS, 2 * largest

    def draw_group(self, rng: np.random.Generator, walks: int, n_players: int) -> RankArray:
        """Draw the permutations of one group."""
        return orthogonal_ranks(rng, walks // 2, n_players)


@dataclass(frozen=True, kw_only=True)
class Sobol(SpreadWalks):
    """Walks on evenly spread permutations (Mitchell et al. 2022, algorithm 4), made unbiased.

    The points of a Sobol sequence become directions in the hyperplane Σ x_i = 0, and directions
    become permutations (`fairshapley.draws.sphere`). Every group of walks has a scramble of its
    own (Owen 1995): each point is then uniform, the estimate unbiased, and the groups' means are
    independent contributions, whose spread gives the standard errors.

    Parameters
    ----------
    points
        The walks of the largest group, a power of two. Groups start with 4 walks and double when
        sixteen of the larger ones would fit into what was done before; with 4 or fewer, all have
        that size. More points lower the variance (measured per walk, as a share of plain Monte
        Carlo's, on three games with 9 and three with 100 players: 0.31 to 0.89 with 4 points, 0.17
        to 0.75 with 16, 0.16 to 0.54 with 64), fewer give more contributions to certify with.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> fs.estimate(game, fs.estimators.Sobol(), budget=30, seed=0).values.round(6)
    array([1., 2., 3., 4., 5.])
    """

    name = "sobol"

    points: int = 32

    def __post_init__(self) -> None:
        points = checks.whole("points", self.points)
        if points.bit_count() != 1:
            raise InputError(
                f"points must be a power of two such as 16 or 64, it is {self.points!r}: only then "
                "do the points of a Sobol sequence fill every axis evenly"
            )
        checks.set_fields(self, points=points)

    def start(self, problem: Problem) -> SamplingState:
        """Return a state without contributions; raise InputError if there are too many players."""
        if problem.n_players > MAX_PLAYERS:
            raise InputError(
                f"Sobol permutations are for up to {MAX_PLAYERS} players, there are "
                f"{problem.n_players}: use 'mc' or MonteCarlo(antithetic=True)"
            )
        return super().start(problem)

    def group_sizes(self, n_players: int) -> tuple[int, int]:
        """Return the walks of the first and of the largest group."""
        return FIRST_POINTS, self.points

    def draw_group(self, rng: np.random.Generator, walks: int, n_players: int) -> RankArray:
        """Draw the permutations of one group."""
        return sobol_ranks(rng, walks, n_players)
