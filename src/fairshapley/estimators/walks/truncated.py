"""Truncated Monte Carlo: walks that end when little is left to gain (Ghorbani & Zou 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import random_ranks
from fairshapley.draws.permutations import RankArray
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.rounds import round_length
from fairshapley.estimators.statistics.moments import Moments
from fairshapley.estimators.walks.contributions import walk_weights

# Walks of a batch: an eighth of those before, because a batch that the budget cuts off is lost. At
# most 32, or one for each player where the utilities of so many walks take up to 1 MiB.
BATCH_SHARE, BATCH_WALKS, BATCH_ENTRIES = 8, 32, 1 << 17
# A round takes so many steps of each walk: this share of the mean length of the walks before. What
# lies behind the end of a walk is lost, one evaluation in 20 at most on average.
ROUND_SHARE = 10


@dataclass(frozen=True, eq=False)
class Steps:
    """The next coalitions on each walk of a batch that goes on."""

    ranks: RankArray
    """Of all walks of the batch"""
    going: IntArray
    """The walks that go on"""
    size: int
    """The size of the first coalition"""
    width: int
    """The coalitions of each walk"""

    fresh: ClassVar[bool] = True

    @property
    def last(self) -> bool:
        """Whether the walks end here; the last marginal costs nothing."""
        return bool(self.size + self.width == self.ranks.shape[1])

    @property
    def marginals(self) -> int:
        """One for each coalition, and at the end of a walk that of the last player as well."""
        return len(self.going) * (self.width + self.last)

    def __len__(self) -> int:
        return len(self.going) * self.width

    def masks(self, start: int, stop: int) -> BoolArray:
        """The coalitions `start` … `stop` − 1."""
        sizes = np.arange(self.size, self.size + self.width, dtype=self.ranks.dtype)
        first, last = start // self.width, -(-stop // self.width)
        masks: BoolArray = self.ranks[self.going[first:last], None] < sizes[:, None]
        begin = start - first * self.width
        return masks.reshape(-1, masks.shape[2])[begin : begin + stop - start]


@dataclass(eq=False)
class WalkBatch:
    """Walks that are taken together, some steps of each at a time."""

    ranks: RankArray
    path: FloatArray
    """(walks, n + 1): the utilities along each walk, as far as it goes"""
    ends: IntArray
    """The size of the last coalition on each walk, or n where it goes on"""
    going: IntArray
    """The walks that go on"""
    near: IntArray
    """How many utilities in a row were close to v(N), for each walk"""
    size: int = 1
    """The size of the next coalitions"""


@dataclass(eq=False)
class TruncatedState:
    """The problem, the moments of the contributions and the walks under way."""

    problem: Problem
    weights: FloatArray
    """n·α_k: places are uniform on a walk"""
    moments: Moments
    batch: WalkBatch | None = None
    """The batch in progress, or the last one"""
    walks: int = 0
    """The walks of all batches that were finished"""
    steps: int = 0
    """The marginal contributions on them"""
    shortfall: float = 0.0
    """The sum over them of v(N) less the last utility on the walk"""


@dataclass(frozen=True, kw_only=True)
class TruncatedMonteCarlo(Estimator[TruncatedState, Steps]):
    """TMC-Shapley: a walk ends as soon as |v(N) − v(S)| < tolerance·|v(N) − v(∅)|.

    The marginal contributions behind that point are taken as 0 and not evaluated, which saves many
    evaluations where utilities saturate. **The estimate is biased**, however large the budget: what
    players add late on a walk is lost. On a monotone game every walk loses at most
    tolerance·|v(N) − v(∅)| in all; on others (accuracies, which wander across v(N)) there is no
    bound. The standard errors are those of the truncated walks and leave the bias out, so that no
    certificate is issued. The notes of a result say how much was truncated.

    Walks are taken in batches, a few steps of each a round (a tenth of the mean walk before, one
    on small games); what is evaluated behind the end of a walk does not count. A batch counts when
    all its walks have ended: those that end early must not count before the others. What the budget
    cuts off is lost, at most an eighth.

    Parameters
    ----------
    tolerance
        As a share of |v(N) − v(∅)|, so that the zero of the utility does not matter; with v(∅) = 0
        it is the share of v(N) that others ask for. 0 never truncates: plain Monte Carlo.
    patience
        How many utilities in a row must be that close. 1 is the algorithm of the paper; its
        authors' program waits for 5, which wandering utilities need.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.walks.truncated import TruncatedMonteCarlo
    >>> game = fs.games.FunctionGame(lambda coalition: min(len(coalition), 5), n_players=30)
    >>> result = fs.estimate(game, TruncatedMonteCarlo(), budget=200, seed=0)
    >>> result.values.sum().round(6).item()
    5.0
    >>> result.notes[-1][:51]
    '1,025 of 1,230 marginal contributions (83.3 %) were'
    """

    name = "tmc"

    tolerance: float = 0.01
    patience: int = 1

    def __post_init__(self) -> None:
        tolerance = checks.real("tolerance", self.tolerance, least=0)
        if tolerance >= 1:
            raise InputError(
                f"tolerance must be below 1, not {self.tolerance!r}: at 1 a walk would end before "
                "its first player; 0.01 is customary"
            )
        patience = checks.whole("patience", self.patience)
        checks.settle(self, tolerance=tolerance, patience=patience)

    @property
    def traits(self) -> Traits:
        """Biased, unless nothing is truncated."""
        whole = self.tolerance == 0
        return Traits(
            unbiased=whole,
            linear=whole,
            efficient=whole,
            honest_errors=whole,
            not_certifiable_because=""
            if whole
            else (
                "truncated walks are biased, which their standard errors leave out; use "
                "MonteCarlo() for a certificate"
            ),
        )

    def start(self, problem: Problem) -> TruncatedState:
        """No walk yet."""
        return TruncatedState(problem, walk_weights(problem), Moments(problem.n_players))

    def ask(self, state: TruncatedState, rng: np.random.Generator) -> Steps | None:
        """The next coalitions on each walk that goes on, or the first of a new batch."""
        n_players = state.problem.n_players
        if n_players == 1:
            return None
        if (further := self.go_on(state)) is not None:
            return further
        most = max(BATCH_WALKS, min(n_players, BATCH_ENTRIES // n_players))
        busy = state.problem.in_flight
        walks = round_length(state.walks, early=most, most=most, early_share=BATCH_SHARE, busy=busy)
        return Steps(random_ranks(rng, walks, n_players), np.arange(walks), 1, _width(state))

    def go_on(self, state: TruncatedState) -> Steps | None:
        """The next coalitions on the walks of a batch under way."""
        batch = state.batch
        if batch is None or not len(batch.going):
            return None
        width = min(_width(state), state.problem.n_players - batch.size)
        return Steps(batch.ranks, batch.going, batch.size, width)

    def tell(self, state: TruncatedState, draw: Steps, values: FloatArray) -> None:
        """Take the steps; at the end of the batch fold in its contributions."""
        problem, going = state.problem, draw.going
        batch = state.batch
        if batch is None or not len(batch.going):
            batch = state.batch = _begin(problem, draw.ranks)
        table = values.reshape(len(going), -1)
        batch.path[going, draw.size : draw.size + draw.width] = table
        # A skipped utility (NaN) is not close to anything.
        enough = np.abs(problem.full - table) < self.tolerance * abs(problem.full - problem.empty)
        if self.patience > 1:
            columns = np.arange(draw.width)
            before = np.where(enough, -1 - batch.near[going, None], columns)
            in_a_row = columns - np.maximum.accumulate(before, axis=1)
            batch.near[going] = in_a_row[:, -1]
            enough = in_a_row >= self.patience
        if draw.last:
            enough[:, -1] = False  # the last marginal contribution is known
        if enough.any():
            ended = enough.any(axis=1)
            batch.ends[going[ended]] = draw.size + enough.argmax(axis=1)[ended]
            going = going[~ended]
        batch.going, batch.size = going[: 0 if draw.last else None], draw.size + draw.width
        if not len(batch.going):
            _finish(state, batch)

    def estimate(self, state: TruncatedState) -> Estimate:
        """The means of the contributions, those truncated among them as 0."""
        return state.moments.estimate()

    def remarks(self, state: TruncatedState) -> tuple[str, ...]:
        """How much was truncated."""
        total = state.walks * state.problem.n_players
        truncated = total - state.steps
        if not truncated:
            return ()
        return (
            f"{truncated:,} of {total:,} marginal contributions ({100 * truncated / total:.1f} %) "
            "were truncated and taken as 0, so that the values are biased: on average "
            f"{state.shortfall / state.walks:.3g} of v(N) − v(∅) = "
            f"{state.problem.full - state.problem.empty:.3g} was left over at the end of a walk",
        )


def _width(state: TruncatedState) -> int:
    """How many steps of each walk a round takes."""
    return max(1, state.steps // max(state.walks, 1) // ROUND_SHARE)


def _begin(problem: Problem, ranks: RankArray) -> WalkBatch:
    """A batch of walks that stand at ∅."""
    walks, n_players = ranks.shape
    path = np.full((walks, n_players + 1), problem.empty)
    path[:, -1] = problem.full
    near = np.zeros(walks, dtype=np.int64)
    return WalkBatch(ranks, path, np.full(walks, n_players), np.arange(walks), near)


def _finish(state: TruncatedState, batch: WalkBatch) -> None:
    """Fold in the contributions of a batch whose walks have all ended."""
    # A truncated walk stays where it was.
    ends = batch.ends[:, None]
    last = np.take_along_axis(batch.path, ends, axis=1)
    path = np.where(np.arange(batch.path.shape[1]) <= ends, batch.path, last)
    marginals = np.diff(path, axis=1) * state.weights
    state.moments.add(np.take_along_axis(marginals, batch.ranks, axis=1))
    state.walks += len(batch.ranks)
    state.steps += int(batch.ends.sum())
    state.shortfall += float((state.problem.full - last).sum())
