"""The regression-adjusted estimator: pairs, a cross-fitted proxy, sizes where the variance is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from fairshapley._basics import bits, checks
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import Draw, ListedCoalitions, random_sets, random_sizes
from fairshapley.estimators.adjusted.adjustment import Adjustment, Fitted, ProxyOption, uses_kernel
from fairshapley.estimators.adjusted.enumeration import Enumeration
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.size_plan import Border, SizeWeights, borders
from fairshapley.estimators.adjusted.streaming import MOST_KEPT, Stream, StreamedUnits
from fairshapley.estimators.adjusted.units import Units
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.rounds import early_length, round_length
from fairshapley.estimators.statistics.pooling import Pooling

# Seven eighths of the units fit each proxy; more folds gain 1 % and cost as much more.
N_FOLDS = 8
# A pass over the masks of a large game takes seconds, and more folds make it longer.
LARGE, LARGE_FOLDS = 400, 4
# The first plan of the sizes is made after n units, or so many; the next ones at each doubling.
LEAST_PILOT = 32
# Pairs give way to single coalitions, for good, when a plan after at least so many pairs finds the
# variance of singles at the same cost below this share of theirs. The first plan must be clear: a
# unit for each player was wrong in one run of three where the two were close. Later a tie goes to
# singles, whose kernel proxies explain more (forest n = 14: −25 % at equal linear residuals).
LEAST_SPLIT, SURE_SPLIT = 100, 2
EARLY_RATIO, LATE_RATIO = 0.85, 1.1
# Early rounds grow to 1024 units, or fewer where there are fewer players; later ones are a 32nd of
# what was told, to 4096 units, with which a GPU is busy.
EARLY_UNITS, MOST_UNITS, LATE_SHARE = 1024, 4096, 32


@dataclass(frozen=True, eq=False)
class SampledUnits(ListedCoalitions):
    """Units drawn by a plan; each coalition is followed by its complement when paired."""

    plan: int


@dataclass(frozen=True, eq=False)
class BorderUnits(ListedCoalitions):
    """A part of the coalitions of a size that is enumerated."""


@dataclass(eq=False)
class AdjustedState:
    """The units told, how they were drawn, and what is enumerated."""

    problem: Problem
    weights: SizeWeights
    units: Units
    plans: list[FloatArray]
    """The probabilities of the sizes 1 … n − 1, for each plan so far"""
    waiting: list[Border]
    """Sizes not yet enumerated, the next one first"""
    interior: BoolArray
    """Of the sizes 1 … n − 1, those that are sampled"""
    enumerated: FloatArray
    """What the enumerated sizes add to each value"""
    pooling: Pooling | None = None
    """Who shares one value"""
    stream: Stream | None = None
    """Takes the units of a very large game, which are not kept"""
    running: Enumeration | None = None
    told: int = 0
    """Units told, skipped ones too"""
    split: int = 0
    """Units at the beginning that are halves of pairs"""
    complete: bool = True
    """Whether no coalition of an enumerated size was skipped"""
    latest: tuple[tuple[int, int], Estimate] | None = None
    """The last estimate, with what was told by then"""
    fitted: dict[bool, list[Fitted]] = field(default_factory=dict)
    """The last stages with and without a kernel, as long as they may hold"""


@dataclass(frozen=True, kw_only=True)
class RegressionAdjusted(Estimator[AdjustedState, Draw]):
    """Regression-adjusted sampling: every evaluation serves every player, at little variance.

    1. *Units.* A coalition S with its complement is one unit: for Shapley, Banzhaf and any other
       semivalue with α_k = α_{n−1−k} only v(S) − v(N ∖ S) counts in it, and what v(S) and
       v(N ∖ S) have in common cancels. It costs two evaluations, one of them at a size where the
       utility may hardly vary. So each time the sizes are planned, the residuals tell whether
       single coalitions would now have the smaller variance at the same cost; from then on they
       are the units. For other semivalues, such as Beta(16, 1), they are from the start.
    2. *Proxy.* Only what a cheap model g does not explain is estimated by sampling; the values of
       g are known in closed form. g is linear in the players with coefficients that vary with the
       size (`proxy.py`); on games of up to 64 players a kernel adds interactions
       (`kernel_proxy.py`). Penalties and kernel are learnt from the units.
    3. *Cross-fitting.* A unit's residual never uses a proxy that saw it (`adjustment.py`), so
       that the contributions y_t have the value as their mean whatever the proxy.
    4. *Sizes.* How often a size is drawn follows the spread of the residuals there. The plan is
       made anew each time the number of units has doubled; every unit keeps the weight with which
       it was drawn, and the mean is a plain one.
    5. *Border sizes* with few coalitions are enumerated, once sampling would have met each of
       them about once. That depends on the number of units told, not on their values.

    The estimate is the mean of y_t, its standard error √(Σ(y_t − ȳ)²/(M(M − 1))), enlarged for
    units that train each other's proxies. One dependence remains, of order 1/M against an error
    of order 1/√M: a unit's value has a part in the later plans, by which units that fit its proxy
    are drawn. It does not show in thousands of repeated runs (see the laws in the tests).

    The state keeps the units, and what proxies leave of them: n/8 + 36 bytes for each. On more than
    16 384 players it keeps none: the proxy that judges a unit is learnt from the units before it
    (`streaming.py`), and no size is enumerated.

    Parameters
    ----------
    units
        "auto": as above. "pairs", for semivalues that allow it, or "singles" for the whole run.
    proxy
        "auto": linear, with a kernel up to 64 players. "linear": no kernel; an estimate from a
        thousand units then takes milliseconds instead of half a second, which counts when
        utilities take microseconds. "none": plain pairs.
    sizes
        "neyman": as above. "fixed": the first plan, the best one when residuals are alike at all
        sizes, for the whole run.
    border
        Whether border sizes are enumerated.
    pool
        Whether players that the game declares identical (`identical_players`) share the mean of
        their contributions: they get one value, as axiom A2 asks, with a smaller error.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.adjusted.regression_adjusted import RegressionAdjusted
    >>> game = fs.games.SumOfUnanimity(20, seed=1)
    >>> result = fs.estimate(game, RegressionAdjusted(), budget=1000, seed=0)
    >>> bool(np.abs(result.values - game.shapley_values).max() < 0.1)
    True
    """

    name = "adjusted"
    checkpoint_growth = 8.0

    units: Literal["auto", "pairs", "singles"] = "auto"
    proxy: ProxyOption = "auto"
    sizes: Literal["neyman", "fixed"] = "neyman"
    border: bool = True
    pool: bool = True

    _most_kept: ClassVar[int] = MOST_KEPT
    _least_split: ClassVar[int] = LEAST_SPLIT
    _early_ratio: ClassVar[float] = EARLY_RATIO

    def __post_init__(self) -> None:
        checks.choice("units", self.units, ("auto", "pairs", "singles"))
        checks.choice("proxy", self.proxy, ("auto", "linear", "none"))
        checks.choice("sizes", self.sizes, ("neyman", "fixed"))
        border, pool = checks.flag("border", self.border), checks.flag("pool", self.pool)
        checks.settle(self, border=border, pool=pool)

    @property
    def traits(self) -> Traits:
        """Unbiased and efficient; a proxy is fitted to the values, so that it is not linear."""
        return Traits(linear=False, exact_nulls=False, iid=False)

    @property
    def pools(self) -> bool:
        """As asked for."""
        return self.pool

    def start(self, problem: Problem) -> AdjustedState:
        """Nothing told; all sizes are sampled."""
        n_players = problem.n_players
        weights = SizeWeights.of(problem.semivalue, n_players)
        if self.units == "singles":
            weights = replace(weights, paired=False)
        pooling = Pooling.of(problem) if self.pool and problem.identical else None
        stream = None
        if n_players > self._most_kept:
            stream = Stream(problem, weights, proxy=self.proxy != "none", pooling=pooling)
        return AdjustedState(
            problem=problem,
            weights=weights,
            units=Units(n_players),
            plans=[weights.base],
            waiting=borders(weights) if self.border and stream is None else [],
            interior=weights.base > 0,
            enumerated=np.zeros(n_players),
            pooling=pooling,
            stream=stream,
        )

    def ask(self, state: AdjustedState, rng: np.random.Generator) -> Draw | None:
        """A part of a size that is due to be enumerated, else units drawn by the current plan."""
        paired, n_players = state.weights.paired, state.problem.n_players
        if not state.interior.any():
            return None
        due = state.running is not None or (state.waiting and state.told >= state.waiting[0].due)
        if due:
            running = state.running or Enumeration(state.waiting[0], n_players)
            masks = running.next_masks()
            return BorderUnits(
                bits.pack(bits.with_complements(masks) if paired else masks), n_players
            )
        early = min(early_length(n_players, 2), EARLY_UNITS)
        units = round_length(state.told, early=early, most=MOST_UNITS, late_share=LATE_SHARE)
        units = min(units, _next_plan(n_players, state.told) - state.told)
        if state.stream is not None:
            return StreamedUnits.draw(rng, units, state.plans[-1], paired=paired)
        sizes = 1 + random_sizes(rng, units, np.where(state.interior, state.plans[-1], 0.0))
        masks = random_sets(rng, sizes, n_players)
        packed = bits.pack(bits.with_complements(masks) if paired else masks)
        return SampledUnits(packed, n_players, plan=len(state.plans) - 1)

    def tell(self, state: AdjustedState, draw: Draw, values: FloatArray) -> None:
        """Keep the units, or add up a part of an enumerated size."""
        if isinstance(draw, StreamedUnits):
            self._tell_stream(state, draw, values)
            return
        masks, gains, levels = draw.masks(0, len(draw)), values, None
        if state.weights.paired:
            one, other = values[::2], values[1::2]
            masks, gains, levels = masks[::2], 0.5 * (one - other), 0.5 * (one + other)
        if isinstance(draw, BorderUnits):
            self._tell_border(state, masks, gains)
            return
        assert isinstance(draw, SampledUnits)  # noqa: S101 - what `ask` gave
        planned = _next_plan(state.problem.n_players, state.told)
        state.units.add(masks, gains, draw.plan, levels)
        state.told += len(gains)
        if state.told == planned:
            self._plan(state)

    @one_thread()
    def _plan(self, state: AdjustedState) -> None:
        """Choose the sizes anew, and between pairs and single coalitions."""
        # A linear proxy is good enough to plan by.
        proxy: ProxyOption = "none" if self.proxy == "none" else "linear"
        fit = self._adjust(state, proxy)
        if self.units == "auto" and state.weights.paired and state.told >= self._least_split:
            single = _split(state, border=self.border)
            other = self._adjust(single, proxy)
            early = state.told < SURE_SPLIT * max(state.problem.n_players, LEAST_PILOT)
            # A pair costs two evaluations.
            ratio = self._early_ratio if early else LATE_RATIO
            if other.difficulty() < 2.0 * ratio * fit.difficulty():
                fit = other
                vars(state).update(vars(single))
        if self.sizes == "neyman":
            sizes, squares = fit.sample.sizes, np.square(fit.residuals)
            state.plans.append(state.weights.neyman(sizes, squares))

    @one_thread()
    def _tell_stream(self, state: AdjustedState, draw: StreamedUnits, values: FloatArray) -> None:
        """Let the units pass; plan the sizes anew when it is time."""
        assert state.stream is not None  # noqa: S101 - as when `ask` gave the draw
        gains = 0.5 * (values[::2] - values[1::2]) if draw.paired else values
        planned = _next_plan(state.problem.n_players, state.told)
        state.stream.add(draw, gains, state.plans[-1])
        state.told += len(gains)
        if state.told == planned and self.sizes == "neyman":
            state.plans.append(state.stream.plan())

    def _tell_border(self, state: AdjustedState, masks: BoolArray, gains: FloatArray) -> None:
        """Fold in a part; a size that is through is no longer sampled."""
        n_players = state.problem.n_players
        running = state.running or Enumeration(state.waiting[0], n_players)
        running.add(masks, gains)
        state.running = None if running.finished else running
        if not running.finished:
            return
        size = state.waiting.pop(0).size
        if not running.known:
            return  # all of it was skipped: it stays sampled
        state.complete &= running.known == running.border.units
        state.enumerated = state.enumerated + running.values(state.weights)
        state.interior[size - 1] = False
        if state.weights.paired:
            state.interior[n_players - size - 1] = False
        state.fitted.clear()  # to units that may now be drawn in vain

    def _adjust(self, state: AdjustedState, proxy: ProxyOption) -> Adjustment:
        """The units told so far with their proxies; stages that still hold are used again."""
        sample, kernel = self._sample(state), uses_kernel(proxy, state.problem.n_players)
        known = state.fitted.get(kernel, ())
        fit = Adjustment(sample, state.weights, state.interior, proxy, known)
        state.fitted[kernel] = fit.stages
        return fit

    def _sample(self, state: AdjustedState) -> Sample:
        """The units at sizes that are sampled; the others were drawn in vain."""
        problem, interior = state.problem, state.interior
        sizes = state.units.sizes
        chosen = np.flatnonzero(interior[sizes - 1])
        sizes = sizes[chosen]
        gains = state.units.gains[chosen]
        if not state.weights.paired:
            gains = gains - _baseline(problem, sizes.astype(np.float64))
        plans = np.array(state.plans) * interior
        plans /= plans.sum(axis=1, keepdims=True)
        drawn_by = state.units.plans[chosen]
        n_folds = N_FOLDS if problem.n_players <= LARGE else LARGE_FOLDS
        pair = np.where(chosen < state.split, chosen // 2, chosen)
        groups = np.cumsum(np.diff(pair, prepend=-1) != 0) - 1
        return Sample(state.units, chosen, sizes, gains, plans, drawn_by, groups, n_folds)

    def estimate(self, state: AdjustedState) -> Estimate:
        """The mean of the adjusted contributions; exact when every size was enumerated."""
        if state.stream is not None:
            return state.stream.estimate()
        progress = (state.told, int(state.interior.sum()))
        if state.latest is None or state.latest[0] != progress:
            state.latest = (progress, self._estimate(state))
        return state.latest[1]

    def remarks(self, state: AdjustedState) -> tuple[str, ...]:
        """Proxies that could not be computed."""
        stages = state.fitted.get(uses_kernel(self.proxy, state.problem.n_players), ())
        return tuple(dict.fromkeys(stage.remark for stage in stages if stage.remark))

    @one_thread()
    def _estimate(self, state: AdjustedState) -> Estimate:
        problem, weights, n_players = state.problem, state.weights, state.problem.n_players
        lowest, highest = weights.ends
        constant = state.enumerated + (highest * problem.full - lowest * problem.empty)
        if not state.interior.any():
            variances = np.full(n_players, 0.0 if state.complete else np.nan)
            counts = np.ones(n_players, dtype=np.int64)
            return Estimate(constant, variances, counts, exact=state.complete)
        if not weights.paired:
            level = _baseline(problem, weights.sizes)
            constant = constant + np.where(state.interior, weights.constant, 0.0) @ level
        fit = self._adjust(state, self.proxy)
        return fit.estimate(constant, state.pooling)


def _split(state: AdjustedState, *, border: bool) -> AdjustedState:
    """The state with each pair as two units; sizes that are enumerated stay so."""
    weights = replace(state.weights, paired=False)
    units = state.units.split()
    waiting = borders(weights) if border else []
    return replace(
        state,
        weights=weights,
        units=units,
        plans=list(state.plans),
        waiting=[one for one in waiting if state.interior[one.size - 1]],
        told=2 * state.told,
        split=len(units),
        latest=None,
        fitted={},
    )


def _baseline(problem: Problem, sizes: FloatArray) -> FloatArray:
    """From v(∅) to v(N) in proportion to the size: single coalitions are measured from there."""
    return problem.empty + (problem.full - problem.empty) * sizes / problem.n_players


def _next_plan(n_players: int, told: int) -> int:
    """The number of units at which the next plan is made."""
    planned = max(n_players, LEAST_PILOT)
    while planned <= told:
        planned *= 2
    return planned
