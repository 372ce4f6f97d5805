"""What every estimator is: a frozen configuration with start, ask, tell and estimate.

`ask` gives the coalitions of the next round, `tell` folds their utilities into the state. Only
`fairshapley.runs.loop` loops. A round depends on the configuration, on what was told and on the
round's own generator, never on the budget, the memory or the engine: continuing a run is the
same as one longer run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import Draw
from fairshapley.semivalues import Semivalue

State = TypeVar("State")
Drawn = TypeVar("Drawn", bound=Draw)


@dataclass
class NoiseLevel:
    """How random a utility is, as far as is known by now."""

    variance: float
    """Of a single draw"""
    freedom: int
    """The degrees of freedom of what is known of it"""
    gap: float = 0.0
    """What v(N) − v(∅) is by now, from all draws, less what the problem says"""


@dataclass(frozen=True, eq=False)
class Problem:
    """What an estimator is told once, at the start."""

    n_players: int
    semivalue: Semivalue
    empty: float
    """v(∅)"""
    full: float
    """v(N)"""
    xi: float
    n_nulls: int = 0
    """How many players, the last ones, are declared null"""
    identical: tuple[tuple[int, int], ...] = ()
    """Pairs of players that no utility tells apart"""
    in_flight: int = 1
    """Coalitions that an engine computes at a time, where a round should hold as many"""
    device: str | None = None
    """Where draws and sums are to stay, as torch names it; None is the host"""
    prices: FloatArray | None = None
    """The mean price of a coalition of each size 0 … n, where coalitions have prices"""
    noise: NoiseLevel | None = None
    """Of a random utility; a coalition that is asked for again is then drawn again"""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What is known of the values so far."""

    values: FloatArray
    """φ̂; NaN for a player without a contribution"""
    variances: FloatArray
    """The variance of each φ̂_i, with its floor; NaN where it cannot be estimated"""
    counts: IntArray
    """The i.i.d. contributions behind each value"""
    exact: bool = False
    """Whether the values are proven, not estimated"""
    sampled: Estimate | None = None
    """Where a model of the game has a say: what follows from the sampling alone"""
    extremes: FloatArray | None = None
    """The largest squared deviation of a contribution over their variance: heavy tails show here,
    and 0 says that all contributions were equal, so that the variance is a floor"""
    skewness: FloatArray | None = None
    """The skewness of the contributions, where known"""

    @classmethod
    def unknown(cls, n_players: int) -> Estimate:
        """Return the estimate before anything is known."""
        values, variances = np.full((2, n_players), np.nan)
        return cls(values, variances, np.zeros(n_players, dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What holds for an estimator: which laws apply to it and what may be said of its results.

    An estimator names what is special about it; the defaults are the strongest promises but for
    independence.
    """

    unbiased: bool = True
    """E[φ̂] = φ at any number of rounds"""
    linear: bool = True
    """With the same seed, the estimate of a·v + b·w is a·φ̂(v) + b·φ̂(w)"""
    exact_nulls: bool = True
    """A null player's estimate is exactly 0, not only in expectation"""
    efficient: bool = True
    """The estimates of Shapley values add up to v(N) − v(∅)"""
    semivalues: bool = True
    """Any semivalue, not the Shapley value alone"""
    honest_errors: bool = True
    """The reported standard errors are those that repeated runs show"""
    independent: bool = False
    """No sample serves two players, so that the φ̂_i are independent"""
    noise: bool = True
    """The errors include the noise of random utilities: no utility is taken as known exactly"""
    iid: bool = True
    """The contributions are independent with one distribution, as finite-sample bounds require"""
    not_certifiable_because: str = ""
    """Why nothing may be certified: what is averaged chose where to sample, or is biased"""

    @property
    def certifiable(self) -> bool:
        """Whether the errors of an estimate may be believed."""
        return not self.not_certifiable_because


@dataclass(frozen=True)
class Estimator(ABC, Generic[State, Drawn]):
    """The base of all estimators; subclasses are frozen dataclasses with keyword-only fields."""

    name: ClassVar[str]
    checkpoint_growth: ClassVar[float] = 2**0.5
    """The factor by which evaluations grow between the checkpoints of `Result.run.history`: some 25
    of them from a thousand to ten million; fewer where an estimate takes much of the run's time"""

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What holds for this configuration."""

    @property
    def takes_unions(self) -> bool:
        """Whether it can keep unions of players together, for Owen values."""
        return False

    @property
    def pools(self) -> bool:
        """Whether players that the game declares identical get one value, the mean of theirs."""
        return True

    @property
    def min_device_budget(self) -> int | None:
        """Smallest budget at which a run may stay on the GPU; None if there is no GPU form."""
        return None

    @abstractmethod
    def start(self, problem: Problem) -> State:
        """Return the state before anything was told."""

    @abstractmethod
    def ask(self, state: State, rng: np.random.Generator) -> Drawn | None:
        """Return the coalitions of the next round; None when there is nothing left to ask."""

    @abstractmethod
    def tell(self, state: State, draw: Drawn, values: FloatArray) -> None:
        """Fold the utilities of a round into the state; NaN marks an evaluation skipped."""

    @abstractmethod
    def estimate(self, state: State) -> Estimate:
        """Return the values and their errors by the present state."""

    def remarks(self, state: State) -> tuple[str, ...]:
        """Return diagnostics of this method, as sentences for the notes of a result."""
        return ()

    def contribution_width(self, problem: Problem, value_width: float) -> float | None:
        """Return the width of the interval in which every contribution lies, if it is known.

        Parameters
        ----------
        problem
            The problem.
        value_width
            The highest minus the lowest utility of the game.

        Returns
        -------
        float or None
            None where the values are no means of i.i.d. contributions of known range; finite-sample
            bounds are then not available.
        """
        return None

    def __str__(self) -> str:
        parts = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(parts)})"

    def configuration(self) -> dict[str, Any]:
        """Return the name and the parameters, as they go into a result and a journal.

        Examples
        --------
        >>> from fairshapley.estimators import MonteCarlo
        >>> MonteCarlo(antithetic=True).configuration()
        {'name': 'mc', 'walk': True, 'antithetic': True}
        """
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        kind = type(self)
        # A subclass that gives itself no name is not what its parent's name stands for.
        name = self.name if "name" in vars(kind) else f"{kind.__module__}.{kind.__qualname__}"
        return {"name": name, **parameters}
