"""Semivalues: how much the marginal contributions to coalitions of each size count.

A semivalue of player i is the expectation of v(S ∪ {i}) − v(S), where the number k of
predecessors has probability α_k and S is uniform among the coalitions of k other players.
Everything is computed in log space, so that n = 10 000 players neither overflow nor underflow.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from fairshapley._basics import checks
from fairshapley._basics.text import near_miss
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError

EFFICIENT = ("shapley", "owen")
"""The names of values that add up to v(N) − v(∅)"""


def log_binomial(n: int, k: FloatArray) -> FloatArray:
    """Return the logarithm of C(n, k), elementwise in `k`."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


@dataclass(frozen=True)
class Semivalue(ABC):
    """A distribution over the number of a player's predecessors."""

    @abstractmethod
    def _log_weights(self, n_players: int, sizes: FloatArray) -> FloatArray:
        """Return log α_k up to rounding, for the sizes k = 0 … n−1."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which `parse_semivalue` finds this semivalue again."""

    def log_weights(self, n_players: int) -> FloatArray:
        """Return the logarithms of the weights α_0 … α_{n−1}."""
        sizes = np.arange(checks.whole("n_players", n_players), dtype=np.float64)
        log_weights = self._log_weights(n_players, sizes)
        # gammaln of n is good to about n·log(n)·1e−16: normalising takes that out again.
        top = log_weights.max()
        return log_weights - (top + np.log(np.exp(log_weights - top).sum()))

    def weights(self, n_players: int) -> FloatArray:
        """Return the probability α_k that a player has k predecessors, for k = 0 … n−1.

        Examples
        --------
        >>> Shapley().weights(4)
        array([0.25, 0.25, 0.25, 0.25])
        >>> Banzhaf().weights(3).round(3)
        array([0.25, 0.5 , 0.25])
        """
        return np.exp(self.log_weights(n_players))

    def log_coalition_weights(self, n_players: int) -> FloatArray:
        """Return the logarithm of α_k / C(n−1, k): the weight of one single coalition of size k."""
        sizes = np.arange(checks.whole("n_players", n_players), dtype=np.float64)
        return self.log_weights(n_players) - log_binomial(n_players - 1, sizes)


@dataclass(frozen=True)
class Shapley(Semivalue):
    """The Shapley value: every size counts the same.

    Examples
    --------
    >>> Shapley().weights(2)
    array([0.5, 0.5])
    """

    name = "shapley"

    def _log_weights(self, n_players: int, sizes: FloatArray) -> FloatArray:
        return np.full(n_players, -math.log(n_players))


@dataclass(frozen=True)
class Banzhaf(Semivalue):
    """The Banzhaf value: every coalition counts the same.

    Examples
    --------
    >>> Banzhaf().weights(2)
    array([0.5, 0.5])
    """

    name = "banzhaf"

    def _log_weights(self, n_players: int, sizes: FloatArray) -> FloatArray:
        return log_binomial(n_players - 1, sizes) - (n_players - 1) * math.log(2.0)


@dataclass(frozen=True)
class BetaShapley(Semivalue):
    """Beta(a, b) Shapley (Kwon & Zou 2022): a large `a` looks at small coalitions.

    α_k = C(n−1, k)·B(k + b, n−1−k + a) / B(a, b); Beta(1, 1) is the Shapley value.

    Examples
    --------
    >>> BetaShapley(16, 1).weights(3).round(3)
    array([0.889, 0.105, 0.007])
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        remedy = "BetaShapley(1, 1) is the Shapley value"
        for name in ("a", "b"):
            number = checks.real(name, getattr(self, name), above=0, remedy=remedy)
            checks.set_fields(self, **{name: number})

    @property
    def name(self) -> str:
        """The name of this semivalue."""
        return f"beta({_short(self.a)},{_short(self.b)})"

    def _log_weights(self, n_players: int, sizes: FloatArray) -> FloatArray:
        ratio: FloatArray = betaln(sizes + self.b, n_players - 1 - sizes + self.a)
        return log_binomial(n_players - 1, sizes) + ratio - betaln(self.a, self.b)


def _short(number: float) -> str:
    """Return a float as text that leads back to it; whole numbers without their ".0"."""
    return str(int(number)) if number.is_integer() and number < 1e15 else repr(number)


_NAMED: dict[str, Semivalue] = {"shapley": Shapley(), "banzhaf": Banzhaf()}
_BETA = re.compile(r"beta\(\s*([0-9.eE+-]+)\s*,\s*([0-9.eE+-]+)\s*\)")


def parse_semivalue(semivalue: str | Semivalue) -> Semivalue:
    """Return the semivalue of a name: "shapley", "banzhaf" or "beta(a,b)".

    Examples
    --------
    >>> parse_semivalue("beta(16, 1)")
    BetaShapley(a=16.0, b=1.0)
    """
    if isinstance(semivalue, Semivalue):
        return semivalue
    name = str(semivalue).strip().lower()
    if name in _NAMED:
        return _NAMED[name]
    if match := _BETA.fullmatch(name):
        try:
            return BetaShapley(float(match[1]), float(match[2]))
        except ValueError as error:
            raise InputError(f"cannot read the parameters of {semivalue!r}: {error}") from None
    raise InputError(
        f"unknown semivalue {semivalue!r}",
        remedy="use 'shapley', 'banzhaf', or 'beta(16,1)' and the like"
        + near_miss(str(semivalue), ("shapley", "banzhaf")),
    )
