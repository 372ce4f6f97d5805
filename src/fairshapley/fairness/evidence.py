"""What statements of fairness rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairshapley._basics.text import visible
from fairshapley._basics.types import FloatArray, FloatMatrix, IntArray

# How an obstacle begins where the utility was found to be random and does not say so.
NOT_REPRODUCIBLE = "the utility is not reproducible"


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What a certificate rests on: estimates, their errors, and what is known of them."""

    values: FloatArray
    """φ̂, one per player; NaN where nothing was sampled (only in a partial result)"""
    standard_errors: FloatArray
    """The standard error of each value; 0 only when it is proven, NaN when it is not known"""
    counts: IntArray
    """The i.i.d. contributions behind each value"""
    evaluations: int
    """Distinct utility evaluations, v(∅) and v(N) included (one that was forgotten by the bounded
    cache, some millions of coalitions later, counts again)"""
    exact: bool = False
    """Whether the values are proven rather than estimated"""
    independent: bool = False
    """Whether no sample served two players"""
    obstacle: str = ""
    """Why nothing may be certified; empty when it may"""
    extremes: FloatArray | None = None
    """Each player's largest squared deviation of a contribution, in units of their variance"""
    contribution_width: float | None = None
    """The width of the interval in which every contribution lies, where known"""
    identically_distributed: bool = True
    """Whether the contributions are i.i.d., as finite-sample bounds need"""
    sampling_errors: FloatArray | None = None
    """Where a model of the game has a say in values and standard errors: the errors without it,
    which follow from the sampling alone, whatever the game is like"""
    shift: FloatArray | None = None
    """Where a model has a say: how far each value is from what the sampling alone gives"""
    random: bool = False
    """Whether utilities are random: values belong to the expected utility, errors include the
    noise, and no number of evaluations makes them exact"""
    skewness: FloatArray | None = None
    """The skewness of each player's contributions, where known"""
    unseen: FloatMatrix | None = None
    """What the coalitions that were not drawn may hide, see `fairness.unseen`; None where that was
    not looked at"""
    n_nulls: int = 0
    """How many players, the last ones, are declared null: their error is known"""
    player_names: tuple[str, ...] | None = None

    def named(self, player: int) -> str:
        """Return a player in a sentence: its name, or its number."""
        if self.player_names is None:
            return f"player {player}"
        return f"“{visible(' '.join(self.player_names[player].split()))}”"

    def all_named(self, players: Sequence[int], most: int) -> str:
        """Return players in a sentence: the first ones, and how many more there are."""
        more = [f"{len(players) - most:,} more"] if len(players) > most else []
        return ", ".join([*map(self.named, players[:most]), *more])

    @property
    def coalitions(self) -> float:
        """How many there are of the players that matter; all of them make the values exact."""
        if self.random:
            return math.inf
        active = self.n_players - self.n_nulls
        return 2.0**active if active < 1000 else math.inf

    @property
    def statement_errors(self) -> FloatArray:
        """The errors that statements on all values rest on: no model has a say in them."""
        return self.standard_errors if self.sampling_errors is None else self.sampling_errors

    @property
    def shift_or_zero(self) -> FloatArray:
        """How far each value is from what the sampling alone gives."""
        return np.zeros(self.n_players) if self.shift is None else self.shift

    @property
    def n_players(self) -> int:
        """The number of players."""
        return len(self.values)

    @property
    def variances(self) -> FloatArray:
        """The squares of the standard errors."""
        return np.square(self.standard_errors)

    def scaled(self, factor: float, power: float = 1.0) -> Evidence:
        """Return the evidence predicted for a multiple of the contributions.

        Variances shrink with the power of their number: 1 for plain averages, more for a method
        that learns as it goes.
        """
        shrunk = {
            name: errors / factor ** (power / 2)
            for name in ("standard_errors", "sampling_errors", "shift")
            if (errors := getattr(self, name)) is not None
        }
        unseen = None if self.unseen is None else self.unseen * (1.0, factor, 1.0)
        counts = np.maximum(self.counts * factor, 2)
        return replace(self, counts=counts, unseen=unseen, **shrunk)
