"""What may be said of values: doubts, certificate, decisions and intervals, from one evidence.

A result that doubts its errors certifies nothing, decides nothing and states no probability.
Console, notebook, report, payouts and JSON render what is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairshapley._basics.text import several
from fairshapley._basics.types import FloatArray
from fairshapley.fairness.certificate import Certificate, cost_text, half_widths, rounded_up
from fairshapley.fairness.decisions import Decisions
from fairshapley.fairness.evidence import NOT_REPRODUCIBLE
from fairshapley.fairness.levels import check_delta

# Players that a sentence names.
NAMED = 5
# The level of the interval behind a grade.
GRADE_DELTA, CLEAR = 0.05, 3.0


@dataclass(frozen=True, eq=False)
class Findings:
    """What may be said of values with a probability of at least 1 − δ, and what may not.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(20, seed=1)
    >>> findings = fs.estimate(game, "mc", budget=4000, xi=0.1, seed=0).findings()
    >>> findings.doubts, findings.certificate.tightest < 1, int(findings.decisions.signs().sum())
    ((), True, 20)
    >>> print(findings)
    With a probability of at least 0.9, each value differs from the true value by at most ...
    With a probability of at least 0.9, all of this holds together:
    signs: 20 values are positive, 0 negative
    order: known for ... of 190 pairs; the highest is one of ..., the lowest is one of ...
    """

    certificate: Certificate
    """Whether the values are (ε1, ξ·ε1, δ)-Shapley fair"""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why nothing is stated with a probability; empty where something is."""
        return self.certificate.doubts

    @cached_property
    def decisions(self) -> Decisions:
        """Intervals of all values together; without limits where there are doubts."""
        found = self.certificate
        values, widths = np.nan_to_num(found.evidence.values), found.half_widths
        return Decisions(values - widths, values + widths, found.delta, found.evidence.player_names)

    @cached_property
    def grades(self) -> tuple[str, ...]:
        """What each player does: "clearly helps", "clearly hurts", "no effect" or "unclear".

        A value is clear where its sign is known, or the 95 % interval of this value alone leaves
        zero out; where noise was found that was not declared, from `CLEAR` standard errors on.
        """
        found = self.certificate.evidence
        widths = np.zeros(found.n_players) if found.exact else self.single_widths(GRADE_DELTA)
        if widths is None:
            noisy = found.obstacle.startswith(NOT_REPRODUCIBLE)
            widths = CLEAR * found.standard_errors if noisy else np.full(found.n_players, np.inf)
        clear = (np.abs(found.values) > widths) | (self.decisions.signs() != 0)
        unclear = "no effect" if found.exact else "unclear"
        words = np.where(found.values > 0, "clearly helps", "clearly hurts")
        return tuple(np.where(clear, words, unclear).tolist())

    def single_widths(self, delta: float) -> FloatArray | None:
        """Return half-widths that cover one value each with 1 − δ; None where there are doubts."""
        if self.doubts:
            return None
        found = self.certificate
        level = check_delta(delta) * found.level / found.delta
        return half_widths(
            found.evidence, level, found.bound, together=False, sequential=found.sequential
        )

    def brief(self) -> str:
        """Return what is certain in one sentence, or the first reason why nothing is."""
        if self.certificate.evidence.exact:
            return "All values are exact."
        if self.doubts:
            return f"Nothing is certified: {self.doubts[0]}."
        highest = self._candidates(self.decisions.top(1).candidates)
        if not self.decisions.signs().any():
            together = "Judged for all players together, no sign is certain yet."
            return f"{together} {self._chance} the highest is {highest}."
        return f"{self._chance} {self._signs()}, and the highest is {highest}."

    def sentences(self) -> list[str]:
        """Return all of it in words, with the names of players."""
        found = self.certificate
        evidence, errors = found.evidence, found.evidence.standard_errors
        if evidence.exact:
            return ["All values are exact: signs, order and any tolerance hold."]
        if self.doubts:
            known = [f"The standard errors are {errors.min():.3g} to {errors.max():.3g}."]
            why = f"Nothing is certified: {'; '.join(self.doubts)}."
            return [*(known if np.isfinite(errors).all() else []), why]
        at = f" (ε1 = {rounded_up(found.tightest):g}, ξ = {found.xi:g})"
        said = [f"{self._chance} {found.tolerance}{at if found.tightest < 1 else ''}."]
        if evidence.n_players > 1:
            ends = (self.decisions.top(1).candidates, self.decisions.bottom(1).candidates)
            highest, lowest = map(self._candidates, ends)
            pairs = several(evidence.n_players * (evidence.n_players - 1) // 2, "pair")
            said += [
                f"{self._chance} all of this holds together:",
                f"signs: {self._signs()}",
                f"order: known for {self.decisions.settled_pairs():,} of {pairs}; the highest is "
                f"{highest}, the lowest is {lowest}",
            ]
        if not found.holds:
            said.append(
                f"A tolerance of {found.epsilon1:g} times the size of each true value (ε1 = "
                f"{found.epsilon1:g}) would take {cost_text(found.needed, evidence.coalitions)}; "
                f"this run made {evidence.evaluations:,}."
            )
        return said

    @property
    def _chance(self) -> str:
        return f"With a probability of at least {1 - self.certificate.delta:.6g},"

    def _signs(self) -> str:
        signs, evidence = self.decisions.signs(), self.certificate.evidence
        if not signs.any():
            return "none is certain yet"
        below = [int(player) for player in np.argsort(evidence.values) if signs[player] < 0]
        who = f" ({evidence.all_named(below, NAMED)})" if below else ""
        above = several(int((signs > 0).sum()), "value is positive", "values are positive")
        unknown = int((signs == 0).sum())
        return f"{above}, {len(below):,} negative{who}" + f", {unknown:,} unclear" * (unknown > 0)

    def _candidates(self, players: tuple[int, ...]) -> str:
        if len(players) > NAMED:
            return f"one of {len(players):,} players"
        named = self.certificate.evidence.all_named(players, NAMED)
        return named if len(players) == 1 else f"one of {named}"

    def __str__(self) -> str:
        return "\n".join(self.sentences())
