"""What people decide on: signs, differences, orders and the top k, all at one joint level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.certificate import BOUNDS, Evidence, half_widths
from fairshapley.fairness.levels import check_bound, check_delta


@dataclass(frozen=True)
class TopPlayers:
    """Who is among the k most (or least) valuable players, as far as it is settled."""

    k: int
    certain: tuple[int, ...]
    """Players that are among the k"""
    possible: tuple[int, ...]
    """Players that may be; together with the certain ones, nobody else can be"""

    @property
    def settled(self) -> bool:
        """Whether the set is known."""
        return len(self.certain) == self.k

    @property
    def candidates(self) -> tuple[int, ...]:
        """Everybody who may be among the k: the certain ones first."""
        return self.certain + self.possible


@dataclass(frozen=True, eq=False)
class Decisions:
    """Statements that all hold together with a probability of at least 1 − δ.

    They follow from simultaneous intervals of the values, so that any number of them may be used
    without further correction, even after looking at them.

    Examples
    --------
    >>> decisions = Decisions(np.array([0.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]), 0.1)
    >>> decisions.order(1, 0), decisions.order(1, 2)
    (1, -1)
    >>> decisions.difference(2, 0)
    (2.0, 4.0)
    >>> decisions.top(2).certain
    (1, 2)
    """

    lower: FloatArray
    upper: FloatArray
    delta: float

    def signs(self) -> IntArray:
        """1 or −1 where the sign of a value is settled, else 0."""
        return (self.lower > 0).astype(np.int64) - (self.upper < 0).astype(np.int64)

    def difference(self, i: int, j: int) -> tuple[float, float]:
        """An interval for φ_i − φ_j."""
        self._check_players(i, j)
        if i == j:
            return (0.0, 0.0)
        return (
            float(self.lower[i] - self.upper[j]),
            float(self.upper[i] - self.lower[j]),
        )

    def order(self, i: int, j: int) -> int:
        """1 when φ_i > φ_j is settled, −1 when φ_i < φ_j is, else 0."""
        lowest, highest = self.difference(i, j)
        return int(lowest > 0) - int(highest < 0)

    def settled_pairs(self) -> int:
        """The number of pairs whose order is settled.

        Examples
        --------
        >>> Decisions(np.array([0.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]), 0.1).settled_pairs()
        3
        """
        above = len(self.lower) - np.searchsorted(np.sort(self.lower), self.upper, side="right")
        return int(above.sum())

    def bottom(self, k: int) -> TopPlayers:
        """Who is among the k least valuable players."""
        return Decisions(-self.upper, -self.lower, self.delta).top(k)

    def top(self, k: int) -> TopPlayers:
        """Who is among the k most valuable players."""
        n_players = len(self.lower)
        if not isinstance(k, int | np.integer) or not 1 <= k <= n_players:
            raise InputError(f"k must be between 1 and {n_players}, not {k}")
        # Ranks in sorted bounds count the players above in O(n log n).
        surely_above = n_players - np.searchsorted(np.sort(self.lower), self.upper, side="right")
        maybe_above = n_players - np.searchsorted(np.sort(self.upper), self.lower, side="right")
        maybe_above -= self.upper > self.lower  # a player is not above itself
        certain = np.flatnonzero(maybe_above < k)
        possible = np.flatnonzero((surely_above < k) & (maybe_above >= k))
        if len(certain) > k:  # equal values: any k of them are a right answer
            certain = certain[:k]
        elif len(certain) == k:
            possible = possible[:0]
        return TopPlayers(k, tuple(certain.tolist()), tuple(possible.tolist()))

    def _check_players(self, *players: int) -> None:
        for player in players:
            known = isinstance(player, int | np.integer)
            if not known or not 0 <= player < len(self.lower):
                raise InputError(
                    f"there is no player {player}: players are numbered 0 to {len(self.lower) - 1}"
                )


def decide(
    evidence: Evidence, delta: float, bound: str = "normal", *, level: float, sequential: bool
) -> Decisions:
    """Simultaneous intervals at level 1 − δ, or an InputError when nothing may be said.

    Parameters
    ----------
    evidence, bound, level, sequential
        As in `fairshapley.fairness.certificate.certify`.
    delta
        The tolerated probability that any statement is wrong.
    """
    failure = check_delta(delta)
    check_bound(bound, BOUNDS)
    if evidence.obstacle:
        raise InputError(f"nothing can be said with confidence: {evidence.obstacle}")
    widths = half_widths(evidence, level, bound, sequential=sequential)
    return Decisions(evidence.values - widths, evidence.values + widths, failure)
