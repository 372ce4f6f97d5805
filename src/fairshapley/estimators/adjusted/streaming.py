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

*Sums.* y_t has two values for all players inside and outside, plus what the proxy gives each. So
sums and sums of squares are products of the masks with two numbers for each unit, and what is the
same for all coalitions of a size is a table of the sizes. A block of units leaves only three sums
for each size and a few numbers for each player. The same code adds them up in numpy, and in torch
where the game computes on a device and units stay there.

*On a device* coalitions are drawn as a mixture of Bernoulli memberships (`SizeLaw`), whose law of
sizes is as near to the plan as binomials allow, and known exactly. Sums for each size are of whole
numbers, so that their order does not count; products are those of a matrix library. The same
device, library and seed give the same bits; another device draws other coalitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace, to_device

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import FloatArray
from fairshapley.draws.device import BLOCK_ENTRIES as DEVICE_ENTRIES
from fairshapley.draws.device import DeviceUnits, SizeLaw
from fairshapley.draws.permutations import packed_sets, random_sizes
from fairshapley.estimators.adjusted.adjustment import ProxyOption
from fairshapley.estimators.adjusted.linear_proxy import SIZE_PENALTY, LinearProxies
from fairshapley.estimators.adjusted.schedule import Schedule
from fairshapley.estimators.adjusted.size_bases import SizeBases, spread
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.estimator import Estimate, Problem
from fairshapley.estimators.moments import (
    ROUNDING,
    Moments,
    WeightedEpochs,
    power_of_two,
    sums_by_size,
)
from fairshapley.estimators.rounds import DEVICE_FIRST, device_units

# Up to this many players units are kept: 60 evaluations for each are then 1 GB.
MAX_KEPT = 1 << 14
# Masks as numbers at a time: 32 MiB, so that a product reads more than it writes.
BLOCK_ENTRIES = 1 << 23
# An epoch is an eighth of what was told before, and at least this many units.
EPOCH_SHARE, MIN_EPOCH = 8, 16
# From one epoch to the next a weight grows at most by this factor.
MAX_GAIN = 2.0


class Stream(Schedule[Any]):
    """The moments of all units told so far, and the proxy that they taught; nothing else is kept.

    An epoch's weight is one over the variance of the contributions in the epoch before it, summed
    over the players: known before it begins, and the same for all players. They are so many that
    this sum has next to nothing to do with any single value, and biases none.

    Parameters
    ----------
    problem, proxy, weights
        The problem, the proxy that the user chose, and the weights of the sizes.
    """

    def __init__(self, problem: Problem, proxy: ProxyOption, weights: SizeWeights) -> None:
        n_players = problem.n_players
        self.problem, self.weights, self.pooling = problem, weights, None
        self.told = 0
        self.learner = ProxyLearner(weights, used=proxy != "none")
        lowest, highest = weights.ends
        self.level = _level(problem, weights)
        constant = highest * problem.full - lowest * problem.empty
        self.constant: float = constant + float(weights.constant @ self.level)
        """What every value has in common: the endpoints, and the level that gains start from"""
        self._seen: FloatArray = np.zeros((2, n_players - 1))
        """By size since the last plan: the units, and their squared residuals"""
        self._through = WeightedEpochs.none(n_players)
        self._second = 0.0
        """Σ w²·Σ y² over these epochs and all players"""
        self._largest: FloatArray = np.zeros(n_players)
        """The largest w·|y − ȳ| of each player"""
        self._epoch = Moments(n_players)
        self._end = MIN_EPOCH
        self._variance = 0.0
        """The variance that the current weight is one over; 0 while there is none"""
        self._unit = 1.0
        """The first of these variances: the squares of weights must not overflow"""
        self.next_planned = self.next_plan
        self._follow(weights.base)

    def _follow(self, plan: FloatArray) -> None:
        """Let sizes be drawn by this plan from now on."""
        self.plan = plan
        possible = np.where(plan > 0, plan, np.inf)
        # What a residual counts for players inside and outside, by size.
        self.inside, self.outside = self.weights.inside / possible, -self.weights.outside / possible
        self.importance = self.weights.importance(plan)

    def ask(self, rng: np.random.Generator) -> Any:
        """Draw units by the current plan."""
        sizes = 1 + random_sizes(rng, self.next_units, self.plan)
        return self.drawn(packed_sets(rng, sizes, self.problem.n_players))

    def blocks(self, draw: Any, values: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yield blocks of units as columns, with the places of their sizes in tables, and gains.

        Units with a gain of NaN are left out.
        """
        packed, gains = draw.packed, values
        if self.weights.paired:
            packed, gains = packed[::2], 0.5 * (values[::2] - values[1::2])
        kept = np.flatnonzero(~np.isnan(gains))
        step = max(16, BLOCK_ENTRIES // self.problem.n_players)
        for start in range(0, len(kept), step):
            part = kept[start : start + step]
            masks = bits.unpack(packed[part], self.problem.n_players)
            yield masks.T, bits.sizes(packed[part]).astype(np.int64) - 1, gains[part]

    @one_thread()
    def tell(self, draw: Any, values: Any) -> Self:
        """Let the units pass; end an epoch, and plan the sizes anew, where that is due."""
        for units, at, gains in self.blocks(draw, values):
            self._fold_in(units, at, gains)
        self.told += len(draw) // (2 if self.weights.paired else 1)
        if self.told >= self._end:
            self._close()
        if self.told >= self.next_planned:
            self._close()
            self._follow(self.weights.neyman_of(*self._seen))
            self._seen = np.zeros_like(self._seen)
            self.next_planned = self.next_plan
        return self

    def _fold_in(self, units: Any, at: Any, gains: Any) -> None:
        """Fold in a block of units, of numpy or torch: their contributions, and what they teach."""
        xp = array_namespace(units)
        learner, n_players = self.learner, self.problem.n_players
        tables = [self.level + learner.curve, self.inside, self.outside, self.importance]
        table = xp.asarray(np.stack([*tables, *learner.bases.slopes]), device=units.device)[:, at]
        members = xp.astype(units, xp.float32)
        slopes = xp.asarray(learner.single_slopes, device=units.device)
        explained = (table[4:] * (slopes @ members)).sum(axis=0)
        residuals = gains - table[0] - learner.unit * explained
        both, weighted = table[1:3] * residuals, table[3] * residuals
        unit, taught = (power_of_two(float(abs(part).max())) for part in (both, weighted))
        high, low = both / unit
        columns = xp.stack([high - low, high**2 - low**2, *(table[4:] * (2.0 / taught * weighted))])
        products = _on_host(xp.astype(columns, xp.float32) @ members.T)
        high, low = xp.astype(high, xp.float32), xp.astype(low, xp.float32)
        each = xp.where(units, high, low)
        extremes = _on_host(xp.stack([xp.min(each, axis=1), xp.max(each, axis=1)]))
        by_size = _on_host(sums_by_size(at, residuals, n_players - 1))
        self._add_moments(by_size, unit * products[0], unit**2 * products[1], unit * extremes)
        self.learner.learn(by_size, self.importance, taught * products[2:])
        self._seen += by_size[::2]

    def _add_moments(
        self, by_size: FloatArray, sums: FloatArray, squares: FloatArray, extremes: FloatArray
    ) -> None:
        """Fold in contributions, from sums over each player's units of y inside less outside."""
        counts, residuals, second = by_size
        sizes, rest, count = self.weights.sizes, len(sums) - self.weights.sizes, int(counts.sum())
        sums = sums + self.outside @ residuals
        total = float((sizes * self.inside + rest * self.outside) @ residuals)
        sums += (total - sums.sum()) / len(sums)  # the sum over all players is known better
        within = np.maximum(squares + self.outside**2 @ second - sums**2 / count, 0.0)
        common = self.constant + self.learner.values
        self._epoch.add_sums(count, sums / count + common, within, 0.0, *(extremes + common))

    def estimate(self) -> Estimate:
        """Return the weighted mean of the contributions, the running epoch included."""
        through, second, largest = self._with_epoch()
        # τ² in the unit of contributions, each counted as often as its squared weight says.
        mean_square = second / max(float(through.shares.sum()), 1e-300)
        found = through.estimate(mean_square)
        spread_of_one = through.means.mean()[1] * found.counts
        vary = spread_of_one > ROUNDING**2 * mean_square
        deviations = largest * found.counts / np.maximum(through.means.weights, 1e-300)
        ratio = np.square(deviations) / np.where(vary, spread_of_one, 1.0)
        extremes = np.where(found.counts > 1, np.where(vary, ratio, 0.0), np.nan)
        return replace(found, extremes=extremes)

    def _with_epoch(self) -> tuple[WeightedEpochs, float, FloatArray]:
        """Return the sums over all epochs, the running one included, and the largest deviations.

        The weight of a contribution is 1 as long as the epoch is the only one.
        """
        epoch, count = self._epoch, int(self._epoch.counts[0])
        if count < 2:  # nothing is known of its variance
            return self._through, self._second, self._largest
        weight = self._unit / self._variance if self._variance else 1.0
        second = self._second + weight**2 * epoch.mean_square * count * len(epoch.means)
        largest = np.maximum(self._largest, weight * epoch.largest_deviations)
        return self._through.plus(epoch, weight * count), second, largest

    def _close(self) -> None:
        """End the epoch: use its weight, fix the next one's, and let the proxy learn."""
        self._end = self.told + max(MIN_EPOCH, self.told // EPOCH_SHARE)
        count = int(self._epoch.counts[0])
        variance = float(self._epoch.squares.sum()) / max(count, 1)
        if count < 2 or not (self._variance or variance):
            return  # nothing is known of the spread of contributions: the epoch goes on
        if not self._variance:
            self._variance = self._unit = variance
        self._through, self._second, self._largest = self._with_epoch()
        # A quiet epoch may have missed a rare spike.
        self._variance = max(variance, self._variance / MAX_GAIN)
        self._epoch = Moments(self.problem.n_players)
        self.learner.step()


class DeviceStream(Stream):
    """A stream whose units stay on a device; the problem says on which."""

    first_round: ClassVar[int] = DEVICE_FIRST

    def __init__(self, problem: Problem, proxy: ProxyOption, weights: SizeWeights) -> None:
        self.law = SizeLaw(problem.n_players)
        super().__init__(problem, proxy, weights)

    def _follow(self, plan: FloatArray) -> None:
        super()._follow(self.law.near(plan).sizes)

    def ask(self, rng: np.random.Generator) -> DeviceUnits:
        """Draw units by the current plan."""
        paired, device = self.weights.paired, str(self.problem.device)
        n_players, each = self.problem.n_players, 2 if paired else 1
        count = device_units(self.told, n_players, each, self.first_round)
        return DeviceUnits.draw(rng, count, self.law, device, paired=paired)

    def blocks(self, draw: DeviceUnits, values: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yield blocks of units as columns, with the places of their sizes in tables, and gains."""
        import torch

        gains = torch.as_tensor(values, dtype=torch.float64, device=self.problem.device)
        units, at = draw.units, draw.unit_sizes - 1
        if draw.paired:
            gains = 0.5 * (gains[: len(at)] - gains[len(at) :])
        if isinstance(values, np.ndarray) and np.isnan(values).any():  # skipped ones are left out
            kept = ~torch.isnan(gains)
            units, at, gains = units[:, kept], at[kept], gains[kept]
        step = max(1, DEVICE_ENTRIES // self.problem.n_players)
        for start in range(0, len(at), step):
            part = slice(start, start + step)
            yield units[:, part], at[part], gains[part]


def _on_host(numbers: Any) -> FloatArray:
    """Return an array of numpy, or a tensor, as an array in double precision."""
    return np.asarray(to_device(numbers, "cpu"), dtype=np.float64)


def _level(problem: Problem, weights: SizeWeights) -> FloatArray:
    """Return v(∅) to v(N) in proportion to the size, by size; for pairs half of the difference."""
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
        Whether it learns at all; else it is 0.
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
        """Begin an epoch."""
        n_slopes, n_offsets = len(self.slopes), len(self.offsets)
        self._gradient: FloatArray = np.zeros_like(self.slopes)
        self._gram, self._noise = np.zeros((2, n_slopes))
        self._products: FloatArray = SIZE_PENALTY * np.eye(n_offsets)
        self._right: FloatArray = np.zeros(n_offsets)
        self.curve: FloatArray = self.offsets @ self.bases.offsets
        """What the proxy gives to all coalitions of a size, by size"""
        self.unit = 2.0 * power_of_two(float(np.abs(self.slopes).max(initial=0.0)))
        self.single_slopes = (2.0 / self.unit * self.slopes).astype(np.float32)
        """The slopes for masks of 0 and 1, over `unit`"""

    def learn(self, by_size: FloatArray, importance: FloatArray, gradient: FloatArray) -> None:
        """Keep what units say of the coefficients, until the epoch ends.

        Parameters
        ----------
        by_size
            The number of units of each size, the sums of their residuals and of the squares.
        importance
            What a squared residual of each size counts.
        gradient
            The gradient of the squared residuals by the slopes.
        """
        counts, sums, squares = by_size
        offsets, weights = self.bases.offsets, importance * counts
        self._gram += self._spread @ weights
        self._noise += self._spread @ (importance**2 * squares)
        self._products += (offsets * weights) @ offsets.T
        self._right += offsets @ (importance * sums)
        self._gradient += gradient

    def step(self) -> None:
        """Move the coefficients at the end of an epoch."""
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
