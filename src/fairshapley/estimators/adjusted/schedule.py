"""The schedule of a run: units that are kept, or units that stream by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import ByteArray, FloatArray
from fairshapley.draws import FreshCoalitions, ListedCoalitions
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.estimator import Drawn, Estimate, Problem
from fairshapley.estimators.pooling import Pooling
from fairshapley.estimators.rounds import busy_units, early_length, round_length

# The first plan of the sizes is made after n units, or this many; the next ones at each doubling.
MIN_PILOT = 32
# Early rounds grow to 1024 units, or fewer where there are fewer players; later ones are a 32nd of
# what was told, to 4096 units, with which a GPU is busy.
EARLY_UNITS, MAX_UNITS, LATE_SHARE = 1024, 4096, 32


class Schedule(ABC, Generic[Drawn]):
    """Asks for units, is told their utilities, and estimates."""

    problem: Problem
    weights: SizeWeights
    pooling: Pooling | None
    """Who shares one value"""
    told: int
    """Units told, skipped ones too"""

    @abstractmethod
    def ask(self, rng: np.random.Generator) -> Drawn | None:
        """The coalitions of the next round; None when every size was enumerated."""

    @abstractmethod
    def tell(self, draw: Drawn, values: FloatArray) -> Schedule[Drawn]:
        """Fold in what `ask` gave; returns the schedule that the run takes from here on."""

    @abstractmethod
    def estimate(self) -> Estimate:
        """What is known of the values."""

    def drawn(self, packed: ByteArray, *, divisible: bool = True) -> ListedCoalitions:
        """The draw of these units, each with its complement where units are pairs."""
        n_players, kind = self.problem.n_players, FreshCoalitions if divisible else ListedCoalitions
        if not self.weights.paired:
            return kind(packed, n_players)
        return kind(bits.with_complements(packed, n_players), n_players, unit_length=2)

    def noise_share(self) -> float | None:
        """The mean variance of a value that noise of variance 1 leaves; None where not known."""
        return None

    def remarks(self) -> tuple[str, ...]:
        """Sentences for the notes of a result."""
        return ()

    @property
    def next_plan(self) -> int:
        """The number of units at which the next plan of the sizes is made."""
        planned = max(self.problem.n_players, MIN_PILOT)
        while planned <= self.told:
            planned *= 2
        return planned

    @property
    def next_units(self) -> int:
        """The units of the next round: at most up to the next plan."""
        early = min(early_length(self.problem.n_players, 2), EARLY_UNITS)
        units = round_length(
            self.told, early=early, most=MAX_UNITS, late_share=LATE_SHARE, busy=self.busy_units
        )
        return min(units, self.next_plan - self.told)

    @property
    def busy_units(self) -> int:
        """The units that keep the engine busy."""
        return busy_units(self.problem.in_flight, 2 if self.weights.paired else 1)
