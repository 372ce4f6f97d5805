"""Arguments that every statement of fairness shares, and how a joint level is split."""

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


def check_epsilon1(epsilon1: float) -> float:
    """ε1 as a positive finite float, or an InputError."""
    # Beyond these, squares overflow; nobody means such a tolerance.
    remedy = "it is the tolerated share of a value: give a positive number such as 0.5"
    return checks.real("epsilon1", epsilon1, above=1e-100, below=1e100, remedy=remedy)


def check_delta(delta: float) -> float:
    """δ as a float strictly between 0 and 1, or an InputError."""
    remedy = "it is the tolerated probability of failure: give a number between 0 and 1"
    return checks.real("delta", delta, above=1e-100, below=1, remedy=remedy)


def check_xi(xi: float) -> float:
    """ξ as a float of at least 0, or an InputError."""
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
    """The probability of failure left to each of n players so that all hold at 1 − δ.

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
    """The probability that any of several events fails: δ of their failure probabilities."""
    if (failures >= 1).any():
        return 1.0
    if independent:
        return float(-np.expm1(np.log1p(-failures).sum()))
    return min(1.0, float(failures.sum()))
