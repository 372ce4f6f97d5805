"""Decisions as aims: all signs, the k best or worst, the whole order, at one joint level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.fairness.decisions import Decisions
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.tails import exceedance

# Places of the threshold between the k best and the others that are tried.
THRESHOLDS = 17
# Within this share of an error a tail changes by less than a fifth.
CLOSE = 0.05
# Players that a sentence names.
NAMED = 10


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
        """A bound on the probability that the decision which the estimates suggest is wrong.

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
        """Whether intervals of all values together settle it."""
        n_players = len(decisions.lower)
        if self.signs:
            return bool(decisions.signs().all())
        if self.order:
            return decisions.settled_pairs() == n_players * (n_players - 1) // 2
        return (decisions.top(self.top) if self.top else decisions.bottom(self.bottom or 1)).settled

    def players(self, evidence: Evidence) -> list[int]:
        """The players that the decision names: the k first, or all in their order."""
        values = evidence.values if self.bottom else -evidence.values
        return np.argsort(values, kind="stable")[: self.bottom or self.top].tolist()

    def answer(self, evidence: Evidence) -> str:
        """The decision in words."""
        if self.signs:
            above, below = (int((side * evidence.values > 0).sum()) for side in (1, -1))
            return f"{above:,} values above zero, {below:,} below"
        return f"{self}: {evidence.all_named(self.players(evidence), NAMED)}"


def _sign_failure(evidence: Evidence, xi: float, delta: float) -> float:
    """Each value is to one side of zero, or within ξ of it; a true zero can be missed both ways."""
    size = np.abs(evidence.values)
    apart = 2.0 * exceedance(evidence, size, delta)
    near = np.ones_like(apart)
    if xi > 0:
        near = exceedance(evidence, xi - size, delta) + exceedance(evidence, xi + size, delta)
    tails = np.minimum(apart, near)
    tails[evidence.n_players - evidence.n_nulls :] = 0.0  # known to be zero
    return float(tails.sum())


def _top_failure(evidence: Evidence, values: FloatArray, k: int, xi: float, delta: float) -> float:
    """All of the k lie above a threshold, the others below it, give or take ξ/2."""
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
    """A threshold between any two neighbours, in proportion to their errors, give or take ξ/2."""
    ranked = np.argsort(-evidence.values, kind="stable")
    gaps = -np.diff(evidence.values[ranked]) + xi
    errors = evidence.statement_errors[ranked]
    both = errors[:-1] + errors[1:]
    share = np.where(both > 0, errors[:-1] / np.where(both > 0, both, 1.0), 0.5)
    above, below = np.full(len(ranked), np.inf), np.full(len(ranked), np.inf)
    below[ranked[:-1]] = share * gaps
    above[ranked[1:]] = (1.0 - share) * gaps
    return float((exceedance(evidence, below, delta) + exceedance(evidence, above, delta)).sum())
