"""Arguments that every statement of fairness shares, and how a level is split.

It is split over players, and over the looks of a run that has an aim. Looks are planned by the
number of evaluations alone, never by a budget or by what was estimated: a run without a budget, and
a run that is continued, have the same looks.
"""

from __future__ import annotations

import math

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.text import several
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError

# What is asked for where nothing else is: within half of a value, wrong in one run of ten.
EPSILON1, DELTA = 0.5, 0.1
# The size below which a tolerance no longer shrinks: suits utilities from 0 to 1.
XI = 1e-3
# A ξ of more than this many mean |values| says very little. Not of 1: ξ = "mean" is estimated by a
# pilot, and may lie somewhat above the mean that the run then finds.
LARGE_XI = 1.25
# The first look is planned when every player could have been left out once and put in once: before
# that no method has an estimate of everybody. Then evaluations grow by this factor from look to
# look; looking more often would stop a little earlier, and leave less level for each look.
FIRST_LOOK = 2.0
LOOK_GROWTH = 1.3
# After k looks 1 − c/(k + c) of δ is spent: about evenly over the first c looks (from 2 to 10
# evaluations per player, where most aims are reached), and ever less later, without an end.
EVEN_LOOKS = 6


def check_epsilon1(epsilon1: float) -> float:
    """Return ε1 as a positive finite float, or raise InputError."""
    # Beyond these, squares overflow; nobody means such a tolerance.
    remedy = "it is the tolerated share of a value: give a positive number such as 0.5"
    return checks.real("epsilon1", epsilon1, above=1e-100, below=1e100, remedy=remedy)


def check_delta(delta: float) -> float:
    """Return δ as a float strictly between 0 and 1, or raise InputError."""
    remedy = "it is the tolerated probability of failure: give a number between 0 and 1"
    return checks.real("delta", delta, above=1e-100, below=1, remedy=remedy)


def check_xi(xi: float) -> float:
    """Return ξ as a float of at least 0, or raise InputError."""
    remedy = "it is the tolerance near zero, in the unit of the utility"
    return checks.real("xi", xi, least=0, below=1e100, remedy=remedy)


def check_variances(variances: FloatArray) -> None:
    """Raise an InputError when a player's variance is not known."""
    if unknown := int(np.isnan(variances).sum()):
        raise InputError(
            f"the variance of {several(unknown, 'player')} is not known: run longer, e.g. with a "
            "larger budget"
        )


def player_level(delta: float, n_players: int, *, independent: bool) -> float:
    """Return the probability of failure left to each of n players so that all hold at 1 − δ.

    Šidák's 1 − (1 − δ)^(1/n) for independent estimates, the union bound δ/n otherwise.

    Examples
    --------
    >>> player_level(0.1, 100, independent=False)
    0.001
    >>> round(player_level(0.1, 100, independent=True), 6)
    0.001053
    """
    if independent:
        return -math.expm1(math.log1p(-delta) / n_players)
    return delta / n_players


def joint_failure(failures: FloatArray, *, independent: bool) -> float:
    """Return the probability that any of several events fails: δ of their failure probabilities."""
    if (failures >= 1).any():
        return 1.0
    if independent:
        return float(-np.expm1(np.log1p(-failures).sum()))
    return min(1.0, float(failures.sum()))


def planned_look(number: int, n_players: int) -> int:
    """Return the evaluations at which a look is planned, the first being number 0.

    Examples
    --------
    >>> [planned_look(number, 10) for number in range(4)]
    [20, 26, 34, 44]
    """
    return math.ceil(FIRST_LOOK * n_players * LOOK_GROWTH**number - 1e-6)


def spent_share(evaluations: int, n_players: int) -> float:
    """Return the share of δ that planned looks have used up after a number of evaluations.

    Examples
    --------
    >>> [round(spent_share(evaluations, 10), 3) for evaluations in (19, 20, 25, 26, 100, 10_000)]
    [0.0, 0.143, 0.143, 0.25, 0.538, 0.8]
    """
    grown = evaluations / (FIRST_LOOK * n_players)
    if grown < 1:
        return 0.0
    looks = math.floor(math.log(grown) / math.log(LOOK_GROWTH) + 1e-9) + 1
    return 1.0 - EVEN_LOOKS / (looks + EVEN_LOOKS)
