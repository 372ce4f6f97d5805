"""What people decide on: signs, differences, orders and the top k, all at one joint level.

`Decisions` follow from the intervals of a result; an `Aim` is one decision that a run is to reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.text import block_html, names_table_html, one_line, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.tails import exceedance


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
# Players that a sentence on an aim names.
NAMED = 10
# Places of the threshold between the k best and the others that are tried.
THRESHOLDS = 17
# Within this share of an error a tail changes by less than a fifth.
CLOSE = 0.05


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
    3 intervals; with a probability of at least 0.9 all of them hold
    player 2: 3 to 4, above zero
    player 1: 2 to 2.5, above zero
    player 0: 0 to 1, sign open
    """

    lower: FloatArray
    upper: FloatArray
    delta: float
    player_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        lines = [f"{name}: {interval}, {sign}" for name, interval, sign in self._rows()]
        return "\n".join([self._title, *lines])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        columns = ("player", "interval", "sign")
        return block_html(self._title, names_table_html(columns, self._rows()))

    @property
    def _title(self) -> str:
        chance = f"with a probability of at least {1 - self.delta:.6g}"
        return f"{several(len(self.lower), 'interval')}; {chance} all of them hold"

    def _rows(self) -> list[tuple[str, str, str]]:
        """Return the name, interval and sign of players, the highest lower end first."""
        n_players, signs = len(self.lower), self.signs()
        names = self.player_names or tuple(f"player {at}" for at in range(n_players))
        words = {1: "above zero", -1: "below zero", 0: "sign open"}
        known = np.isfinite(self.lower) & np.isfinite(self.upper)

        def row(at: int) -> tuple[str, str, str]:
            interval = f"{self.lower[at]:.4g} to {self.upper[at]:.4g}" if known[at] else "not known"
            return one_line(names[at], LONGEST_NAME), interval, words[int(signs[at])]

        lowest = np.where(known, self.lower, -np.inf)
        order = np.argsort(-lowest, kind="stable").tolist()
        if n_players <= SHOWN:
            return list(map(row, order))
        gap = (f"… {n_players - SHOWN:,} more", "…", "…")
        return [*map(row, order[: SHOWN // 2]), gap, *map(row, order[-SHOWN // 2 :])]

    def signs(self) -> IntArray:
        """Return 1 or −1 where the sign of a value is settled, else 0."""
        return (self.lower > 0).astype(np.int64) - (self.upper < 0).astype(np.int64)

    def difference(self, i: int, j: int) -> tuple[float, float]:
        """Return an interval for φ_i − φ_j."""
        if i == j:
            checks.players([i], len(self.lower))
            return (0.0, 0.0)
        i, j = checks.pairs([(i, j)], len(self.lower))[0]
        low, high = self.lower[i] - self.upper[j], self.upper[i] - self.lower[j]
        return float(low), float(high)

    def order(self, i: int, j: int) -> int:
        """Return 1 when φ_i > φ_j is settled, −1 when φ_i < φ_j is, else 0."""
        lowest, highest = self.difference(i, j)
        return int(lowest > 0) - int(highest < 0)

    def settled_pairs(self) -> int:
        """Return the number of pairs whose order is settled.

        Examples
        --------
        >>> Decisions(np.array([0.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]), 0.1).settled_pairs()
        3
        """
        above = len(self.lower) - np.searchsorted(np.sort(self.lower), self.upper, side="right")
        return int(above.sum())

    def bottom(self, k: int) -> TopPlayers:
        """Return who is among the k least valuable players."""
        return Decisions(-self.upper, -self.lower, self.delta).top(k)

    def top(self, k: int) -> TopPlayers:
        """Return who is among the k most valuable players."""
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


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What is to be decided: exactly one of these.

    Parameters
    ----------
    signs
        Whether each value is above or below zero.
    top, bottom
        Who the k most, or the k least, valuable players are.
    order
        The order of all players.

    Examples
    --------
    >>> Aim(top=3)
    Aim(signs=False, top=3, bottom=None, order=False)
    """

    signs: bool = False
    top: int | None = None
    bottom: int | None = None
    order: bool = False

    def __post_init__(self) -> None:
        given = checks.flag("signs", self.signs) + checks.flag("order", self.order)
        for name in ("top", "bottom"):
            if (k := getattr(self, name)) is not None:
                checks.set_fields(self, **{name: checks.whole(name, k)})
                given += 1
        if given != 1:
            what = "two things at once" if given else "nothing"
            raise InputError(
                f"{what} cannot be decided: give one of signs=True, top=k, bottom=k or order=True"
            )

    def check_players(self, n_players: int) -> None:
        """Raise InputError when there is nothing to decide among `n_players` players."""
        k = self.top or self.bottom
        if k is not None and k >= n_players:
            raise InputError(
                f"the {k} {'highest' if self.top else 'lowest'} of {n_players} players are all of "
                f"them, there is nothing to decide: give a number below {n_players}"
            )
        if self.order and n_players < 2:
            raise InputError("one player has no order: give signs=True, or more players")

    def __str__(self) -> str:
        if self.signs:
            return "all signs"
        if self.order:
            return "the order of all players"
        k, place = (self.top, "highest") if self.top else (self.bottom, "lowest")
        return f"the {place} player" if k == 1 else f"the {k} {place} players"

    def failure(self, evidence: Evidence, xi: float, delta: float) -> float:
        """Bound the probability that the decision which the estimates suggest is wrong.

        Differences up to ξ are ties, which may be decided either way; so no decision is open for
        ever, unless ξ is 0.
        """
        if self.signs:
            return _sign_failure(evidence, xi, delta)
        if self.order:
            return _order_failure(evidence, xi, delta)
        sign = 1.0 if self.top else -1.0
        return _top_failure(
            evidence, sign * evidence.values, self.top or self.bottom or 1, xi, delta
        )

    def settled_by(self, decisions: Decisions) -> bool:
        """Return whether intervals of all values together settle the aim."""
        n_players = len(decisions.lower)
        if self.signs:
            return bool(decisions.signs().all())
        if self.order:
            return decisions.settled_pairs() == n_players * (n_players - 1) // 2
        return (decisions.top(self.top) if self.top else decisions.bottom(self.bottom or 1)).settled

    def players(self, evidence: Evidence) -> list[int]:
        """Return the players that the decision names: the k first, or all in their order."""
        values = evidence.values if self.bottom else -evidence.values
        return np.argsort(values, kind="stable")[: self.bottom or self.top].tolist()

    def answer(self, evidence: Evidence) -> str:
        """Return the decision in words."""
        if self.signs:
            above, below = (int((side * evidence.values > 0).sum()) for side in (1, -1))
            return f"{above:,} values above zero, {below:,} below"
        return f"{self}: {evidence.all_named(self.players(evidence), NAMED)}"


def _sign_failure(evidence: Evidence, xi: float, delta: float) -> float:
    """Bound the probability that a value is beyond ξ on the other side of zero."""
    size = np.abs(evidence.values)
    apart = 2.0 * exceedance(evidence, size, delta)
    near = np.ones_like(apart)
    if xi > 0:
        near = exceedance(evidence, xi - size, delta) + exceedance(evidence, xi + size, delta)
    tails = np.minimum(apart, near)
    tails[evidence.n_players - evidence.n_nulls :] = 0.0  # known to be zero
    return float(tails.sum())


def _top_failure(evidence: Evidence, values: FloatArray, k: int, xi: float, delta: float) -> float:
    """Bound the probability that no threshold, up to ξ/2, parts the k from the others."""
    ranked = np.argsort(-values, kind="stable")
    first, second = values[ranked[k - 1]], values[ranked[k]]
    chosen = np.zeros(len(values), dtype=bool)
    chosen[ranked[:k]] = True
    lowest = float(len(values))
    # Where the two are closer than their errors, as among very many players, one will do.
    errors = float(evidence.statement_errors[ranked[k - 1 : k + 1]].min())
    shares = np.linspace(0.0, 1.0, THRESHOLDS) if first - second > CLOSE * errors else [0.5]
    for share in shares:
        threshold = second + share * (first - second)
        reach = np.where(chosen, values - threshold, threshold - values) + 0.5 * xi
        lowest = min(lowest, float(exceedance(evidence, reach, delta).sum()))
    return lowest


def _order_failure(evidence: Evidence, xi: float, delta: float) -> float:
    """Bound the probability that thresholds, up to ξ/2, do not part all neighbours."""
    ranked = np.argsort(-evidence.values, kind="stable")
    gaps = -np.diff(evidence.values[ranked]) + xi
    errors = evidence.statement_errors[ranked]
    both = errors[:-1] + errors[1:]
    share = np.where(both > 0, errors[:-1] / np.where(both > 0, both, 1.0), 0.5)
    above, below = np.full(len(ranked), np.inf), np.full(len(ranked), np.inf)
    below[ranked[:-1]] = share * gaps
    above[ranked[1:]] = (1.0 - share) * gaps
    return float((exceedance(evidence, below, delta) + exceedance(evidence, above, delta)).sum())
