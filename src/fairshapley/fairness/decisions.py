"""What people decide on: signs, differences, orders and the top k, all at one joint level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.text import block_html, names_table_html, one_line, several
from fairshapley._basics.types import FloatArray, IntArray


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


# Players that are printed: all of a few, else as many from the top as from the bottom.
SHOWN = 20
LONGEST_NAME = 60


@dataclass(frozen=True, eq=False, repr=False)
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
    >>> print(decisions)
    3 values: 2 above zero, 0 below, 1 open; the order of 3 of 3 pairs is settled; all together ...
    player 2: from 3 to 4, above zero
    player 1: from 2 to 2.5, above zero
    player 0: from 0 to 1, sign open
    """

    lower: FloatArray
    upper: FloatArray
    delta: float
    player_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        title, rows = self._told()
        lines = [f"{name}: {_range(low, high)}, {sign}" for name, low, high, sign in rows]
        return "\n".join([title, *lines])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, rows = self._told()
        return block_html(title, names_table_html(("player", "from", "to", "sign"), rows))

    def _told(self) -> tuple[str, list[tuple[str, str, str, str]]]:
        """A sentence, and the interval of each of the players, the most valuable first."""
        signs = self.signs()
        above, below = int((signs > 0).sum()), int((signs < 0).sum())
        n_players = len(signs)
        title = (
            f"{several(n_players, 'value')}: {above:,} above zero, {below:,} below, "
            f"{n_players - above - below:,} open; the order of {self.settled_pairs():,} of "
            f"{several(n_players * (n_players - 1) // 2, 'pair')} is settled; all together with a "
            f"probability of at least {1 - self.delta:.6g}"
        )
        words = {1: "above zero", -1: "below zero", 0: "sign open"}
        names = self.player_names or tuple(f"player {at}" for at in range(n_players))
        known = np.isfinite(self.lower) & np.isfinite(self.upper)
        middles = np.where(known, self.lower, -np.inf) + np.where(known, self.upper, -np.inf)
        order = np.argsort(-middles, kind="stable").tolist()
        if n_players > SHOWN:
            order = order[: SHOWN // 2] + order[-SHOWN // 2 :]
        rows = [
            (
                one_line(names[at], LONGEST_NAME),
                _end(self.lower[at]),
                _end(self.upper[at]),
                words[int(signs[at])],
            )
            for at in order
        ]
        if n_players > SHOWN:
            rows.insert(SHOWN // 2, (f"… {n_players - SHOWN:,} more", "…", "…", "…"))
        return title, rows

    def signs(self) -> IntArray:
        """1 or −1 where the sign of a value is settled, else 0."""
        return (self.lower > 0).astype(np.int64) - (self.upper < 0).astype(np.int64)

    def difference(self, i: int, j: int) -> tuple[float, float]:
        """An interval for φ_i − φ_j."""
        if i == j:
            checks.players([i], len(self.lower))
            return (0.0, 0.0)
        i, j = checks.pairs([(i, j)], len(self.lower))[0]
        low, high = self.lower[i] - self.upper[j], self.upper[i] - self.lower[j]
        return float(low), float(high)

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
        k = checks.whole("k", k, most=n_players)
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


def _end(bound: float) -> str:
    """An end of an interval; empty where there is none."""
    return f"{bound:.4g}" if np.isfinite(bound) else ""


def _range(low: str, high: str) -> str:
    return f"from {low} to {high}" if low and high else "not known"
