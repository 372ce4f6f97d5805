"""A sum divided by the values of a result: who is equal, what is negative, how certain it is.

True values lie in intervals [l, u]; a share is a value over the sum of all. It grows with the
player's own value and falls with the others' values, so that its bounds are at the ends. All
arrays hold fractions, so that no cent is lost to rounding.
"""

from __future__ import annotations

import itertools
import math
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
    whole, step = units_of(pool, unit)
    if unknown := int((~np.isfinite(result.values)).sum()):
        raise InputError(f"{unknown} players have no value yet: finish the run before paying out")
    groups = identical_groups(result.game.identical_players, result.n_players)
    averaged = _averaged(_fractions(result.values), groups)
    weights = _weights(averaged, negative)
    amounts, rest = apportion(weights, whole)
    _check_charges(amounts, whole, step)
    warnings = [baseline_warning(result), *copies_sentences(result, float(sum_of(whole, step)))]
    notes = [f"warning: {said}" for said in warnings if said]
    paid = [f"{shown(sum_of(amount, step))} of {shown(sum_of(whole, step))}" for amount in amounts]
    notes += [f"warning: {said}" for said in remark_sentences(result, paid)]
    notes += _notes(result, averaged, groups, negative)
    if rest:
        notes.append(
            f"{sum_of(rest, step):f} are left over: they cannot be divided without paying equal "
            "players unequally"
        )
    alternatives = _alternatives(result, groups, negative, whole, step)
    split, paying = _in_two_names(result, averaged, sum(weights, Fraction(0)), amounts, whole, step)
    notes[:0] = paying
    values = averaged.astype(np.float64)
    bounds, estimation = _band(result, held, groups, negative, whole)
    others, test_set = _other_bounds(result, values, negative, whole, held.certificate.delta)
    total = sum(weights)

    def amounts_of(units: Any) -> tuple[Decimal, ...]:
        return tuple(sum_of(int(number), step) for number in units)

    lower, upper = (None, None) if bounds is None else map(amounts_of, bounds)
    test_lower, test_upper = (None, None) if others is None else map(amounts_of, others)
    return Payout(
        pool=sum_of(whole, step),
        unit=step,
        amounts=amounts_of(amounts),
        rest=sum_of(rest, step),
        shares=np.array([float(weight / total) for weight in weights]),
        values=values,
        lower=lower,
        upper=upper,
        delta=held.certificate.delta,
        negative=negative,
        names=result.names(),
        notes=(*notes, estimation, *test_set),
        findings=() if result.exact or held.doubts else tuple(held.sentences()),
        test_lower=test_lower,
        test_upper=test_upper,
        alternatives=alternatives,
        split=split,
    )


def _fractions(values: Any) -> Fractions:
    """Return numbers as exact fractions."""
    return np.array([Fraction(value) for value in values], dtype=object)


def _averaged(values: Fractions, groups: list[list[int]]) -> Fractions:
    """Return the mean of each group for all its members."""
    averaged = values.copy()
    for group in groups:
        averaged[group] = values[group].sum() / len(group)
    return averaged


def _weights(averaged: Fractions, negative: Negative) -> list[Fraction]:
    """Return what to divide in proportion to; its sum is positive."""
    weights = averaged if negative == "charge" else np.maximum(averaged, 0)
    if weights.sum() <= 0:
        if negative == "charge":
            message = "the pool cannot be divided, since the values sum to zero or less"
            raise InputError(message, remedy="give {negative:'zero'}")
        message = "the pool cannot be divided, since no player has a positive value"
        raise InputError(message, remedy="there is nothing to pay for: keep the pool")
    return list(weights)


def _check_charges(amounts: list[int], units: int, step: Decimal) -> None:
    """Raise InputError if players would be charged more than the pool in all."""
    charged = -sum(amount for amount in amounts if amount < 0)
    if charged > units:
        raise InputError(
            f"players with negative values would be charged {shown(sum_of(charged, step))} in all, "
            f"more than the pool of {shown(sum_of(units, step))}: the values nearly cancel out, so "
            "that shares of their sum mean little",
            remedy="give {negative:'zero'}",
        )


def _notes(
    result: Result, averaged: Fractions, groups: list[list[int]], negative: Negative
) -> list[str]:
    """Return how negative values and identical players are treated, and what the values are."""
    notes = []
    if below := int((averaged < 0).sum()):
        if negative == "zero":
            gets = "gets" if below == 1 else "get"
            treated = f"{gets} nothing; the others share the pool in proportion to theirs"
        else:
            treated = f"{'is' if below == 1 else 'are'} charged, and the others share that as well"
        notes.append(f"{several(below, 'player')} with a negative value {treated}")
    if result.semivalue not in EFFICIENT:
        notes.append(
            f"{result.semivalue} values do not add up to v(N) − v(∅): the amounts are shares of "
            "their own sum"
        )
    if not result.complete:
        notes.append("the values come from a partial result")
    if larger := [group for group in groups if len(group) > 1]:
        notes.append(
            f"{sum(map(len, larger)):,} players have an identical one "
            f"({several(len(larger), 'group')}): each group counts with the mean of its values"
        )
    return notes


def _alternatives(
    result: Result, groups: list[list[int]], negative: Negative, whole: int, step: Decimal
) -> dict[str, tuple[Decimal, ...]]:
    """Return what each player would get by other values, where these can be divided by."""
    found = {}
    for scenario in result.run.scenarios:
        try:
            weights = _weights(_averaged(_fractions(scenario.values), groups), negative)
        except InputError:
            continue
        amounts, _ = apportion(weights, whole)
        found[scenario.name] = tuple(sum_of(amount, step) for amount in amounts)
    return found


def _in_two_names(
    result: Result,
    averaged: Fractions,
    total: Fraction,
    amounts: list[int],
    whole: int,
    step: Decimal,
) -> tuple[dict[int, tuple[Decimal, Decimal]], list[str]]:
    """Return what players would get in two names with the error, and a warning if it pays.

    All values together stay what they are.
    """
    found, gains, names = {}, {}, result.names()
    for player, earned, error in result.run.splits:
        both = max(float(averaged[player]) + earned, 0.0)
        units, reach = (round(whole * one / float(total)) for one in (both, error))
        found[player] = sum_of(units, step), sum_of(reach, step)
        gain = units - amounts[player]
        if gain > max(CLEAR * reach, LARGE_GAIN * amounts[player], LEAST_GAIN * whole):
            gains[player] = gain
    said = [
        f"{names[player]!r:.60} would get {shown(found[player][0])} ± {shown(found[player][1])} in "
        f"place of {shown(sum_of(amounts[player], step))}"
        for player in sorted(gains, key=lambda player: -gains[player])
    ]
    more = f", and {len(said) - NAMED:,} more would gain" if len(said) > NAMED else ""
    remedy = "Owen values (unions) pay a company the same under any number of names"
    sentence = f"warning: two names pay: {', '.join(said[:NAMED])}{more}. {remedy}"
    return found, [sentence] if said else []


def _band(
    result: Result, held: Findings, groups: list[list[int]], negative: Negative, units: int
) -> tuple[Bounds | None, str]:
    """Return what true values could give, and how sure that is, in a sentence."""
    if held.doubts:
        return None, f"no tolerance band: {'; '.join(held.doubts)}"
    decisions = held.decisions
    if not np.isfinite(decisions.upper).all():
        return None, "no tolerance band: the errors of some values are not bounded"
    lower, upper = (
        _averaged(_fractions(ends), groups) for ends in (decisions.lower, decisions.upper)
    )
    sizes = _fractions([1] * result.n_players)
    for group in groups:
        sizes[group] = Fraction(len(group))
    gain = _gain(result)
    if negative == "zero":
        clipped = np.maximum(lower, 0), np.maximum(upper, 0)
        bounds: Bounds | None = _bounds(*clipped, sizes, units)
    elif (lower.sum() if gain is None else gain) <= 0:
        bounds = None
    elif gain is None:
        bounds = _bounds(lower, upper, sizes, units)
    else:
        total = Fraction(gain)
        bounds = np.floor(lower * units / total), np.ceil(upper * units / total)
    if bounds is None:
        return None, "no tolerance band: the true values may sum to zero or less"
    if result.exact:
        return bounds, "estimation: the values are exact, and the band is nothing but rounding"
    return bounds, (
        f"estimation: with a probability of at least {1 - decisions.delta:.6g}, dividing by the "
        "true values would give every player an amount within its band"
    )


def _bounds(lower: Fractions, upper: Fractions, sizes: Fractions, units: int) -> Bounds:
    """Return bounds where the sum of all values is positive; identical players move together.

    v/(k·v + R), with R the sum of the others, is then monotone in v and in R, so that the extremes
    are at the corners. Where all values may be 0, nobody gets anything.
    """
    corners = []
    for value, ends in itertools.product((lower, upper), repeat=2):
        total = sizes * value + ends.sum() - sizes * ends
        corners.append(value * units / np.where(total == 0, 1, total))
    return np.floor(np.min(corners, axis=0)), np.ceil(np.max(corners, axis=0))


def _gain(result: Result) -> float | None:
    """Return v(N) − v(∅), to which the true values add up; None where it is not known."""
    if result.game.endpoints is None or result.semivalue not in EFFICIENT or result.exact:
        return None  # exact values add up to it themselves, but for rounding
    gain = result.game.endpoints[1] - result.game.endpoints[0]
    return gain if math.isfinite(gain) else None


def _other_bounds(
    result: Result, values: FloatArray, negative: Negative, units: int, delta: float
) -> tuple[Bounds | None, list[str]]:
    """Return what another test set of the same size would pay, and what that means in words."""
    if result.run.replicates is None:
        return None, []

    def shares(values: FloatArray) -> FloatArray:
        # A value below zero has its share too: it may be above with other rows.
        total = float(np.maximum(values, 0).sum() if negative == "zero" else values.sum())
        return values / total if total > 0 else np.full(len(values), np.nan)

    paid = shares(values)
    others = np.stack([shares(values + change) for change in result.run.replicates.T], axis=1)
    if not (np.isfinite(paid).all() and np.isfinite(others).all()):
        return None, ["no band of the test set: without some test rows nothing is left to divide"]
    reach = another_set(others - paid[:, None], delta)
    low, high = paid - reach, paid + reach
    if negative != "charge":
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    bounds = (
        np.array([math.floor(units * end) for end in low], dtype=object),
        np.array([math.ceil(units * end) for end in high], dtype=object),
    )
    return bounds, [
        f"test set: with a probability of about {1 - delta:.6g}, another test set of the same size "
        "would pay every player an amount within the band of other test sets"
    ]
