"""What may be said of values: doubts, certificate, decisions and intervals, from one evidence.

A result that doubts its errors certifies nothing, decides nothing and states no probability.
Console, notebook, report, payouts and JSON render what is decided here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairshapley._basics.text import several
from fairshapley._basics.types import FloatArray
from fairshapley.fairness.certificate import (
    Certificate,
    certify,
    cost_text,
    half_widths,
    holding,
    needed_evaluations,
    rounded_up,
)
from fairshapley.fairness.decisions import Decisions
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.levels import DELTA, EPSILON1, check_delta
from fairshapley.fairness.tails import doubts

# Players that a sentence names.
NAMED = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """What holds of all values together with a probability of at least 1 − δ, and what does not.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(20, seed=1)
    >>> findings = fs.estimate(game, "mc", budget=4000, xi=0.1, seed=0).findings()
    >>> findings.doubts, findings.tightest < 1, int(findings.decisions.signs().sum())
    ((), True, 20)
    >>> print(findings)
    With a probability of at least 0.9, all of this holds together:
    each value differs from the true value by at most ... times its size plus ... (ε1 = ..., ...)
    signs: all 20 are known, 20 above zero and 0 below
    order: ... of 190 pairs are known; the highest is one of ...; the lowest is one of ...
    """

    evidence: Evidence
    epsilon1: float = EPSILON1
    """The tolerance of the certificate"""
    delta: float = DELTA
    """The probability with which any statement may be wrong"""
    xi: float
    bound: str = "normal"
    level_share: float = 1.0
    """The share of δ that earlier looks of the run have left"""
    sequential: bool = False
    """Whether the run could stop at any round because of what it had estimated"""

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Why nothing is stated with a probability; empty where something is."""
        return doubts(self.evidence, self.bound)

    @cached_property
    def certificate(self) -> Certificate:
        """Whether the values are (ε1, ξ·ε1, δ)-Shapley fair."""
        return certify(
            self.evidence,
            self.epsilon1,
            self.delta,
            xi=self.xi,
            bound=self.bound,
            level=self.level_share * check_delta(self.delta),
            sequential=self.sequential,
        )

    @cached_property
    def decisions(self) -> Decisions:
        """Intervals of all values together; without limits where there are doubts."""
        values, widths = np.nan_to_num(self.evidence.values), self.certificate.half_widths
        return Decisions(values - widths, values + widths, self.delta, self.evidence.player_names)

    @property
    def tightest(self) -> float:
        """The tightest ε1 that holds at δ and ξ; infinite when none does."""
        return self.certificate.tightest

    @property
    def needed(self) -> float:
        """The evaluations that the certificate is predicted to take; infinite if unknown."""
        if self.certificate.holds:
            return float(self.evidence.evaluations)
        return math.inf if self.doubts else needed_evaluations(self.certificate, self.evidence)

    def single_widths(self, delta: float) -> FloatArray | None:
        """Return half-widths that cover one value each with 1 − δ; None where there are doubts."""
        if self.doubts:
            return None
        level = check_delta(delta) * self.level_share
        return half_widths(
            self.evidence, level, self.bound, together=False, sequential=self.sequential
        )

    def sentences(self) -> list[str]:
        """Return all of it in words, with the names of players."""
        evidence = self.evidence
        if evidence.exact:
            return ["All values are exact: signs, order and any tolerance hold."]
        if self.doubts:
            return [*self._errors(), f"Nothing is certified: {'; '.join(self.doubts)}."]
        said = [f"With a probability of at least {1 - self.delta:.6g}, all of this holds together:"]
        said.append(self._tolerance())
        if evidence.n_players > 1:
            said += [self._signs(), self._order()]
        if not self.certificate.holds:
            cost = cost_text(self.needed, evidence.coalitions)
            said.append(
                f"a tolerance of {self.epsilon1:g} times its size for each value "
                f"(ε1 = {self.epsilon1:g}) would take {cost}; {evidence.evaluations:,} were made"
            )
        return said

    def _errors(self) -> list[str]:
        """The standard errors, which are said where no interval is."""
        errors = self.evidence.standard_errors
        if not np.isfinite(errors).all():
            return []
        by = "By a model of the game the" if self.evidence.modelled else "The"
        return [f"{by} standard errors are {errors.min():.3g} to {errors.max():.3g}."]

    def _tolerance(self) -> str:
        widths = self.certificate.half_widths
        if np.isinf(widths).any():
            return f"no tolerance: {self.certificate.reason}"
        at = f" (ε1 = {rounded_up(self.tightest):g}, ξ = {self.xi:g})" if self.tightest < 1 else ""
        return f"{holding(self.tightest, widths, self.xi)}{at}"

    def _signs(self) -> str:
        signs = self.decisions.signs()
        above, below = int((signs > 0).sum()), int((signs < 0).sum())
        known, every = above + below, f"{len(signs):,}"
        total = f"all {every} are" if known == len(signs) else f"{known:,} of {every} are"
        lowest = [player for player in np.argsort(self.evidence.values) if signs[player] < 0]
        who = f" ({self.evidence.all_named(lowest, NAMED)})" if below else ""
        return f"signs: {total} known, {above:,} above zero and {below:,} below{who}"

    def _order(self) -> str:
        n_players = self.evidence.n_players
        pairs = n_players * (n_players - 1) // 2
        ends = (self.decisions.top(1).candidates, self.decisions.bottom(1).candidates)
        highest, lowest = map(self._candidates, ends)
        return (
            f"order: {self.decisions.settled_pairs():,} of {several(pairs, 'pair')} "
            f"{'is' if pairs == 1 else 'are'} known; the highest is {highest}; the lowest is "
            f"{lowest}"
        )

    def _candidates(self, players: tuple[int, ...]) -> str:
        if len(players) > NAMED:
            return f"one of {len(players):,}"
        named = self.evidence.all_named(players, NAMED)
        return named if len(players) == 1 else f"one of {named}"

    def __str__(self) -> str:
        return "\n".join(self.sentences())
