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
So sums and sums of squares are products of the masks with two numbers for each unit, and what is
the same for all coalitions of a size is a table of the sizes.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import ListedCoalitions
from fairshapley.draws.permutations import packed_sets, random_sizes
from fairshapley.estimators.adjusted.adjustment import ProxyOption
from fairshapley.estimators.adjusted.linear_proxy import SIZE_PENALTY, LinearProxies
from fairshapley.estimators.adjusted.schedule import Schedule
from fairshapley.estimators.adjusted.size_bases import SizeBases, spread
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.units import MaskArray
from fairshapley.estimators.estimator import Drawn, Estimate, Problem
from fairshapley.estimators.moments import (
    ROUNDING,
    Moments,
    WeightedParts,
    floor_variances,
    power_of_two,
    whole_below,
)
from fairshapley.estimators.pooling import Pooling

# Up to this many players units are kept: 60 evaluations for each are then 1 GB.
MAX_KEPT = 1 << 14
# Masks as numbers at a time: 32 MiB, so that a product reads more than it writes.
BLOCK_ENTRIES = 1 << 23
# An epoch is an eighth of what was told before, and at least this many units.
EPOCH_SHARE, MIN_EPOCH = 8, 16
# From one epoch to the next a weight grows at most by this factor.
MAX_GAIN = 2.0
# Units whose contributions are made one by one, at a time.
DEVIANTS = 16


class WeightedEpochs:
    """Sums over the epochs that have ended.

    Their weights depend on no value of their epoch. Within an epoch contributions are i.i.d. given
    all before; its weight was fixed before it began, and is the same for all players. So
    φ̂ = Σ w_e·M_e·ȳ_e / Σ w_e·M_e has martingale deviations, and Σ w_e²·M_e·s_e² / (Σ w_e·M_e)²
    estimates its variance.

    Examples
    --------
    >>> epochs = WeightedEpochs(1)
    >>> for row, weight in (([1.0, 5.0], 1.0), ([2.0, 4.0], 3.0)):
    ...     part = Moments(1)
    ...     part.add(np.array([row]).T)
    ...     epochs.add(part, weight)
    >>> estimate = epochs.estimate()
    >>> estimate.values, estimate.variances, estimate.counts
    (array([3.]), array([0.8125]), array([3]))
    """

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players
        self.parts = WeightedParts.none(n_players)
        """Of ȳ with the weights w·M and the variances s²/M"""
        self.square = 0.0
        """Σ w²·M"""
        self.second: float = 0.0
        """Σ w²·Σ y², all players together"""
        self.single = True
        """Whether no epoch has two contributions"""

    def add(self, part: Moments, weight: float) -> None:
        """Fold in an epoch; every player has the same number of contributions in it."""
        count = int(part.counts[0])
        if count == 0:
            return
        self.square += weight**2 * count
        # An epoch of one contribution says nothing of the variance; the others stand in for it.
        variances = part.squares / (count * max(count - 1, 1))
        self.parts = self.parts.plus(weight * count, part.means, variances)
        self.second += weight**2 * float((part.squares + count * part.means**2).sum())
        self.single = self.single and count < 2

    def copy(self) -> WeightedEpochs:
        """The same sums, to be added to."""
        return copy(self)  # arrays are replaced, never changed

    @property
    def values(self) -> FloatArray:
        """φ̂; NaN before the first contribution."""
        return self.parts.mean()[0]

    def estimate(self, largest: FloatArray | None = None) -> Estimate:
        """The weighted mean; `largest` holds the largest w·|y − φ̂| of each player.

        Weights w count as (Σw)²/Σw² equal ones (Kish).
        """
        if not self.square:
            return Estimate.unknown(self.n_players)
        weight = self.parts.weights[0]
        counts = whole_below(np.square(self.parts.weights) / self.square)
        equal = float(counts[0])
        # τ² in the unit of contributions, each counted as often as its squared weight says.
        mean_square = self.second / (self.square * self.n_players)
        values, variances = self.parts.mean()
        if self.single:
            variances = np.full(self.n_players, np.nan)
        floored = floor_variances(variances, counts, mean_square)
        extremes = None
        if largest is not None:
            vary = variances * equal > ROUNDING**2 * mean_square
            one = np.where(vary, variances * equal, 1.0)
            ratio = np.square(largest * equal / weight) / one
            extremes = np.where(np.isnan(variances), np.nan, np.where(vary, ratio, 0.0))
        return Estimate(values, floored, counts, extremes=extremes)


@dataclass(eq=False)
class Epoch:
    """The contributions y of an epoch."""

    moments: Moments
    largest: FloatArray
    """The largest |y − φ̂| of each player, φ̂ the mean before"""
    power: float = 0.0
    """Σ_t Σ_i x_i²"""

    @classmethod
    def of(cls, n_players: int) -> Epoch:
        """Nothing told."""
        return cls(Moments(n_players), np.zeros(n_players))


class Streaming(Schedule[Drawn]):
    """The moments of all units told so far, and the proxy that they taught; nothing else is kept.

    An epoch's weight is one over the mean Σ_i x_i² of the epoch before it: known before it begins,
    and the same for all players. So many players tell that mean apart from any single value, that
    no value is biased by it.

    Parameters
    ----------
    problem, proxy, weights
        The problem, the proxy that the user chose, and the weights of the sizes.
    pooling
        Who shares one value.
    """

    def __init__(
        self, problem: Problem, proxy: ProxyOption, weights: SizeWeights, pooling: Pooling | None
    ) -> None:
        n_players = problem.n_players
        self.problem, self.weights, self.pooling = problem, weights, pooling
        self.told = 0
        self.learner = ProxyLearner(weights, used=proxy != "none")
        lowest, highest = weights.ends
        self.level = _level(problem, weights)
        constant = highest * problem.full - lowest * problem.empty
        self.constant: float = constant + float(weights.constant @ self.level)
        """What every value has in common: the endpoints, and the level that gains start from"""
        self._seen: FloatArray = np.zeros((2, n_players - 1))
        """By size since the last plan: the units, and their squared residuals"""
        self._through = WeightedEpochs(n_players)
        self._epoch = Epoch.of(n_players)
        self._end = MIN_EPOCH
        self._power = 0.0
        """The Σ_i x_i² that the current weight is one over; 0 while there is none"""
        self._unit = 1.0
        """Near the first of them: the squares of weights must not overflow"""
        self._largest: FloatArray = np.zeros(n_players)
        """The largest w·|y − φ̂| of each player"""
        self.next_planned = self.next_plan
        self._follow(weights.base)

    def _follow(self, plan: FloatArray) -> None:
        """From now on sizes are drawn by this plan."""
        self.plan = plan
        possible = np.where(plan > 0, plan, np.inf)
        # What a residual counts for players inside and outside, by size.
        self.inside, self.outside = self.weights.inside / possible, -self.weights.outside / possible
        self.importance = self.weights.importance(plan)

    @property
    def common(self) -> FloatArray:
        """What all units give to each player."""
        common: FloatArray = self.constant + self.learner.values
        return common if self.pooling is None else self.pooling.shared(common[None])[0]

    def _shift(self) -> FloatArray:
        """What is common, less the mean before."""
        return np.nan_to_num(self.common - self._through.values)

    def estimate(self) -> Estimate:
        """The weighted mean of the contributions."""
        together = self._through.copy()
        together.add(self._epoch.moments, self._weight())
        return together.estimate(np.maximum(self._largest, self._weight() * self._epoch.largest))

    def _weight(self) -> float:
        """The first epoch has that of the second, or 1 as long as it is the only one."""
        return self._unit / self._power if self._power else 1.0

    def _learn(self, by_size: FloatArray, gradient: FloatArray) -> None:
        """What is told by the number, sum and squares of the residuals of each size."""
        sizes, rest = self.weights.sizes, self.problem.n_players - self.weights.sizes
        self._epoch.power += float((sizes * self.inside**2 + rest * self.outside**2) @ by_size[2])
        self.learner.learn(by_size, self.importance, gradient)
        self._seen += by_size[::2]

    def _add_moments(self, by_size: FloatArray, added: FloatArray, squares: FloatArray) -> None:
        """Moments of contributions, from sums over each player's units of y inside less outside."""
        counts, sums, second = by_size
        n_players, sizes, count = len(added), self.weights.sizes, int(counts.sum())
        added = added + self.outside @ sums
        total = float((sizes * self.inside + (n_players - sizes) * self.outside) @ sums)
        added += (total - added.sum()) / n_players  # the sum over all players is known better
        within = np.maximum(squares + self.outside**2 @ second - added**2 / count, 0.0)
        self._epoch.moments.merge(Moments.of(count, added / count + self.common, within))

    def _deviates(self, contributions: FloatArray, shift: FloatArray) -> None:
        """Some units gave these contributions, without what is common."""
        largest = np.abs(contributions + shift).max(axis=0)
        self._epoch.largest = np.maximum(self._epoch.largest, largest)

    def _pass(self, units: int) -> None:
        """A round is through; an epoch may be as well, and then the sizes may be planned anew."""
        self.told += units
        if self.told >= self._end:
            self._close()
        if self.told >= self.next_planned:
            self._close()
            self._follow(self.weights.neyman_of(*self._seen))
            self._seen = np.zeros_like(self._seen)
            self.next_planned = self.next_plan

    def _close(self) -> None:
        """The epoch is through: its weight is used, the next one's is fixed, the proxy learns."""
        self._end = self.told + max(MIN_EPOCH, self.told // EPOCH_SHARE)
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
        self._power = max(power, self._power / MAX_GAIN)
        self._epoch = Epoch.of(self.problem.n_players)
        self.learner.step()


class Stream(Streaming[ListedCoalitions]):
    """Units on the host."""

    def ask(self, rng: np.random.Generator) -> ListedCoalitions:
        """Units drawn by the current plan."""
        sizes = 1 + random_sizes(rng, self.next_units, self.plan)
        return self.drawn(packed_sets(rng, sizes, self.problem.n_players))

    @one_thread()
    def tell(self, draw: ListedCoalitions, values: FloatArray) -> Stream:
        """Let the units pass; those with a gain of NaN are left out."""
        packed, gains = draw.packed, values
        if self.weights.paired:
            packed, gains = packed[::2], 0.5 * (values[::2] - values[1::2])
        kept, at = np.flatnonzero(~np.isnan(gains)), bits.sizes(packed).astype(np.int64) - 1
        residuals = gains - self.level[at]
        n_players = self.problem.n_players
        added = np.zeros((2 + len(self.learner.slopes), n_players))
        rows = max(16, BLOCK_ENTRIES // n_players)
        for start in range(0, len(kept), rows):
            part = kept[start : start + rows]
            masks = bits.unpack(packed[part], n_players)
            numbers = masks.astype(np.float32)
            residuals[part] -= self.learner.predict(numbers, at[part])
            added += self._block(masks, numbers, at[part], residuals[part])
        if len(kept):
            at, residuals = at[kept], residuals[kept]
            powers = (np.ones_like(residuals), residuals, np.square(residuals))
            by_size = np.array([np.bincount(at, one, n_players - 1) for one in powers])
            if self.pooling is None:
                self._add_moments(by_size, *added[:2])
            self._learn(by_size, added[2:])
        self._pass(len(gains))
        return self

    def _block(
        self, masks: BoolArray, numbers: MaskArray, at: IntArray, residuals: FloatArray
    ) -> FloatArray:
        """Sums of y and y² inside less outside and the gradient of the proxy: one product."""
        both = np.stack([self.inside[at], self.outside[at]]) * residuals
        taught = self.learner.columns(at, self.importance[at] * residuals)
        units = [power_of_two(float(np.abs(one).max(initial=0.0))) for one in (both, taught)]
        high, low = both / units[0]
        columns = np.concatenate([[high - low, high**2 - low**2], taught / units[1]])
        scales = np.array([units[0], units[0] ** 2, *[units[1]] * len(taught)])
        if self.pooling is None:
            self._deviations(masks, both)
        else:
            block = self.pooling.shared(_rows(masks, both))
            self._deviates(block, self._shift())
            self._epoch.moments.add(block + self.common)
        products: FloatArray = (columns.astype(np.float32) @ numbers).astype(np.float64)
        return scales[:, None] * products

    def _deviations(self, masks: BoolArray, both: FloatArray) -> None:
        """Only few units can deviate by more than any before: the largest are looked at first."""
        shift, seen = self._shift(), self._largest / self._weight()
        most = np.abs(both).max(axis=0) + np.abs(shift).max()
        order = np.argsort(-most)
        for start in range(0, len(order), DEVIANTS):
            some = order[start : start + DEVIANTS]
            if most[some[0]] <= np.maximum(self._epoch.largest, seen).min():
                return
            self._deviates(_rows(masks[some], both[:, some]), shift)


def _rows(masks: BoolArray, both: FloatArray) -> FloatArray:
    """What each unit gives to each player, from what it gives inside and outside."""
    return np.where(masks, both[0][:, None], both[1][:, None])


def _level(problem: Problem, weights: SizeWeights) -> FloatArray:
    """From v(∅) to v(N) in proportion to the size, by size; for pairs half of the difference."""
    shares = weights.sizes / problem.n_players
    rise = problem.full - problem.empty
    return rise * (shares - 0.5) if weights.paired else problem.empty + rise * shares


class ProxyLearner:
    """A linear proxy that learns from residuals, epoch by epoch; its players' values with it.

    Parameters
    ----------
    weights
        The weights of the sizes.
    used
        Without any function of the size it is 0 for ever.
    """

    def __init__(self, weights: SizeWeights, *, used: bool = True) -> None:
        self.weights = weights
        usage = np.divide(
            weights.power, weights.base, out=np.zeros_like(weights.base), where=weights.base > 0
        )
        nothing = np.zeros((0, weights.n_players - 1))
        self.bases = SizeBases.of(weights, usage) if used else SizeBases(nothing, nothing)
        self.slopes: FloatArray = np.zeros((len(self.bases.slopes), weights.n_players))
        self.offsets: FloatArray = np.zeros(len(self.bases.offsets))
        self.values: FloatArray = np.zeros(weights.n_players)
        """E[x_i(g)]"""
        self._spread = self.bases.slopes**2 * spread(weights.n_players)
        self._begin()

    def _begin(self) -> None:
        """An epoch in which nothing was seen yet."""
        n_slopes, n_offsets = len(self.slopes), len(self.offsets)
        self._gradient: FloatArray = np.zeros_like(self.slopes)
        self._gram, self._noise = np.zeros((2, n_slopes))
        self._products: FloatArray = SIZE_PENALTY * np.eye(n_offsets)
        self._right: FloatArray = np.zeros(n_offsets)
        self.curve: FloatArray = self.offsets @ self.bases.offsets
        """What the proxy gives to all coalitions of a size, by size"""
        self._columns_unit = power_of_two(float(np.abs(self.slopes).max(initial=0.0)))
        self._columns = (2.0 * self.slopes.T / self._columns_unit).astype(np.float32)

    def predict(self, numbers: MaskArray, at: IntArray) -> FloatArray:
        """The proxy's utility of each coalition."""
        fitted: FloatArray = self.curve[at]
        if self._columns.any():
            sums = self.bases.slopes[:, at].T * (numbers @ self._columns)
            fitted += self._columns_unit * sums.sum(axis=1)
        return fitted

    def columns(self, at: IntArray, weighted: FloatArray) -> FloatArray:
        """What the gradient is the product of, with the masks."""
        return self.bases.slopes[:, at] * (2.0 * weighted)

    def learn(self, by_size: FloatArray, importance: FloatArray, gradient: FloatArray) -> None:
        """What units say of the coefficients, to be used when the epoch ends.

        From the number, sum and squares of the residuals of each size, and the gradient.
        """
        counts, sums, squares = by_size
        offsets, weights = self.bases.offsets, importance * counts
        self._gram += self._spread @ weights
        self._noise += self._spread @ (importance**2 * squares)
        self._products += (offsets * weights) @ offsets.T
        self._right += offsets @ (importance * sums)
        self._gradient += gradient

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
