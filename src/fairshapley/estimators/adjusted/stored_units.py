"""The schedule of a run that keeps its units and enumerates the sizes at the borders.

A model of the game reads the first units too, where that is wanted: see `blend`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray
from fairshapley.draws import ListedCoalitions, random_sets, random_sizes
from fairshapley.estimators.adjusted.adjustment import Adjustment, Fitted, ProxyOption
from fairshapley.estimators.adjusted.blend import blended
from fairshapley.estimators.adjusted.enumeration import Enumeration
from fairshapley.estimators.adjusted.game_model import Posterior, fit_posterior
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.schedule import MIN_PILOT, Schedule
from fairshapley.estimators.adjusted.size_plan import Border, SizeWeights, borders
from fairshapley.estimators.adjusted.stacked_proxy import MAX_KNOWN
from fairshapley.estimators.adjusted.units import Units
from fairshapley.estimators.estimator import Estimate, Problem
from fairshapley.estimators.pooling import Pooling
from fairshapley.semivalues import Shapley

# Seven eighths of the units fit each proxy; more folds gain 1 % and cost as much more.
N_FOLDS = 8
# A pass over the masks of a large game takes seconds, and more folds make it longer.
LARGE, LARGE_FOLDS = 400, 4
# Early plans are those of less than two units per player. They must find clearly that single
# coalitions are better: a unit for each player was wrong in one run of three where the two were
# close.
SURE_SPLIT = 2
# The games that a model reads: a smaller one is enumerated soon, on a larger one it takes seconds.
FEWEST_MODELLED, MOST_MODELLED = 4, 200
# A model reads so many units: by then the corrected reading is as good on nearly all games.
MODEL_UNITS = 256
# With so few players the single players come first: they halve the error on most games. With more
# they come after a pilot of n/2 units, unless the model then says that the game does not tell
# players apart: on a vote of 50 they waste two thirds of a small budget.
FEW_PLAYERS = 16


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
    border: Units
    """Enumerated pairs, as long as they are few"""
    plans: list[FloatArray]
    """The probabilities of the sizes 1 … n − 1, for each plan so far"""
    waiting: list[Border]
    """Sizes not yet enumerated, the next one first"""
    interior: BoolArray
    """Of the sizes 1 … n − 1, those that are sampled"""
    enumerated: FloatArray
    """What the enumerated sizes add to each value"""
    known: int = 0
    """Of the units in `border`, those of sizes that are no longer sampled"""
    running: Enumeration | None = None
    told: int = 0
    split: int = 0
    """Units at the beginning that are halves of pairs"""
    complete: bool = True
    """Whether no coalition of an enumerated size was skipped"""
    model: bool = False
    """Whether a model of the game has a say"""
    singles_first: bool | None = None
    """Whether single players are evaluated early; None before that is decided"""
    posterior: tuple[tuple[int, int], Posterior] | None = None
    """What the model made of so many enumerated units and others"""
    latest: tuple[tuple[int, int], Estimate] | None = None
    """The last estimate, with what was told by then"""
    fitted: list[Fitted] = field(default_factory=list)
    """The last stages of proxies, as long as they may hold"""

    @classmethod
    def begin(
        cls,
        problem: Problem,
        proxy: ProxyOption,
        weights: SizeWeights,
        pooling: Pooling | None,
        *,
        model: bool = False,
    ) -> StoredUnits:
        """Nothing told; all sizes are sampled."""
        model &= FEWEST_MODELLED <= problem.n_players <= MOST_MODELLED
        model &= weights.paired and problem.semivalue == Shapley()
        waiting = borders(weights)
        if problem.noise:  # of random units only single players come early, for the model alone
            waiting = [one for one in waiting if one.size == 1 and model]
        return cls(
            problem,
            proxy,
            weights,
            pooling,
            units=Units(problem.n_players),
            border=Units(problem.n_players),
            plans=[weights.base],
            waiting=waiting,
            interior=weights.base > 0,
            enumerated=np.zeros(problem.n_players),
            model=model,
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
            fitted=[],
        )

    @property
    def next_units(self) -> int:
        """At most up to the end of the pilot."""
        units = super().next_units
        return min(units, self._pilot - self.told) if self.told < self._pilot else units

    @property
    def _pilot(self) -> int:
        """The units before single players may come early."""
        n_players = self.problem.n_players
        return n_players // 2 if self.model and n_players > FEW_PLAYERS else 0

    def _due(self) -> Enumeration | None:
        """The size to be enumerated now, if there is one: single players perhaps early."""
        if self.running is not None or not self.waiting:
            return self.running
        first = self.waiting[0]
        if first.size == 1 and self.model and self._singles_wanted():
            return Enumeration(first, self.problem.n_players, least=self.busy_units)
        due = self.told >= first.due and not self.problem.noise
        return Enumeration(first, self.problem.n_players) if due else None

    def _singles_wanted(self) -> bool:
        if self.singles_first is None and self.told >= self._pilot:
            self.singles_first = self._pilot == 0 or self._latest_posterior().tells_players_apart
        return bool(self.singles_first)

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
            self._tell_border(due, packed, gains)
            return self
        planned = self.next_plan
        self.units.add_packed(packed, gains, len(self.plans) - 1, levels)
        self.told += len(gains)
        return self._planned() if self.told == planned else self

    @one_thread()
    def _planned(self) -> StoredUnits:
        """With the sizes chosen anew, and single coalitions for pairs where they are better."""
        schedule, fit = self, self.adjust()
        if self.weights.paired and self.told >= self.min_split:
            singles = self.as_singles()
            other = singles.adjust()
            early = self.told < SURE_SPLIT * max(self.problem.n_players, MIN_PILOT)
            # A pair costs two evaluations.
            ratio = self.early_ratio if early else 1.0
            if other.difficulty() < 2.0 * ratio * fit.difficulty():
                schedule, fit = singles, other
                if self.model:
                    self._latest_posterior()  # the last one: it is of pairs
                    singles.posterior = self.posterior
        sizes, squares = fit.sample.sizes, np.square(fit.residuals)
        schedule.plans.append(schedule.weights.neyman(sizes, squares))
        return schedule

    def _tell_border(self, running: Enumeration, packed: ByteArray, gains: FloatArray) -> None:
        """Fold in a part; a size that is through is no longer sampled, unless it is random."""
        running.add(bits.unpack(packed, self.problem.n_players), gains)
        self.running = None if running.finished else running
        if self.weights.paired and (running.border.size == 1 or len(self.border) < MAX_KNOWN):
            self.border.add_packed(packed, gains, 0)
        if not running.finished:
            return
        if self.problem.noise:
            self.waiting.clear()
            return
        size = self.waiting.pop(0).size
        if not running.known:
            return  # all of it was skipped: it stays sampled
        self.complete &= running.known == running.border.units
        self.enumerated = self.enumerated + running.values(self.weights)
        self.interior[size - 1] = False
        self.known = len(self.border)
        if self.weights.paired:
            self.interior[self.problem.n_players - size - 1] = False
        self.fitted = []  # some of their units are not used any more

    def adjust(self) -> Adjustment:
        """The units told so far with their proxies; stages that still hold are used again."""
        known = self.border.masks(slice(self.known)), self.border.gains[: self.known]
        sample = self._sample()
        fit = Adjustment(sample, self.weights, self.interior, self.proxy, known, self.fitted)
        self.fitted = fit.stages
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
        found = self.adjust().estimate(constant, self.pooling)
        if not self.model:
            return found
        posterior = self._latest_posterior()
        mean = (problem.full - problem.empty) / n_players
        model = Estimate(posterior.values + mean, posterior.variances, found.counts)
        return blended(self._shared(model), found)

    def _latest_posterior(self) -> Posterior:
        """What a model says of the first units, as long as they are pairs."""
        border = slice(min(len(self.border), MODEL_UNITS))
        own = slice(min(len(self.units), MODEL_UNITS - border.stop))
        counts = border.stop, own.stop
        if self.posterior is not None and (self.posterior[0] == counts or not self.weights.paired):
            return self.posterior[1]
        masks = np.concatenate([self.border.masks(border), self.units.masks(own)])
        gains = np.concatenate([self.border.gains[border], self.units.gains[own]])
        span, noise = 0.5 * (self.problem.full - self.problem.empty), self.problem.noise
        limits = None
        if noise is not None:
            # One standard deviation of the logarithm of a variance from so many degrees of freedom.
            doubt = np.exp(np.sqrt(2.0 / max(noise.freedom, 1)))
            limits = (0.5 * noise.variance / doubt, 0.5 * noise.variance * doubt)
            span += 0.5 * noise.gap
        self.posterior = (counts, fit_posterior(masks, gains, span, limits))
        return self.posterior[1]

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
        return tuple(dict.fromkeys(stage.remark for stage in self.fitted if stage.remark))
