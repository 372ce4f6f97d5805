"""The course of a run while units are few: a model of the game says what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import ListedCoalitions
from fairshapley.estimators.adjusted.course import Choices
from fairshapley.estimators.adjusted.enumeration import Enumeration
from fairshapley.estimators.adjusted.game_model import Reading, read
from fairshapley.estimators.adjusted.kept import KeptUnits
from fairshapley.estimators.adjusted.size_plan import SizeWeights, borders
from fairshapley.estimators.adjusted.units import Units
from fairshapley.estimators.estimator import Estimate, Problem
from fairshapley.estimators.statistics.pooling import Pooling
from fairshapley.semivalues import Shapley

# The games that are modelled. A smaller one is enumerated soon; on a larger one the kernel explains
# next to nothing, as does that of the proxy.
FEWEST_PLAYERS, MOST_PLAYERS = 4, 64
# From so many different units for each player on they speak for themselves. With 10 and 30
# evaluations per player the model was still better on most kinds of games.
UNITS_PER_PLAYER = 16
# With so few players the single players come first: they halve the error on most games. With more
# they come after a pilot of n/2 units, unless the model then says that the game does not tell
# players apart: on a vote of 50 they waste two thirds of a small budget.
FEW_PLAYERS = 16
# A round is this share of the units before: what a small budget has left below one is lost.
SHARE_OF_ROUND = 16


@dataclass(eq=False)
class FewUnits(KeptUnits):
    """The units told, kept as ever, and read by a model."""

    singles: Units | None = None
    """The units of sizes that are enumerated, which the others forget"""
    singles_first: bool | None = None
    """Whether single players are evaluated early; None before that is decided"""
    distinct: set[bytes] = field(default_factory=set)
    """The coalitions told, each for itself and its complement: a small game repeats many"""
    reading: tuple[int, Reading] | None = None
    """The last reading, with the number of units that it is from"""

    @staticmethod
    def fits(problem: Problem, weights: SizeWeights) -> bool:
        """Whether a model is for this problem."""
        few = FEWEST_PLAYERS <= problem.n_players <= MOST_PLAYERS
        return few and weights.paired and problem.semivalue == Shapley()

    @classmethod
    def begin(
        cls, problem: Problem, choices: Choices, weights: SizeWeights, pooling: Pooling | None
    ) -> KeptUnits:
        """Nothing told; single players are evaluated early also where they are random."""
        course = super().begin(problem, choices, weights, pooling)
        if problem.noise is not None and choices.border:
            course.waiting = [one for one in borders(weights) if one.size == 1]
        return course

    def noise_share(self) -> None:
        """Not known of a model."""
        return

    @property
    def _may_split(self) -> bool:
        return False  # the model is of pairs

    @property
    def _pilot(self) -> int:
        """The units before the single players."""
        n_players = self.problem.n_players
        return 0 if n_players <= FEW_PLAYERS else n_players // 2

    @property
    def next_units(self) -> int:
        """Few, and at most up to the end of the pilot."""
        units = min(super().next_units, max(self.busy_units, self._count // SHARE_OF_ROUND))
        return min(units, self._pilot - self.told) if self.told < self._pilot else units

    def _due(self) -> Enumeration | None:
        """Single players early, if they are wanted; other sizes as ever."""
        first = self.waiting[0] if self.waiting else None
        if self.running is None and first and first.size == 1 and self._singles_wanted():
            return Enumeration(first, self.problem.n_players, least=self.busy_units)
        return super()._due()

    def _singles_wanted(self) -> bool:
        if self.told < self._pilot:
            return False
        if self.singles_first is None:
            self.singles_first = self._pilot == 0 or self._read().tells_players_apart
        return self.singles_first

    def _tell_border(self, running: Enumeration, masks: BoolArray, gains: FloatArray) -> None:
        """Fold in a part, and keep its units for the model; random ones are for it alone."""
        if self.problem.noise is None:
            super()._tell_border(running, masks, gains)
        else:
            running.add(masks, gains)
            self.running = None if running.finished else running
            if running.finished:
                self.waiting.clear()
        if self.singles is None:
            self.singles = Units(self.problem.n_players)
        self.singles.add(masks, gains, 0)

    def tell(self, draw: ListedCoalitions, values: FloatArray) -> KeptUnits:
        """Keep the units; enough of them speak for themselves."""
        masks = draw.masks(0, len(draw))[::2]
        self.distinct.update(map(bytes, bits.pack(masks ^ ~masks[:, :1])))
        course = super().tell(draw, values)
        count = len(self.distinct) if self.problem.noise is None else self._count
        if count < UNITS_PER_PLAYER * self.problem.n_players or self.running is not None:
            return course
        kept = {one.name: getattr(course, one.name) for one in fields(KeptUnits)}
        kept["waiting"] = [] if self.problem.noise is not None else kept["waiting"]
        return KeptUnits(**{**kept, "latest": None})

    @property
    def _count(self) -> int:
        return len(self.units) + (len(self.singles) if self.singles is not None else 0)

    def _read(self) -> Reading:
        """What a model says of the units told so far."""
        if self.reading is not None and self.reading[0] == self._count:
            return self.reading[1]
        stores = [store for store in (self.singles, self.units) if store is not None]
        masks = np.concatenate([store.masks(slice(None)) for store in stores])
        gains = np.concatenate([store.gains for store in stores])
        span, noise = self.problem.full - self.problem.empty, self.problem.noise
        if noise is None:
            reading = read(masks, gains, 0.5 * span)
        else:
            reading = read(masks, gains, 0.5 * (span + noise.gap), 0.5 * noise.variance)
        self.reading = (self._count, reading)
        return reading

    def _estimate(self) -> Estimate:
        """The values of the model; what is known where every size was enumerated."""
        if not self.interior.any():
            return super()._estimate()
        reading, n_players = self._read(), self.problem.n_players
        mean = (self.problem.full - self.problem.empty) / n_players
        counts = np.full(n_players, self._count)
        return Estimate(reading.values + mean, reading.variances, counts, modelled=True)
