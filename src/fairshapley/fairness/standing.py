"""What a result shows, whatever was asked for: tolerance, signs and order, at one joint level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.text import several
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.certificate import (
    MODELLED,
    Certificate,
    certify,
    cost_text,
    holding,
    needed_evaluations,
    rounded_up,
)
from fairshapley.fairness.decisions import Decisions
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.tails import interval_doubts

# Players that a sentence names.
NAMED = 5


@dataclass(frozen=True, eq=False)
class Standing:
    """What holds together with a probability of at least 1 − δ.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(20, seed=1)
    >>> standing = fs.estimate(game, "mc", budget=2000, xi=0.1, seed=0).standing()
    >>> standing.epsilon1 < 1, int(standing.signs.sum()), len(standing.top) < 20
    (True, 20, True)
    >>> print(standing)
    With a probability of at least 0.9, all of this holds together:
    each value differs from the true value by at most ... times its size plus ... (ε1 = ..., ...)
    signs: all 20 are settled, 20 above zero and 0 below
    order: ... of 190 pairs are settled; the highest is one of ...; the lowest is one of ...
    """

    evidence: Evidence
    certificate: Certificate
    """At the tolerance that was asked for, or at the usual one"""
    decisions: Decisions
    """Intervals of all values together"""
    xi: float

    @property
    def epsilon1(self) -> float:
        """The tightest ε1 that holds at δ and ξ; infinite when none does."""
        return self.certificate.tightest

    @property
    def delta(self) -> float:
        """The probability with which any of it may be wrong."""
        return self.certificate.delta

    @property
    def signs(self) -> IntArray:
        """1 or −1 where the sign of a value is settled, else 0."""
        return self.decisions.signs()

    @property
    def settled_pairs(self) -> int:
        """The pairs of players whose order is settled."""
        return self.decisions.settled_pairs()

    @property
    def top(self) -> tuple[int, ...]:
        """The players that may be the most valuable one; a single one when it is settled."""
        return self.decisions.top(1).candidates

    @property
    def bottom(self) -> tuple[int, ...]:
        """The players that may be the least valuable one; a single one when it is settled."""
        return self.decisions.bottom(1).candidates

    @property
    def needed(self) -> float:
        """The evaluations that the certificate asked for would take; infinite if unknown."""
        if self.certificate.holds:
            return float(self.evidence.evaluations)
        return needed_evaluations(self.certificate, self.evidence)

    def sentences(self) -> list[str]:
        """All of it in words, with the names of players."""
        if self.evidence.exact:
            return ["All values are exact: signs, order and any tolerance hold."]
        if tested := self.evidence.test_of_model(self.certificate.level):
            return [self._untested(tested), f"nothing is certified: {MODELLED}"]
        sure = f"a probability of at least {1 - self.delta:.6g}, all of this holds together"
        said = [f"With {sure}:"]
        if self.evidence.modelled:
            said = [f"If the game is like the model that few evaluations allow, then with {sure}:"]
        said.append(self._tolerance())
        if self.evidence.n_players > 1:
            said += [self._signs(), self._order()]
        doubts = interval_doubts(self.evidence)
        if doubts and not self.evidence.modelled:
            said.append(
                f"95 % intervals of single values are not to be trusted yet: {'; '.join(doubts)}"
            )
        if self.evidence.modelled:
            said.append(f"nothing is certified: {MODELLED}")
        elif not self.certificate.holds:
            cost = cost_text(self.needed, self.evidence.coalitions)
            said.append(
                f"a tolerance of {self.certificate.epsilon1:g} times its size for each value "
                f"(ε1 = {self.certificate.epsilon1:g}) would take {cost}; "
                f"{self.evidence.evaluations:,} were made"
            )
        return said

    def _untested(self, needed: float) -> str:
        errors, coalitions = self.evidence.standard_errors, self.evidence.coalitions
        return (
            f"By a model of the game the standard errors are {errors.min():.3g} to "
            f"{errors.max():.3g}. How probable any statement about all values is cannot be said: "
            "coalitions unlike the few that were evaluated may not fit the model, and to test it "
            f"takes {cost_text(min(needed, coalitions), coalitions)}"
        )

    def _tolerance(self) -> str:
        widths = self.certificate.half_widths
        if np.isinf(widths).any():
            return f"no tolerance: {self.certificate.reason}"
        at = f" (ε1 = {rounded_up(self.epsilon1):g}, ξ = {self.xi:g})" if self.epsilon1 < 1 else ""
        return f"{holding(self.epsilon1, widths, self.xi)}{at}"

    def _signs(self) -> str:
        signs = self.signs
        above, below = int((signs > 0).sum()), int((signs < 0).sum())
        settled, every = above + below, f"{len(signs):,}"
        total = f"all {every} are" if settled == len(signs) else f"{settled:,} of {every} are"
        lowest = [player for player in np.argsort(self.evidence.values) if signs[player] < 0]
        who = f" ({self.evidence.all_named(lowest, NAMED)})" if below else ""
        return f"signs: {total} settled, {above:,} above zero and {below:,} below{who}"

    def _order(self) -> str:
        n_players = self.evidence.n_players
        pairs = n_players * (n_players - 1) // 2
        return (
            f"order: {self.settled_pairs:,} of {several(pairs, 'pair')} "
            f"{'is' if pairs == 1 else 'are'} settled; the highest is {self._one(self.top)}; the "
            f"lowest is {self._one(self.bottom)}"
        )

    def _one(self, players: tuple[int, ...]) -> str:
        if len(players) > NAMED:
            return f"one of {len(players):,}"
        named = self.evidence.all_named(players, NAMED)
        return named if len(players) == 1 else f"one of {named}"

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def stand(
    evidence: Evidence,
    epsilon1: float,
    delta: float,
    *,
    xi: float,
    bound: str,
    level: float,
    sequential: bool,
) -> Standing:
    """What holds, or an InputError when nothing may be said.

    Parameters
    ----------
    evidence, epsilon1, delta, xi, bound, level, sequential
        As in `fairshapley.fairness.certificate.certify`.
    """
    if evidence.obstacle:
        raise InputError(f"nothing can be said with confidence: {evidence.obstacle}")
    certificate = certify(
        evidence, epsilon1, delta, xi=xi, bound=bound, level=level, sequential=sequential
    )
    widths = certificate.half_widths
    decisions = Decisions(evidence.values - widths, evidence.values + widths, certificate.delta)
    return Standing(evidence, certificate, decisions, xi)
