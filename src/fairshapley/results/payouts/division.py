"""A sum divided by the values of a result: who is equal, what is negative, how certain it is.

True values lie in intervals [l, u]; a share is a value over the sum of all. It grows with the
player's own value and falls with the others' values, so that its bounds are at the ends. All
arrays hold fractions, so that no cent is lost to rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.checks import choice
from fairshapley._basics.text import several
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.fairness.findings import Findings
from fairshapley.games.player_data import identical_groups
from fairshapley.results.payouts.amounts import Money, apportion, shown, sum_of, units_of
from fairshapley.results.payouts.table import Negative, Payout
from fairshapley.results.test_set import another_set
from fairshapley.results.warnings import baseline_warning, copies_sentences, remark_sentences
from fairshapley.semivalues import EFFICIENT

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# To deliver in two names pays where it brings so many errors, this share of the amount, and this
# share of the pool more. So many players are named.
CLEAR, LARGE_GAIN, LEAST_GAIN, NAMED = 2, 0.1, 0.001, 3

Fractions: TypeAlias = NDArray[Any]
Bounds: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
"""The fewest and the most units of each player"""


def payout(
    result: Result,
    pool: Money,
    *,
    negative: Negative = "zero",
    unit: Money = "0.01",
    epsilon1: float | None = None,
    delta: float | None = None,
    bound: str = "normal",
) -> Payout:
    """Divide a sum in proportion to the values of a result; also `Result.payout`.

    Every amount is the exact share rounded down or up to the unit, and all of them add up to the
    pool. Equal values get equal amounts, a higher value never gets less, and identical players
    (`Result.game.identical_players`) count with the mean of their values.

    Parameters
    ----------
    result
        Whose values to divide by.
    pool
        The sum, a positive multiple of the unit. Text or Decimal says it exactly; a float means
        its shortest decimal form.
    negative
        What becomes of players with a negative value. "zero": they get nothing, and the others
        share the pool. "charge": they pay, and the others share the pool and what they pay; an
        InputError if the charges together exceed the pool.
    unit
        The smallest amount of money.
    epsilon1, delta, bound
        As in `Result.findings`, whose simultaneous intervals give the band.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.Additive([3.0, -1.0, 1.0]))
    >>> [str(amount) for amount in payout(result, 9, negative="charge").amounts]
    ['9.00', '-3.00', '3.00']
    """
    choice("negative", negative, ("zero", "charge"))
    held = result.findings(epsilon1, delta, bound=bound)
    units, step = units_of(pool, unit)
    if unknown := int((~np.isfinite(result.values)).sum()):
        raise InputError(f"{unknown} players have no value yet: finish the run before paying out")
    groups = identical_groups(result.game.identical_players, result.n_players)
    by = _Division(result, groups, negative, units, step)
    averaged = by.averaged(result.values)
    weights = by.weights(averaged)
    shares, rest = apportion(weights, units)
    by.check_charges(shares)
    amounts, whole, total = by.money(shares), sum_of(units, step), sum(weights)
    split, notes = by.in_two_names(averaged, total, shares)
    paid = [f"{shown(amount)} of {shown(whole)}" for amount in amounts]
    warnings = [baseline_warning(result), *copies_sentences(result, float(whole))]
    warnings += remark_sentences(result, paid)
    notes += [f"warning: {said}" for said in warnings if said] + by.notes(averaged)
    if rest:
        notes.append(
            f"{sum_of(rest, step):f} is left over, since it cannot be divided without paying equal "
            "players unequally"
        )
    bounds, estimation = by.band(held)
    others, test_set = by.other_band(averaged.astype(np.float64), held.certificate.delta)
    lower, upper = (None, None) if bounds is None else map(by.money, bounds)
    test_lower, test_upper = (None, None) if others is None else map(by.money, others)
    return Payout(
        pool=whole,
        unit=step,
        amounts=amounts,
        rest=sum_of(rest, step),
        shares=np.array([float(weight / total) for weight in weights]),
        values=averaged.astype(np.float64),
        lower=lower,
        upper=upper,
        delta=held.certificate.delta,
        negative=negative,
        names=result.names(),
        notes=(*notes, estimation, *test_set),
        findings=() if result.exact or held.doubts else tuple(held.sentences()),
        test_lower=test_lower,
        test_upper=test_upper,
        alternatives=by.alternatives(),
        split=split,
    )


@dataclass(frozen=True)
class _Division:
    """What a sum is divided by, and how: a number of units, each of one step."""

    result: Result
    groups: list[list[int]]
    negative: Negative
    units: int
    step: Decimal

    def money(self, units: Iterable[Any]) -> tuple[Decimal, ...]:
        """Return numbers of units as amounts."""
        return tuple(sum_of(int(number), self.step) for number in units)

    def averaged(self, values: Any) -> Fractions:
        """Return values as exact fractions, with the mean of each group for all its members."""
        averaged = _fractions(values)
        for group in self.groups:
            averaged[group] = averaged[group].sum() / len(group)
        return averaged

    def weights(self, averaged: Fractions) -> list[Fraction]:
        """Return what to divide in proportion to; its sum is positive."""
        weights = averaged if self.negative == "charge" else np.maximum(averaged, 0)
        if weights.sum() <= 0:
            if self.negative == "charge":
                message = "the pool cannot be divided, since the values sum to zero or less"
                raise InputError(message, remedy="give {negative:'zero'}")
            message = "the pool cannot be divided, since no player has a positive value"
            raise InputError(message, remedy="there is nothing to pay for: keep the pool")
        return list(weights)

    def check_charges(self, amounts: list[int]) -> None:
        """Raise InputError if players would be charged more than the pool in all."""
        charged = -sum(amount for amount in amounts if amount < 0)
        if charged > self.units:
            raise InputError(
                f"players with negative values would be charged "
                f"{shown(sum_of(charged, self.step))} in all, more than the pool of "
                f"{shown(sum_of(self.units, self.step))}: the values nearly cancel out, so that "
                "shares of their sum mean little",
                remedy="give {negative:'zero'}",
            )

    def notes(self, averaged: Fractions) -> list[str]:
        """Return how negative values and identical players are treated, and what the values are."""
        notes, semivalue = [], self.result.semivalue
        if below := int((averaged < 0).sum()):
            if self.negative == "zero":
                gets = "gets" if below == 1 else "get"
                treated = f"{gets} nothing; the others share the pool in proportion to theirs"
            else:
                treated = f"{'is' if below == 1 else 'are'} charged, and the others share that too"
            notes.append(f"{several(below, 'player')} with a negative value {treated}")
        if semivalue not in EFFICIENT:
            notes.append(
                f"{semivalue} values do not add up to v(N) − v(∅), what all players gain together: "
                "the amounts are shares of the sum of the values"
            )
        if not self.result.complete:
            notes.append("the values come from a run that did not finish")
        if larger := [group for group in self.groups if len(group) > 1]:
            notes.append(
                f"{sum(map(len, larger)):,} players are identical to another "
                f"({several(len(larger), 'group')}): each counts with the mean value of its group"
            )
        return notes

    def alternatives(self) -> dict[str, tuple[Decimal, ...]]:
        """Return what each player would get by other values, where these can be divided by."""
        found = {}
        for scenario in self.result.run.scenarios:
            with suppress(InputError):
                weights = self.weights(self.averaged(scenario.values))
                found[scenario.name] = self.money(apportion(weights, self.units)[0])
        return found

    def in_two_names(
        self, averaged: Fractions, total: Any, amounts: list[int]
    ) -> tuple[dict[int, tuple[Decimal, Decimal]], list[str]]:
        """Return what players would get in two names with the error, and a warning if it pays.

        All values together stay what they are.
        """
        found, gains, names = {}, {}, self.result.names()
        for player, earned, error in self.result.run.splits:
            both = max(float(averaged[player]) + earned, 0.0)
            units, reach = (round(self.units * size / float(total)) for size in (both, error))
            found[player] = sum_of(units, self.step), sum_of(reach, self.step)
            gain = units - amounts[player]
            if gain > max(CLEAR * reach, LARGE_GAIN * amounts[player], LEAST_GAIN * self.units):
                gains[player] = gain
        said = [
            f"{names[player]!r:.60} would get {shown(found[player][0])} ± "
            f"{shown(found[player][1])} instead of {shown(sum_of(amounts[player], self.step))}"
            for player in sorted(gains, key=lambda player: -gains[player])
        ]
        if not said:
            return found, []
        more = f", and {len(said) - NAMED:,} more would gain" if len(said) > NAMED else ""
        return found, [
            f"warning: delivering under two names pays: {', '.join(said[:NAMED])}{more}. Owen "
            "values (unions) pay a company the same under any number of names"
        ]

    def band(self, held: Findings) -> tuple[Bounds | None, str]:
        """Return what true values could give, and how sure that is, in a sentence."""
        result, decisions = self.result, held.decisions
        if held.doubts:
            return None, f"no tolerance band: {'; '.join(held.doubts)}"
        if not np.isfinite(decisions.upper).all():
            return None, "no tolerance band: the errors of some values are not bounded"
        lower, upper = map(self.averaged, (decisions.lower, decisions.upper))
        bounds: Bounds | None = None
        gain = _gain(result)
        if self.negative == "zero":
            bounds = self.bounds(np.maximum(lower, 0), np.maximum(upper, 0))
        elif gain is not None and gain > 0:
            each = self.units / Fraction(gain)
            bounds = np.floor(lower * each), np.ceil(upper * each)
        elif gain is None and lower.sum() > 0:
            bounds = self.bounds(lower, upper)
        if bounds is None:
            return None, "no tolerance band: the true values may sum to zero or less"
        if result.exact:
            return bounds, "estimation: the values are exact, and the band is only rounding"
        return bounds, (
            f"estimation: with a probability of at least {1 - decisions.delta:.6g}, dividing by "
            "the true values would give every player an amount within its band"
        )

    def bounds(self, lower: Fractions, upper: Fractions) -> Bounds:
        """Return bounds where the sum of all values is positive; identical players move together.

        v/(k·v + R), with R the sum of the others, is then monotone in v and in R, so that the
        extremes are at the corners. Where all values may be 0, nobody gets anything.
        """
        sizes = _fractions([1] * self.result.n_players)
        for group in self.groups:
            sizes[group] = Fraction(len(group))
        corners = []
        for value, ends in itertools.product((lower, upper), repeat=2):
            total = sizes * value + ends.sum() - sizes * ends
            corners.append(value * self.units / np.where(total == 0, 1, total))
        return np.floor(np.min(corners, axis=0)), np.ceil(np.max(corners, axis=0))

    def other_band(self, values: FloatArray, delta: float) -> tuple[Bounds | None, list[str]]:
        """Return what another test set of the same size would pay, and what that means in words."""
        replicates = self.result.run.replicates
        if replicates is None:
            return None, []

        def shares(values: FloatArray) -> FloatArray:
            # A value below zero has its share too: it may be above with other rows.
            positive = np.maximum(values, 0) if self.negative == "zero" else values
            total = float(positive.sum())
            return values / total if total > 0 else np.full(len(values), np.nan)

        paid = shares(values)
        others = np.stack([shares(values + change) for change in replicates.T], axis=1)
        if not (np.isfinite(paid).all() and np.isfinite(others).all()):
            return None, ["no test-set band: without some of the test rows, no value is positive"]
        reach = another_set(others - paid[:, None], delta)
        ends = paid - reach, paid + reach
        if self.negative == "zero":
            ends = np.clip(ends[0], 0, 1), np.clip(ends[1], 0, 1)
        low, high = (_fractions(end) * self.units for end in ends)
        return (np.floor(low), np.ceil(high)), [
            f"test set: with a probability of about {1 - delta:.6g}, another test set of the same "
            "size would pay every player an amount within the band of other test sets"
        ]


def _fractions(values: Any) -> Fractions:
    """Return numbers as exact fractions."""
    return np.array([Fraction(value) for value in values], dtype=object)


def _gain(result: Result) -> float | None:
    """Return v(N) − v(∅), to which the true values add up; None where it is not known."""
    if result.game.endpoints is None or result.semivalue not in EFFICIENT or result.exact:
        return None  # exact values add up to it themselves, but for rounding
    gain = result.game.endpoints[1] - result.game.endpoints[0]
    return gain if math.isfinite(gain) else None
