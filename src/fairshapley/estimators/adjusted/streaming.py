"""Units that are used once and forgotten: the regression-adjusted estimator on very many players.

10⁶ units of 100 000 players are 12.5 GB of bits, and fitting cross-fitted proxies to them takes
some fifty passes. Here a unit is told, judged by a proxy that was learnt from the units *before*
it, and then teaches the next one. Unit t contributes y_t = x_t(v − g_t) + E[x(g_t)] with g_t
known before t is drawn, so that E[y_t | all before] is the value: the deviations from it are a
martingale's, the mean of y_t is unbiased, and Σ(y_t − ȳ)²/(M(M − 1)) estimates its variance. What
is lost against cross-fitting is that early units are judged by a poor proxy.

*Learning.* The proxy is that of `linear_proxy.py`. It stands still during an epoch, an eighth of
the units before. The gradient of the epoch's residuals, divided by the expected Gram matrix (a
multiple of the identity, see there), estimates what the coefficients are off by, with a known
noise; what its mean square has in excess of the noise is the mean square of the error itself, P.
The coefficients move by P/(P + noise) of the estimate, which is best among all such steps, and
leaves P·noise/(P + noise): an additive game with n players loses half of its residual with n units.

*Moments.* y_t has two values for all players inside and outside, plus what the proxy gives each.
So sums and sums of squares are products of the masks with two numbers for each unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray
from fairshapley.draws import random_sizes
from fairshapley.draws.large_sets import packed_sets
from fairshapley.estimators.adjusted.course import Choices, Course
from fairshapley.estimators.adjusted.linear_proxy import SIZE_PENALTY, LinearProxies
from fairshapley.estimators.adjusted.size_bases import SizeBases, spread
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.units import MaskArray
from fairshapley.estimators.estimator import Drawn, Estimate, Problem
from fairshapley.estimators.statistics.moments import Moments
from fairshapley.estimators.statistics.pooling import Pooling
from fairshapley.estimators.statistics.two_valued import TwoValued, power_of_two
from fairshapley.estimators.statistics.weighted_epochs import WeightedEpochs

# Up to this many players units are kept: 60 evaluations for each are then 1 GB.
MOST_KEPT = 1 << 14
# Masks as numbers at a time: 32 MiB, so that a product reads more than it writes.
BLOCK_ENTRIES = 1 << 23
# An epoch is an eighth of what was told before, and at least this many units.
EPOCH_SHARE, LEAST_EPOCH = 8, 16
# From one epoch to the next a weight grows at most by this factor.
MOST_GAIN = 2.0
# Units whose contributions are made one by one, at a time.
DEVIANTS = 16


@dataclass(frozen=True, eq=False)
class StreamedUnits:
    """Units drawn by a plan, as bits; each coalition is followed by its complement when paired."""

    packed: ByteArray
    n_players: int
    sizes: IntArray
    paired: bool

    fresh: ClassVar[bool] = True

    @classmethod
    def draw(
        cls, rng: np.random.Generator, count: int, plan: FloatArray, *, paired: bool
    ) -> StreamedUnits:
        """`count` units whose sizes 1 … n − 1 have the probabilities `plan`."""
        sizes, n_players = 1 + random_sizes(rng, count, plan), len(plan) + 1
        return cls(packed_sets(rng, sizes, n_players), n_players, sizes, paired)

    @property
    def marginals(self) -> None:
        """Units give no marginal contributions."""
        return

    @property
    def together(self) -> int:
        """The coalitions of a unit."""
        return 2 if self.paired else 1

    def __len__(self) -> int:
        return len(self.packed) * (2 if self.paired else 1)

    def masks(self, start: int, stop: int) -> BoolArray:
        """The coalitions `start` … `stop` − 1."""
        if not self.paired:
            return self._unpack(self.packed[start:stop])
        first = start // 2
        rows = self.packed[first : -(-stop // 2)]
        both = np.stack([rows, bits.complements(rows, self.n_players)], axis=1)
        flat = both.reshape(2 * len(rows), -1)
        return self._unpack(flat[start - 2 * first : stop - 2 * first])

    def units(self, start: int, stop: int) -> BoolArray:
        """The coalitions of the units `start` … `stop` − 1, without complements."""
        return self._unpack(self.packed[start:stop])

    def _unpack(self, rows: ByteArray) -> BoolArray:
        return bits.unpack(rows, self.n_players)


class Streaming(Course[Drawn]):
    """The moments of all units told so far, and the proxy that they taught; nothing else is kept.

    An epoch's weight is one over the mean Σ_i x_i² of the epoch before it: known before it begins,
    and the same for all players. So many players tell that mean apart from any single value, that
    no value is biased by it.

    Parameters
    ----------
    problem, choices, weights
        The problem, what the user chose, and the weights of the sizes.
    pooling
        Who shares one value.
    """

    def __init__(
        self,
        problem: Problem,
        choices: Choices,
        weights: SizeWeights,
        pooling: Pooling | None,
    ) -> None:
        self.problem, self.weights, self.pooling = problem, weights, pooling
        self.plan, self.adaptive = weights.base, choices.adaptive
        self.learner = None if choices.proxy == "none" else ProxyLearner(weights)
        lowest, highest = weights.ends
        self.level = _level(problem, weights)
        constant = highest * problem.full - lowest * problem.empty
        self.constant: float = constant + float(weights.constant @ self.level)
        """What every value has in common: the endpoints, and the level that gains start from"""
        self.told = 0
        self._through = WeightedEpochs(weights.n_players)
        self._epoch = Epoch(weights, pooling)
        self._end = LEAST_EPOCH
        self._power = 0.0
        """The Σ_i x_i² that the current weight is one over; 0 while there is none"""
        self._unit = 1.0
        """Near the first of them: the squares of weights must not overflow"""
        self._largest: FloatArray = np.zeros(weights.n_players)
        """The largest w·|y − φ̂| of each player"""

    def estimate(self) -> Estimate:
        """The weighted mean of the contributions."""
        together = self._through.copy()
        together.add(self._epoch.moments, self._weight())
        return together.estimate(np.maximum(self._largest, self._weight() * self._epoch.largest))

    def _weight(self) -> float:
        """The first epoch has that of the second, or 1 as long as it is the only one."""
        return self._unit / self._power if self._power else 1.0

    def _close(self) -> None:
        """The epoch is through: its weight is used, the next one's is fixed, the proxy learns."""
        self._end = self.told + max(LEAST_EPOCH, self.told // EPOCH_SHARE)
        count = int(self._epoch.moments.counts[0])
        if count == 0 or (self._epoch.power == 0 and not self._power):
            return  # nothing was left of any unit so far, so that there is no weight: it goes on
        power = self._epoch.power / count
        if not self._power:
            self._power, self._unit = power, power_of_two(power)
        weight = self._weight()
        self._through.add(self._epoch.moments, weight)
        self._largest = np.maximum(self._largest, weight * self._epoch.largest)
        # A quiet epoch may have missed a rare spike.
        self._power = max(power, self._power / MOST_GAIN)
        self._epoch.clear()
        if self.learner is not None:
            self.learner.step()


class Stream(Streaming[StreamedUnits]):
    """Units on the host."""

    def __init__(
        self,
        problem: Problem,
        choices: Choices,
        weights: SizeWeights,
        pooling: Pooling | None,
    ) -> None:
        super().__init__(problem, choices, weights, pooling)
        self._sizes: list[IntArray] = []
        self._squares: list[FloatArray] = []

    def ask(self, rng: np.random.Generator) -> StreamedUnits:
        """Units drawn by the current plan."""
        return StreamedUnits.draw(rng, self.next_units, self.plan, paired=self.weights.paired)

    @one_thread()
    def tell(self, draw: StreamedUnits, values: FloatArray) -> Stream:
        """Let the units pass; plan the sizes anew when it is time."""
        planned = self.next_plan
        self.add(draw, 0.5 * (values[::2] - values[1::2]) if draw.paired else values)
        if self.told == planned and self.adaptive:
            self._plan_sizes()
        return self

    def _plan_sizes(self) -> None:
        """A plan of the sizes from the residuals since the last one; a new epoch begins."""
        sizes = np.concatenate([*self._sizes, np.empty(0, dtype=np.int64)])
        squares = np.concatenate([*self._squares, np.empty(0)])
        self._sizes, self._squares = [], []
        self._close()
        self.plan = self.weights.neyman(sizes, squares)

    def add(self, draw: StreamedUnits, gains: FloatArray) -> None:
        """Fold in a round; units with a gain of NaN are left out."""
        kept = np.flatnonzero(~np.isnan(gains))
        at = draw.sizes - 1
        gains = gains - self.level[at]
        common = np.full(self.weights.n_players, self.constant)
        if self.learner is not None:
            common += self.learner.values
        self._epoch.begin_round(common, self._through.values, self._largest / self._weight())
        rows = max(16, BLOCK_ENTRIES // self.weights.n_players)
        for start in range(0, len(kept), rows):
            part = kept[start : start + rows]
            masks = draw.units(part[0], part[-1] + 1)[part - part[0]]
            numbers = masks.astype(np.float32)
            residuals = gains[part]
            if self.learner is not None:
                residuals = residuals - self.learner.predict(numbers, at[part])
            self._fold(masks, numbers, at[part], residuals)
            self._sizes.append(draw.sizes[part])
            self._squares.append(np.square(residuals))
        self.told += len(gains)
        if self.told >= self._end:
            self._close()

    def _fold(
        self, masks: BoolArray, numbers: MaskArray, at: IntArray, residuals: FloatArray
    ) -> None:
        """A block of units: the moments and the learner share one product with the masks."""
        weights, scaled = self.weights, residuals / self.plan[at]
        units = TwoValued.of(at + 1, weights.inside[at] * scaled, -weights.outside[at] * scaled)
        columns = units.columns()
        if self.learner is not None:
            learning = self.learner.columns(at, residuals, self.plan)
            columns = np.concatenate([columns, learning])
        products = (columns.astype(np.float32) @ numbers).astype(np.float64)
        self._epoch.add(masks, units, products[:2])
        if self.learner is not None:
            self.learner.learn(products[2:])


def _level(problem: Problem, weights: SizeWeights) -> FloatArray:
    """From v(∅) to v(N) in proportion to the size, by size; for pairs half of the difference."""
    shares = weights.sizes / problem.n_players
    rise = problem.full - problem.empty
    return rise * (shares - 0.5) if weights.paired else problem.empty + rise * shares


class Epoch:
    """Moments of the contributions y of an epoch: those of its units, plus what the proxy gives."""

    def __init__(self, weights: SizeWeights, pooling: Pooling | None) -> None:
        self.weights, self.pooling = weights, pooling
        self.clear()

    def clear(self) -> None:
        """Nothing told."""
        n_players = self.weights.n_players
        self.moments = Moments(n_players)
        self.power = 0.0
        """Σ_t Σ_i x_i²"""
        self.largest: FloatArray = np.zeros(n_players)
        """The largest |y − φ̂| of each player, φ̂ the mean before"""

    def begin_round(self, common: FloatArray, means: FloatArray, largest: FloatArray) -> None:
        """What the next units have in common: c, φ̂, and deviations that do not count any more."""
        shared = common if self.pooling is None else self.pooling.shared(common[None])[0]
        self._common, self._shift = shared, np.nan_to_num(shared - means)
        self._seen = largest

    def add(self, masks: BoolArray, units: TwoValued, products: FloatArray) -> None:
        """Fold in a block."""
        self.power += units.power(self.weights.n_players)
        if self.pooling is not None:
            block = self.pooling.shared(units.rows(masks, slice(None)))
            self.largest = np.maximum(self.largest, np.abs(block + self._shift).max(axis=0))
            self.moments.add(block + self._common)
            return
        self.moments.merge(units.moments(products, self._common))
        self._deviations(masks, units)

    def _deviations(self, masks: BoolArray, units: TwoValued) -> None:
        """Only few units can deviate by more than any before: the largest are looked at first."""
        most = units.unit * np.maximum(np.abs(units.inside), np.abs(units.outside))
        most += np.abs(self._shift).max()
        order = np.argsort(-most)
        for start in range(0, len(order), DEVIANTS):
            some = order[start : start + DEVIANTS]
            if most[some[0]] <= np.maximum(self.largest, self._seen).min():
                return
            deviations = np.abs(units.rows(masks, some) + self._shift)
            self.largest = np.maximum(self.largest, deviations.max(axis=0))


class ProxyLearner:
    """A linear proxy that learns from residuals, epoch by epoch; its players' values with it."""

    def __init__(self, weights: SizeWeights) -> None:
        self.weights = weights
        usage = np.divide(
            weights.power, weights.base, out=np.zeros_like(weights.base), where=weights.base > 0
        )
        self.bases = SizeBases.of(weights, usage)
        n_slopes, n_offsets = len(self.bases.slopes), len(self.bases.offsets)
        self.slopes: FloatArray = np.zeros((n_slopes, weights.n_players))
        self.offsets: FloatArray = np.zeros(n_offsets)
        self.values: FloatArray = np.zeros(weights.n_players)
        """E[x_i(g)]"""
        self._spread = spread(weights.n_players)
        self._unit = 1.0
        self._begin()

    def _begin(self) -> None:
        """An epoch in which nothing was seen yet."""
        n_slopes, n_offsets = len(self.slopes), len(self.offsets)
        self._gradient: FloatArray = np.zeros_like(self.slopes)
        self._gram: FloatArray = np.zeros(n_slopes)
        self._noise: FloatArray = np.zeros(n_slopes)
        self._products: FloatArray = SIZE_PENALTY * np.eye(n_offsets)
        self._right: FloatArray = np.zeros(n_offsets)
        self._columns_unit = power_of_two(float(np.abs(self.slopes).max(initial=0.0)))
        self._columns = (2.0 * self.slopes.T / self._columns_unit).astype(np.float32)

    def predict(self, numbers: MaskArray, at: IntArray) -> FloatArray:
        """The proxy's utility of each coalition."""
        fitted: FloatArray = self.offsets @ self.bases.offsets[:, at]
        if self._columns.any():
            sums = self.bases.slopes[:, at].T * (numbers @ self._columns)
            fitted += self._columns_unit * sums.sum(axis=1)
        return fitted

    def columns(self, at: IntArray, residuals: FloatArray, plan: FloatArray) -> FloatArray:
        """What the gradient is the product of, with the masks; other sums are taken here.

        `learn` is to be given that product.
        """
        power = self.weights.power
        possible = np.where(plan > 0, plan, np.inf)
        importance = power[at] / plan[at] ** 2 / float((power / possible).sum())
        slopes, offsets = self.bases.slopes[:, at], self.bases.offsets[:, at]
        weighted = importance * residuals
        curve = slopes**2 * self._spread[at]
        self._gram += curve @ importance
        self._noise += curve @ np.square(weighted)
        self._products += (offsets * importance) @ offsets.T
        self._right += offsets @ weighted
        self._unit = 2.0 * power_of_two(float(np.abs(weighted).max(initial=0.0)))
        result: FloatArray = slopes * (2.0 * weighted / self._unit)
        return result

    def learn(self, products: FloatArray) -> None:
        """What these units say of the coefficients, to be used when the epoch ends."""
        self._gradient += self._unit * products

    @property
    def curve(self) -> FloatArray:
        """What the proxy gives to all coalitions of a size, by size."""
        curve: FloatArray = self.offsets @ self.bases.offsets
        return curve

    def learn_by_size(
        self, counts: FloatArray, sums: FloatArray, squares: FloatArray, importance: FloatArray
    ) -> None:
        """The sums that `columns` takes, from those of the residuals of each size."""
        offsets = self.bases.offsets
        curve = self.bases.slopes**2 * self._spread
        self._gram += curve @ (importance * counts)
        self._noise += curve @ (importance**2 * squares)
        self._products += (offsets * (importance * counts)) @ offsets.T
        self._right += offsets @ (importance * sums)
        self._unit = 1.0

    def step(self) -> None:
        """The epoch is through: move the coefficients."""
        count = self.weights.n_players - 1.0
        gram = np.where(self._gram > 0, self._gram, np.inf)
        gradient = self._gradient - self._gradient.mean(axis=1, keepdims=True)
        steps = gradient / gram[:, None]
        noise = self._noise / gram**2
        # A mean square of n noises has a relative standard deviation of √(2/n): below twice that
        # there is nothing to be seen.
        excess = np.square(steps).sum(axis=1) / count - (1.0 + 2.0 * np.sqrt(2.0 / count)) * noise
        errors = np.maximum(excess, 0.0)
        share = errors / np.where(errors > 0, errors + noise, 1.0)
        self.slopes += share[:, None] * steps
        self.offsets += np.linalg.solve(self._products, self._right)
        proxies = LinearProxies(self.bases, self.slopes[..., None], self.offsets[:, None])
        everywhere = np.ones(self.weights.n_players - 1, dtype=bool)
        self.values = proxies.interior_values(self.weights, everywhere)[0]
        self._begin()
