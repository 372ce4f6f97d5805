"""The schedule of a run while units are few: a model of the game says what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import ListedCoalitions
from fairshapley.estimators.adjusted.adjustment import ProxyOption
from fairshapley.estimators.adjusted.enumeration import Enumeration
from fairshapley.estimators.adjusted.game_model import Posterior, fit_posterior, unexplained
from fairshapley.estimators.adjusted.size_plan import SizeWeights, borders
from fairshapley.estimators.adjusted.stored_units import StoredUnits
from fairshapley.estimators.adjusted.units import Units
from fairshapley.estimators.estimator import Estimate, Problem
from fairshapley.estimators.pooling import Pooling
from fairshapley.semivalues import Shapley

# The games that are modelled. A smaller one is enumerated soon; on a larger one a posterior takes
# seconds.
FEWEST_PLAYERS, MAX_PLAYERS = 4, 200
# With more players than this the model explains too little to be followed alone for long.
MANY_PLAYERS = 64
# From so many different units for each player on they speak for themselves, but not before there
# are `MIN_UNITS`. With 10 and 30 evaluations per player the model was still better on most kinds
# of games, on small ones with 60 too.
UNITS_PER_PLAYER, MIN_UNITS = 16, 512
# From so many units on they do where the model leaves more than this share of the coalitions
# unexplained: in a vote of 50 players, or the points of a regression, what it leaves is no longer
# small beside what a mean over the units leaves. Seven other kinds of games left 0.1 to 6 %, these
# 13 and 33 %.
UNITS_OF_ROUGH, ROUGH = 8, 0.1
# With so few players the single players come first: they halve the error on most games. With more
# they come after a pilot of n/2 units, unless the model then says that the game does not tell
# players apart: on a vote of 50 they waste two thirds of a small budget.
FEW_PLAYERS = 16
# A round is this share of the units before: what a small budget has left below one is lost.
SHARE_OF_ROUND = 16
# Of many players: the plan up to which the model is followed alone, in units per player (of 13
# games of 70 to 150 players it had .68 of the error of the units with 3.2 evaluations per player,
# .82 with 6, and more on some with 10); how much larger its variance is said to be, as it may be
# wrong; and the weight of its last posterior below which the units are left to themselves: what a
# model has a say in is not certified.
LAST_FIT, WRONG_MODEL, MIN_WEIGHT = 2, 2.0, 0.2


def schedule_with_model(problem: Problem, weights: SizeWeights) -> type[StoredUnits] | None:
    """The schedule for this problem; None where no model is for it."""
    modelled = FEWEST_PLAYERS <= problem.n_players <= MAX_PLAYERS
    if not modelled or not weights.paired or problem.semivalue != Shapley():
        return None
    return ModelledUnits if problem.n_players <= MANY_PLAYERS else FadingModel


def _fitted(problem: Problem, stores: list[Units]) -> Posterior:
    """What a model says of these units."""
    masks, gains = _all_of(stores)
    span, noise = problem.full - problem.empty, problem.noise
    quick = problem.in_flight > 1
    if noise is None:
        return fit_posterior(masks, gains, 0.5 * span, quick=quick)
    # One standard deviation of the logarithm of a variance from so many degrees of freedom.
    doubt = np.exp(np.sqrt(2.0 / max(noise.freedom, 1)))
    limits = (0.5 * noise.variance / doubt, 0.5 * noise.variance * doubt)
    return fit_posterior(masks, gains, 0.5 * (span + noise.gap), limits, quick=quick)


def _all_of(stores: list[Units]) -> tuple[BoolArray, FloatArray]:
    masks = np.concatenate([store.masks(slice(None)) for store in stores])
    return masks, np.concatenate([store.gains for store in stores])


def _as_estimate(posterior: Posterior, problem: Problem, count: int) -> Estimate:
    """The values that a model gives, from so many units."""
    n_players = problem.n_players
    values = posterior.values + (problem.full - problem.empty) / n_players
    return Estimate(values, posterior.variances, np.full(n_players, count), modelled=True)


@dataclass(eq=False)
class ModelledUnits(StoredUnits):
    """The units told, kept as ever, and read by a model."""

    singles: Units | None = None
    """The units of sizes that are enumerated, which the others forget"""
    singles_first: bool | None = None
    """Whether single players are evaluated early; None before that is decided"""
    distinct: set[bytes] = field(default_factory=set)
    """The coalitions told, each for itself and its complement: a small game repeats many"""
    rough: bool | None = None
    """Whether the model leaves much unexplained; None before that is decided"""
    posterior: tuple[int, Posterior] | None = None
    """The last posterior, with the number of units that it is from"""

    @classmethod
    def begin(
        cls, problem: Problem, proxy: ProxyOption, weights: SizeWeights, pooling: Pooling | None
    ) -> StoredUnits:
        """Nothing told; single players are evaluated early also where they are random."""
        schedule = super().begin(problem, proxy, weights, pooling)
        if problem.noise is not None:
            schedule.waiting = [one for one in borders(weights) if one.size == 1]
        return schedule

    def noise_share(self) -> float | None:
        """Not known of a model."""
        return None

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
        units = self._round(super().next_units)
        return min(units, self._pilot - self.told) if self.told < self._pilot else units

    def _round(self, units: int) -> int:
        return min(units, max(self.busy_units, self._count // SHARE_OF_ROUND))

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
            self.singles_first = self._pilot == 0 or self._latest_posterior().tells_players_apart
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

    def tell(self, draw: ListedCoalitions, values: FloatArray) -> StoredUnits:
        """Keep the units; enough of them speak for themselves."""
        masks = draw.masks(0, len(draw))[::2]
        self.distinct.update(map(bytes, bits.pack(masks ^ ~masks[:, :1])))
        schedule = super().tell(draw, values)
        if self.running is not None or not self._enough():
            return schedule
        kept = {one.name: getattr(schedule, one.name) for one in fields(StoredUnits)}
        kept["waiting"] = [] if self.problem.noise is not None else kept["waiting"]
        return StoredUnits(**{**kept, "latest": None})

    def _enough(self) -> bool:
        """Whether the units speak for themselves."""
        n_players, random = self.problem.n_players, self.problem.noise is not None
        count = self._count if random else len(self.distinct)
        if self.rough is None and count >= UNITS_OF_ROUGH * n_players:
            few = n_players <= FEW_PLAYERS or random
            self.rough = not few and unexplained(*_all_of(self._stores)) > ROUGH
        return bool(self.rough) or count >= max(UNITS_PER_PLAYER * n_players, MIN_UNITS)

    @property
    def _stores(self) -> list[Units]:
        return [self.units] if self.singles is None else [self.singles, self.units]

    @property
    def _count(self) -> int:
        return sum(map(len, self._stores))

    def _latest_posterior(self) -> Posterior:
        """What a model says of the units told so far."""
        if self.posterior is not None and self.posterior[0] == self._count:
            return self.posterior[1]
        posterior = _fitted(self.problem, self._stores)
        self.posterior = (self._count, posterior)
        return posterior

    def _estimate(self) -> Estimate:
        """The values of the model; what is known where every size was enumerated."""
        if not self.interior.any():
            return super()._estimate()
        return self._shared(_as_estimate(self._latest_posterior(), self.problem, self._count))


@dataclass(eq=False)
class FadingModel(ModelledUnits):
    """Read by a model up to the second plan; from then on the units speak for themselves.

    The last posterior and the mean over all units are then weighted by their variances, over all
    players together: those of single players are too uncertain. The weight of the posterior fades.
    """

    @property
    def _modelled(self) -> bool:
        """Whether the model is followed alone."""
        return self.weights.paired and self.told < LAST_FIT * self.problem.n_players

    @property
    def _may_split(self) -> bool:
        return not self._modelled

    def _round(self, units: int) -> int:
        return super()._round(units) if self._modelled else units

    def tell(self, draw: ListedCoalitions, values: FloatArray) -> StoredUnits:
        """Keep the units."""
        return StoredUnits.tell(self, draw, values)

    def _planned(self) -> StoredUnits:
        """With a last posterior where the model is left."""
        if self.told == LAST_FIT * self.problem.n_players:
            self._latest_posterior()
        return super()._planned()

    def noise_share(self) -> float | None:
        """Not known while a model has a say."""
        return None if self.estimate().modelled else StoredUnits.noise_share(self)

    def _estimate(self) -> Estimate:
        """The posterior, later the mean over the units with it, while it has some weight."""
        if self.told < self._pilot:
            return super()._estimate()
        found = StoredUnits._estimate(self)
        if self._modelled:
            self._latest_posterior()
        if self.posterior is None:
            return found
        count, posterior = self.posterior
        model = self._shared(_as_estimate(posterior, self.problem, count))
        own, said = float(found.variances.mean()), float(model.variances.mean())
        # The two differ by the errors of both: what is more than they say is the model's.
        apart = float(np.square(found.values - model.values).mean())
        doubted = model.variances + max(0.0, apart - own - said)
        weight = 1.0 if self._modelled else own / (own + float(doubted.mean()))
        if not weight >= MIN_WEIGHT:  # nor where either is not known
            return found
        rest = 1.0 - weight
        values = weight * model.values + rest * found.values
        variances = WRONG_MODEL * weight**2 * doubted
        if rest:
            variances += rest**2 * found.variances
        return Estimate(values, variances, found.counts, modelled=True)
