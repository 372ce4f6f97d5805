"""The adjusted contributions: residuals of cross-fitted proxies, and the proxies' own values.

Unit t contributes y_t = x_t(v − g) + E[x(g)], with a proxy g that was fitted without its fold:
given the other folds, E[y_t] is the value, whatever g is. The mean of y_t is the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.adjusted.linear_proxy import LinearProxies, fit_linear, no_proxies
from fairshapley.estimators.adjusted.process import PRECISION
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.stacked_proxy import (
    MAX_UNITS,
    StackedProxies,
    fit_stacked,
    takes_stack,
)
from fairshapley.estimators.estimator import Estimate
from fairshapley.estimators.moments import Moments
from fairshapley.estimators.pooling import Pooling

ProxyOption: TypeAlias = Literal["auto", "linear", "none"]
Kinds: TypeAlias = dict[str, Callable[[Sample, SizeWeights], LinearProxies | StackedProxies]]
"""How proxies are fitted, by the name of their kind, the best first"""

# Below this many units there is no proxy: each fold would have almost none.
MIN_UNITS = 16
# Proxies are fitted again when there is an eighth more: units since then are judged by a proxy that
# saw all the units before, no fewer than those of a fold's own proxy (seven eighths).
REFIT_SHARE = 8
# Nor do more units than this improve a linear proxy by much: with 128 units for each player the
# error of its coefficients adds 2 % to the variance.
UNITS_PER_PLAYER = 128
# The correction for units that train each other's proxies at most doubles a variance.
MAX_DEPENDENCE = 2.0
# A variance of zero would claim certainty, where a few split pairs only happened to cancel.
MIN_FACTOR = 1e-3
# What proxies say of sizes not drawn yet is asked for so many sizes at most, and of so many entries
# of masks for each: early on a large game nearly all sizes are such, and this takes milliseconds.
MAX_SIZES, RING_ENTRIES = 64, 4096


def fitted_units(count: int, n_players: int) -> int:
    """Return how many of `count` units the proxies are fitted to: the last step of a fixed ladder.

    Examples
    --------
    >>> [fitted_units(count, 10) for count in (15, 16, 30, 1000, 10**6)]
    [0, 16, 24, 929, 1175]
    """
    if count < MIN_UNITS:
        return 0
    most = max(UNITS_PER_PLAYER * n_players, MIN_UNITS)
    step = MIN_UNITS
    while (further := step + max(REFIT_SHARE, step // REFIT_SHARE)) <= min(count, most):
        step = further
    return step


@dataclass(eq=False)
class Fitted:
    """Proxies, and the units that they were fitted to."""

    proxies: LinearProxies | StackedProxies
    start: int
    stop: int
    folds: IntArray
    """Taken over the units that they were fitted to"""
    values: FloatArray
    """E[x_i(g)] of each fold's proxy and of the one that saw all"""
    remark: str = ""
    """Says so where a simpler proxy than wanted was fitted"""
    residuals: FloatArray = field(default_factory=lambda: np.empty(0))
    """What is left of the gains of the first units: behind those that a stack was fitted to in
    whole blocks, because the last bits of a product depend on how many rows there are"""

    def columns(self, count: int, n_folds: int) -> IntArray:
        """Return which proxy judges each of `count` units: its fold's, or for others the last."""
        columns = np.full(count, n_folds)
        columns[self.start : self.stop] = self.folds
        return columns


class Adjustment:
    """Proxies for a sample, fitted in one or two stages.

    1. The first 1024 pairs train a stack of Gaussian processes. Once the number of pairs has
       doubled, the others train a linear proxy of what the stack leaves.
    2. On games of more than 200 players, and where units are single coalitions, all units train a
       linear proxy, up to 128 for each player.

    Parameters
    ----------
    sample
        The units.
    weights, interior
        The weights of the sizes, and which of them are not enumerated.
    proxy
        "auto" as above, "linear" or "none".
    border
        Masks and gains of enumerated units, which a stack is told of.
    known
        The stages of an earlier adjustment with the same proxy, whose sample was the beginning of
        this one; what still holds is not computed again.
    """

    most_stacked_units: ClassVar[int] = MAX_UNITS

    def __init__(
        self,
        sample: Sample,
        weights: SizeWeights,
        interior: BoolArray,
        proxy: ProxyOption,
        border: tuple[BoolArray, FloatArray],
        known: Sequence[Fitted] = (),
    ) -> None:
        self.sample, self.weights, self.interior, self.border = sample, weights, interior, border
        self.stages: list[Fitted] = []
        self.residuals: FloatArray = sample.gains.copy()
        count = sample.whole(fitted_units(len(sample.chosen), weights.n_players))
        if count == 0 or proxy == "none" or not sample.gains[:count].any():
            return
        parts, stack = [(0, count)], proxy == "auto" and takes_stack(weights)
        if stack:
            # So few players have no more different units than 2**(n − 1).
            most = min(self.most_stacked_units, 1 << (weights.n_players - 1))
            parts = [(0, min(count, most))]
            if count >= 2 * most:
                parts.append((most, count))
        for place, (start, stop) in enumerate(parts):
            before = known[0].proxies if known and stack and place == 0 else None
            if place >= len(known) or (known[place].start, known[place].stop) != (start, stop):
                known = ()
            kinds: Kinds = {"a linear proxy": fit_linear, "no proxy": no_proxies}
            if stack and place == 0:
                kinds = {"a stack of processes": partial(self._fit_stack, before), **kinds}
            stage = known[place] if known else self._fit(start, stop, kinds)
            self._judge(stage)
            self.stages.append(stage)

    def _fit_stack(
        self, before: LinearProxies | StackedProxies | None, part: Sample, weights: SizeWeights
    ) -> StackedProxies:
        """Fit a stack; `before` was fitted to the first units."""
        known = before if isinstance(before, StackedProxies) else None
        return fit_stacked(part, weights, self.interior, self.border, known)

    def _fit(self, start: int, stop: int, kinds: Kinds) -> Fitted:
        """Fit proxies of what is left of the gains to the units `start` … `stop` − 1.

        Any proxy leaves the values unbiased. So where the arithmetic of one fails, the next simpler
        one takes its place, down to one that is 0 everywhere.
        """
        part = self.sample.part(slice(start, stop), self.residuals[start:stop])
        wanted = next(iter(kinds))
        for used in kinds:
            try:
                with np.errstate(over="raise", divide="raise", invalid="raise"):
                    proxies = kinds[used](part, self.weights)
                    values = proxies.interior_values(self.weights, self.interior)
            except (np.linalg.LinAlgError, FloatingPointError):
                continue
            if np.isfinite(values).all():
                break
        remark = ""
        if used != wanted:
            remark = (
                f"{wanted} could not be computed from these utilities, so {used} was used: the "
                "values stay unbiased, but their errors may be larger"
            )
        left = proxies.residuals if isinstance(proxies, StackedProxies) else np.empty(0)
        return Fitted(proxies, start, stop, part.folds, values, remark, left)

    def _judge(self, stage: Fitted) -> None:
        """Take off what a stage explains, and let it keep what is left."""
        units, done = self.sample.units, len(stage.residuals)
        columns = stage.columns(len(self.residuals), self.sample.n_folds)
        self.residuals[:done] = stage.residuals
        for rows, masks in units.rows(self.sample.chosen, done):
            fitted = stage.proxies.predict(masks, self.sample.sizes[rows], columns[rows])
            self.residuals[rows] -= fitted
        first = len(stage.folds) if isinstance(stage.proxies, StackedProxies) else 0
        whole = first + (len(self.residuals) - first) // units.block * units.block
        stage.residuals = self.residuals[:whole].copy()

    def difficulty(self) -> float:
        """Return the variance of a unit under the best plan, summed over the players."""
        squares = np.square(self.residuals)
        return self.weights.difficulty(self.sample.sizes, squares, self.interior)

    def contributions(self, constant: FloatArray | float = 0.0) -> Iterator[FloatArray]:
        """Yield y_t of one unit after the other, in blocks that part no pair.

        `constant` is what is known exactly.
        """
        sample, start = self.sample, 0
        inside, outside = self._factors()
        columns = [stage.columns(len(inside), sample.n_folds) for stage in self.stages]
        while start < len(inside):
            stop = sample.whole(min(start + sample.units.block, len(inside)))
            rows, start = slice(start, stop), stop
            masks = sample.units.masks(sample.chosen[rows])
            block = np.where(masks, inside[rows, None], -outside[rows, None])
            for stage, column in zip(self.stages, columns, strict=True):
                block += stage.values[column[rows]]
            yield block + constant

    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """Return x_t(r) of a player inside, and −x_t(r) of a player outside."""
        at = self.sample.sizes - 1
        scaled = self.residuals / self.sample.probabilities
        return self.weights.inside[at] * scaled, self.weights.outside[at] * scaled

    def estimate(self, constant: FloatArray, pooling: Pooling | None = None) -> Estimate:
        """Return the mean of the contributions; `constant` holds what is known exactly."""
        moments, halves = Moments(self.weights.n_players), SplitPairs(self.sample.groups)
        for block in self.contributions(constant):
            shared = block if pooling is None else pooling.shared(block)
            moments.add(shared)
            halves.add(shared)
        plain = moments.estimate()
        factor = 1.0 + self._dependence() / max(float(moments.squares.sum()), 1e-300)
        factors = min(max(factor, 1.0), MAX_DEPENDENCE) * halves.factors(moments)
        variances = plain.variances * factors + self._unseen()
        if self.stages and isinstance(self.stages[0].proxies, StackedProxies):
            variances = np.maximum(variances, (PRECISION * np.abs(self.sample.gains).max()) ** 2)
        return replace(plain, variances=variances, counts=plain.counts - halves.count)

    def _unseen(self) -> float:
        """Return the variance of a value by sizes at and near which no unit was drawn yet.

        No residual shows how well the proxies do there. They are taken to explain nothing, and what
        they say all the same, which may be far beyond all gains, to be wrong.
        """
        sample, weights = self.sample, self.weights
        unseen = self.interior & ~weights.near(sample.sizes)
        if not unseen.any() or not len(sample.sizes):
            return 0.0
        places = np.flatnonzero(unseen)
        some = places[:: -(-len(places) // MAX_SIZES)]
        squares = np.interp(places, some, self._predicted_squares(some + 1))
        squares += np.square(sample.gains).mean()
        drawn = np.bincount(sample.plan, minlength=len(sample.plans)) @ sample.plans[:, unseen]
        return float((weights.power[unseen] * squares / drawn).sum()) / weights.n_players

    def _predicted_squares(self, sizes: IntArray) -> FloatArray:
        """Return the mean square of what proxies that saw all units say of coalitions of each size.

        The coalitions are neighbours in a ring, from each of its places on or from some.
        """
        n_players = self.weights.n_players
        ring, first = np.arange(n_players), np.arange(min(n_players, -(-RING_ENTRIES // n_players)))
        starts, repeated = np.tile(first, len(sizes)), np.repeat(sizes, len(first))
        masks = ((ring - starts[:, None]) % n_players < repeated[:, None]).astype(np.float32)
        said = np.zeros(len(masks))
        for stage in self.stages:
            columns = np.full(len(masks), self.sample.n_folds)
            said += stage.proxies.predict(masks, repeated, columns)
        return np.square(said).reshape(len(sizes), -1).mean(axis=1)

    def _dependence(self) -> float:
        """Return what Σ_t (y_t − ȳ)² misses, all players together.

        y_t has a part u_tu for each unit u that trained its proxy, and y_u has u_ut. Of the
        variance V + Σ_{t<u} (u_tu + u_ut)², the squared deviations see V + U, U = Σ_{t≠u} u_tu²,
        and those of the influences y_t + Σ_u u_ut see V + 2U(1 + ρ), ρ the correlation of u_tu
        and u_ut. The variance itself is V + U(1 + ρ). ρ lies between 0, when the residuals of
        the two are unrelated, and 1; with ½ a quarter of the difference is missing. Measured, that
        makes standard errors 0.97 to 1.05 times the true ones at n = 9 to 40, where they would be
        0.87 to 1.0 times. Linear proxies with many units for each column do without.
        """
        first = self.stages[0] if self.stages else None
        if first is None or not isinstance(first.proxies, StackedProxies):
            return 0.0
        inside, outside = self._factors()
        head = slice(first.start, first.stop)
        columns = first.columns(first.stop, self.sample.n_folds)
        own = first.proxies.masks * (inside + outside)[head, None] - outside[head, None]
        own += first.values[columns]
        extra = self.residuals[head, None] * first.proxies.influence
        both = own + extra
        deviations = [np.square(part - part.mean(axis=0)).sum() for part in (both, own)]
        return 0.25 * float(deviations[0] - deviations[1])


class SplitPairs:
    """Adds up (y_a − ȳ)·(y_b − ȳ) over the halves a, b of split pairs, block by block.

    The mean of all units is unbiased whether their contributions depend on each other or not; its
    variance is Σ(y_t − ȳ)² + 2·Σ(y_a − ȳ)(y_b − ȳ), over M(M − 1).

    Parameters
    ----------
    groups
        The group of each unit; the halves of a pair follow each other and are a group.

    Examples
    --------
    >>> moments, halves = Moments(1), SplitPairs(np.array([0, 0, 1]))
    >>> contributions = np.array([[1.0], [-1.0], [0.0]])
    >>> moments.add(contributions)
    >>> halves.add(contributions)
    >>> halves.factors(moments)
    array([0.001])
    """

    def __init__(self, groups: IntArray) -> None:
        self._followed = np.append(groups[1:] == groups[:-1], False)
        """Whether each unit is followed by its other half"""
        self.count = int(self._followed.sum())
        """The number of pairs"""
        self._row = 0
        self._origin: FloatArray | None = None
        """Sums are taken from here, so that they do not cancel"""
        self._products: FloatArray | float = 0.0
        self._sums: FloatArray | float = 0.0

    def add(self, block: FloatArray) -> None:
        """Fold in the contributions of the next units, which part no pair."""
        start, self._row = self._row, self._row + len(block)
        first = np.flatnonzero(self._followed[start : self._row])
        if not len(first):
            return
        if self._origin is None:
            self._origin = block.mean(axis=0)
        one, other = block[first] - self._origin, block[first + 1] - self._origin
        self._products = self._products + (one * other).sum(axis=0)
        self._sums = self._sums + (one + other).sum(axis=0)

    def factors(self, moments: Moments) -> FloatArray:
        """Return the variance of each player's mean over what it would be without any pairs."""
        ones = np.ones_like(moments.means)
        if self._origin is None:
            return ones
        shift = moments.means - self._origin
        covariances = self._products - shift * self._sums + self.count * shift**2
        known = moments.squares > 0
        ratio = 2.0 * covariances / np.where(known, moments.squares, 1.0)
        return np.where(known, np.maximum(1.0 + ratio, MIN_FACTOR), ones)
