"""A sum divided by the values of a result: who is equal, what is negative, how certain it is."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.checks import choice
from fairshapley._basics.text import several
from fairshapley.errors import InputError
from fairshapley.fairness.decisions import Decisions
from fairshapley.fairness.levels import DELTA, EPSILON1, check_delta
from fairshapley.games.player_data import identical_groups
from fairshapley.results.baseline import baseline_warning
from fairshapley.results.copies import copies_sentences
from fairshapley.results.payouts.amounts import (
    Money,
    all_money,
    apportion,
    money,
    shown,
    text,
    units_of,
)
from fairshapley.results.payouts.band import (
    Bounds,
    Fractions,
    fractions,
    known_sum_bounds,
    positive_bounds,
    signed_bounds,
)
from fairshapley.results.payouts.table import Negative, Payout
from fairshapley.results.test_set.payout_bands import other_bounds

if TYPE_CHECKING:
    from fairshapley.results.result import Result


def payout(
    result: Result,
    pool: Money,
    *,
    negative: Negative = "zero",
    unit: Money = "0.01",
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
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
    check_delta(delta)
    whole, step = units_of(pool, unit)
    if not np.isfinite(result.values).all():
        raise InputError(
            f"{int((~np.isfinite(result.values)).sum())} players have no value yet: finish the run "
            "before paying out"
        )
    groups = identical_groups(result.game.identical_players, result.n_players)
    averaged = _averaged(fractions(result.values), groups)
    weights = _weights(averaged, negative)
    amounts, rest = apportion(weights, whole)
    _check_charges(amounts, whole, step)
    warnings = [baseline_warning(result), *copies_sentences(result, float(money(whole, step)))]
    notes = [f"warning: {said}" for said in warnings if said]
    notes += [*_about_values(result, averaged, negative), *_about_groups(groups)]
    if rest:
        notes.append(
            f"{text(money(rest, step))} are left over: they cannot be divided without paying "
            "equal players unequally"
        )
    bounds, findings = None, tuple[str, ...]()
    total = sum(weights)
    values = averaged.astype(np.float64)
    others, said = other_bounds(result, values, negative, whole, delta)
    held = result.findings(epsilon1, delta, bound=bound)
    if held.doubts:
        notes.append(f"no tolerance band: {'; '.join(held.doubts)}")
    else:
        bounds, words = _band(result, held.decisions, groups, negative, whole)
        notes.append(words)
        findings = () if result.exact else tuple(held.sentences())
    notes += said
    return Payout(
        pool=money(whole, step),
        unit=step,
        amounts=all_money(amounts, step),
        rest=money(rest, step),
        shares=np.array([float(weight / total) for weight in weights]),
        values=values,
        lower=None if bounds is None else all_money(bounds[0], step),
        upper=None if bounds is None else all_money(bounds[1], step),
        delta=float(delta),
        negative=negative,
        names=result.names(),
        notes=tuple(notes),
        findings=findings,
        test_lower=None if others is None else all_money(others[0], step),
        test_upper=None if others is None else all_money(others[1], step),
    )


def _averaged(values: Fractions, groups: list[list[int]]) -> Fractions:
    """The mean of each group for all its members."""
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
            f"players with negative values would be charged {shown(money(charged, step))} in all, "
            f"more than the pool of {shown(money(units, step))}: the values nearly cancel out, so "
            "that shares of their sum mean little",
            remedy="give {negative:'zero'}",
        )


def _about_values(result: Result, averaged: Fractions, negative: Negative) -> list[str]:
    """How values below zero were treated, and of what kind the values are."""
    below = int((averaged < 0).sum())
    notes = []
    if below:
        one = below == 1
        treated = {
            "zero": f"{'gets' if one else 'get'} nothing; the others share the pool in proportion "
            "to theirs",
            "charge": f"{'is' if one else 'are'} charged, and the others share that as well",
        }
        notes.append(f"{several(below, 'player')} with a negative value {treated[negative]}")
    if result.semivalue != "shapley":
        notes.append(
            f"{result.semivalue} values do not add up to v(N) − v(∅): the amounts are shares of "
            "their own sum"
        )
    if not result.complete:
        notes.append("the values are those of a partial result")
    return notes


def _about_groups(groups: list[list[int]]) -> list[str]:
    larger = [group for group in groups if len(group) > 1]
    if not larger:
        return []
    return [
        f"{sum(map(len, larger)):,} players have an identical one "
        f"({several(len(larger), 'group')}): each group counts with the mean of its values"
    ]


def _band(
    result: Result, decisions: Decisions, groups: list[list[int]], negative: Negative, units: int
) -> tuple[Bounds | None, str]:
    """What true values could give, and how sure that is, in a sentence."""
    if not np.isfinite(decisions.upper).all():
        return None, "no tolerance band: the errors of some values are not bounded"
    gain = _gain(result)
    lower, upper = (
        _averaged(fractions(ends), groups) for ends in (decisions.lower, decisions.upper)
    )
    sizes = fractions([1] * result.n_players)
    for group in groups:
        sizes[group] = Fraction(len(group))
    bounds: Bounds | None
    if negative == "zero":
        bounds = positive_bounds(lower, upper, sizes, units)
    elif gain is None:
        bounds = signed_bounds(lower, upper, sizes, units)
    else:
        bounds = known_sum_bounds(lower, upper, Fraction(gain), units)
    if bounds is None:
        return None, "no tolerance band: the true values may sum to zero or less"
    if result.exact:
        return bounds, "estimation: the values are exact, and the band is nothing but rounding"
    return bounds, (
        f"estimation: with a probability of at least {1 - decisions.delta:.6g}, dividing by the "
        "true values would give every player an amount within its band"
    )


def _gain(result: Result) -> float | None:
    """v(N) − v(∅), to which the true values add up; None where it is not known."""
    if result.game.endpoints is None or result.semivalue != "shapley" or result.exact:
        return None  # exact values add up to it themselves, but for rounding
    gain = result.game.endpoints[1] - result.game.endpoints[0]
    return gain if math.isfinite(gain) else None
