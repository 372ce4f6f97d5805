"""The schedule of a run that keeps its units and enumerates the sizes at the borders."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import ListedCoalitions, random_sets, random_sizes
from fairshapley.estimators.adjusted.adjustment import Adjustment, Fitted, ProxyOption, uses_kernel
from fairshapley.estimators.adjusted.enumeration import Enumeration
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.schedule import MIN_PILOT, Schedule
from fairshapley.estimators.adjusted.size_plan import Border, SizeWeights, borders
from fairshapley.estimators.adjusted.units import Units
from fairshapley.estimators.estimator import Estimate, Problem
from fairshapley.estimators.pooling import Pooling

# Seven eighths of the units fit each proxy; more folds gain 1 % and cost as much more.
N_FOLDS = 8
# A pass over the masks of a large game takes seconds, and more folds make it longer.
LARGE, LARGE_FOLDS = 400, 4
# Early plans are those of less than two units per player. They must find clearly that single
# coalitions are better: a unit for each player was wrong in one run of three where the two were
# close. Later a tie goes to singles, whose kernel proxies explain more (forest n = 14: −25 % at
# equal linear residuals).
SURE_SPLIT, LATE_RATIO = 2, 1.1


@dataclass(eq=False)
class StoredUnits(Schedule[ListedCoalitions]):
    """The units told, how they were drawn, and what is enumerated.

    Pairs give way to single coalitions, for good, when a plan after `min_split` pairs or more finds
    the variance of singles at the same cost below the share `early_ratio` of theirs.
    """

    min_split: ClassVar[int] = 100
    early_ratio: ClassVar[float] = 0.85

    problem: Problem
    proxy: ProxyOption
    weights: SizeWeights
    pooling: Pooling | None
    units: Units
    plans: list[FloatArray]
    """The probabilities of the sizes 1 … n − 1, for each plan so far"""
    waiting: list[Border]
    """Sizes not yet enumerated, the next one first"""
    interior: BoolArray
    """Of the sizes 1 … n − 1, those that are sampled"""
    enumerated: FloatArray
    """What the enumerated sizes add to each value"""
    running: Enumeration | None = None
    told: int = 0
    split: int = 0
    """Units at the beginning that are halves of pairs"""
    complete: bool = True
    """Whether no coalition of an enumerated size was skipped"""
    latest: tuple[tuple[int, int], Estimate] | None = None
    """The last estimate, with what was told by then"""
    fitted: dict[bool, list[Fitted]] = field(default_factory=dict)
    """The last stages with and without a kernel, as long as they may hold"""

    @classmethod
    def begin(
        cls, problem: Problem, proxy: ProxyOption, weights: SizeWeights, pooling: Pooling | None
    ) -> StoredUnits:
        """Nothing told; all sizes are sampled."""
        return cls(
            problem,
            proxy,
            weights,
            pooling,
            units=Units(problem.n_players),
            plans=[weights.base],
            waiting=[] if problem.noise else borders(weights),
            interior=weights.base > 0,
            enumerated=np.zeros(problem.n_players),
        )

    def as_singles(self) -> StoredUnits:
        """The schedule with each pair as two units; sizes that are enumerated stay so."""
        weights = replace(self.weights, paired=False)
        units = self.units.split()
        waiting = [] if self.problem.noise else borders(weights)
        return replace(
            self,
            weights=weights,
            units=units,
            plans=list(self.plans),
            waiting=[one for one in waiting if self.interior[one.size - 1]],
            told=2 * self.told,
            split=len(units),
            latest=None,
            fitted={},
        )

    @property
    def _may_split(self) -> bool:
        return True

    def _due(self) -> Enumeration | None:
        """The size to be enumerated now, if there is one."""
        if self.running is None and self.waiting and self.told >= self.waiting[0].due:
            return Enumeration(self.waiting[0], self.problem.n_players)
        return self.running

    def ask(self, rng: np.random.Generator) -> ListedCoalitions | None:
        """A part of a size that is due to be enumerated, else units drawn by the current plan."""
        n_players = self.problem.n_players
        if not self.interior.any():
            return None
        if due := self._due():
            # A part counts once its size is through, unless a model knows its units.
            return self.drawn(bits.pack(due.next_masks()), divisible=due.least is not None)
        plan = np.where(self.interior, self.plans[-1], 0.0)
        masks = random_sets(rng, 1 + random_sizes(rng, self.next_units, plan), n_players)
        return self.drawn(bits.pack(masks))

    def tell(self, draw: ListedCoalitions, values: FloatArray) -> StoredUnits:
        """Keep the units, or add up a part of an enumerated size."""
        packed, gains, levels = draw.packed, values, np.zeros_like(values)
        if self.weights.paired:
            one, other = values[::2], values[1::2]
            packed, gains, levels = packed[::2], 0.5 * (one - other), 0.5 * (one + other)
        if due := self._due():
            self._tell_border(due, bits.unpack(packed, self.problem.n_players), gains)
            return self
        planned = self.next_plan
        self.units.add_packed(packed, gains, len(self.plans) - 1, levels)
        self.told += len(gains)
        return self._planned() if self.told == planned else self

    @one_thread()
    def _planned(self) -> StoredUnits:
        """With the sizes chosen anew, and single coalitions for pairs where they are better."""
        # A linear proxy is good enough to plan by.
        proxy: ProxyOption = "none" if self.proxy == "none" else "linear"
        schedule, fit = self, self.adjust(proxy)
        if self._may_split and self.weights.paired and self.told >= self.min_split:
            singles = self.as_singles()
            other = singles.adjust(proxy)
            early = self.told < SURE_SPLIT * max(self.problem.n_players, MIN_PILOT)
            # A pair costs two evaluations.
            ratio = self.early_ratio if early else LATE_RATIO
            if other.difficulty() < 2.0 * ratio * fit.difficulty():
                schedule, fit = singles, other
        sizes, squares = fit.sample.sizes, np.square(fit.residuals)
        schedule.plans.append(schedule.weights.neyman(sizes, squares))
        return schedule

    def _tell_border(self, running: Enumeration, masks: BoolArray, gains: FloatArray) -> None:
        """Fold in a part; a size that is through is no longer sampled."""
        running.add(masks, gains)
        self.running = None if running.finished else running
        if not running.finished:
            return
        size = self.waiting.pop(0).size
        if not running.known:
            return  # all of it was skipped: it stays sampled
        self.complete &= running.known == running.border.units
        self.enumerated = self.enumerated + running.values(self.weights)
        self.interior[size - 1] = False
        if self.weights.paired:
            self.interior[self.problem.n_players - size - 1] = False
        self.fitted.clear()  # some of their units are not used any more

    def adjust(self, proxy: ProxyOption) -> Adjustment:
        """The units told so far with their proxies; stages that still hold are used again."""
        kernel = uses_kernel(proxy, self.problem.n_players)
        known = self.fitted.get(kernel, ())
        fit = Adjustment(self._sample(), self.weights, self.interior, proxy, known)
        self.fitted[kernel] = fit.stages
        return fit

    def _sample(self) -> Sample:
        """The units at sizes that are sampled; the others are not used any more."""
        sizes = self.units.sizes
        chosen = np.flatnonzero(self.interior[sizes - 1])
        sizes = sizes[chosen]
        gains = self.units.gains[chosen]
        if not self.weights.paired:
            gains = gains - self._baseline(sizes.astype(np.float64))
        plans = np.array(self.plans) * self.interior
        plans /= plans.sum(axis=1, keepdims=True)
        drawn_by = self.units.plans[chosen]
        n_folds = N_FOLDS if self.problem.n_players <= LARGE else LARGE_FOLDS
        pair = np.where(chosen < self.split, chosen // 2, chosen)
        groups = np.cumsum(np.diff(pair, prepend=-1) != 0) - 1
        return Sample(self.units, chosen, sizes, gains, plans, drawn_by, groups, n_folds)

    def _baseline(self, sizes: FloatArray) -> FloatArray:
        """From v(∅) to v(N) in proportion to the size: single coalitions are measured from it."""
        problem = self.problem
        return problem.empty + (problem.full - problem.empty) * sizes / problem.n_players

    def estimate(self) -> Estimate:
        """The mean of the adjusted contributions; exact when every size was enumerated."""
        progress = (
            self.told + (self.running.done if self.running else 0),
            int(self.interior.sum()),
        )
        if self.latest is None or self.latest[0] != progress:
            self.latest = (progress, self._estimate())
        return self.latest[1]

    @one_thread()
    def _estimate(self) -> Estimate:
        problem, weights, n_players = self.problem, self.weights, self.problem.n_players
        lowest, highest = weights.ends
        constant = self.enumerated + (highest * problem.full - lowest * problem.empty)
        if not self.interior.any():
            variances = np.full(n_players, 0.0 if self.complete else np.nan)
            counts = np.ones(n_players, dtype=np.int64)
            return Estimate(constant, variances, counts, exact=self.complete)
        if not weights.paired:
            level = self._baseline(weights.sizes)
            constant = constant + np.where(self.interior, weights.constant, 0.0) @ level
        return self.adjust(self.proxy).estimate(constant, self.pooling)

    def noise_share(self) -> float | None:
        """Σ_i x_i² of residuals that are noise."""
        sample = self._sample()
        if not len(sample.sizes):
            return None
        powers = self.weights.power[sample.sizes - 1] / np.square(sample.probabilities)
        each = float(powers.mean()) / (len(powers) * self.problem.n_players)
        return 0.5 * each if self.weights.paired else each

    def _shared(self, found: Estimate) -> Estimate:
        """With one value for players that are known to be identical."""
        return found if self.pooling is None else self.pooling.share(found, independent=False)

    def remarks(self) -> tuple[str, ...]:
        """Proxies that could not be computed."""
        stages = self.fitted.get(uses_kernel(self.proxy, self.problem.n_players), ())
        return tuple(dict.fromkeys(stage.remark for stage in stages if stage.remark))
