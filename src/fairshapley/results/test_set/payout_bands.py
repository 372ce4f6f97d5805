"""What another test set of the same size would pay: a band beside that of estimation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.results.payouts.band import Bounds
from fairshapley.results.payouts.table import Negative
from fairshapley.results.test_set.errors import another_set

if TYPE_CHECKING:
    from fairshapley.results.result import Result


def other_bounds(
    result: Result, values: FloatArray, negative: Negative, units: int, delta: float
) -> tuple[Bounds | None, list[str]]:
    """Fewest and most units of each player by another test set, and what they mean in words.

    Parameters
    ----------
    result
        The result; one without replicates has no such band.
    values
        What is divided by: identical players have their mean, and so have their replicates.
    negative, units
        As for the payout.
    delta
        The probability that another test set would pay some player outside its band.
    """
    if result.run.replicates is None:
        return None, []
    shares = _shares(values, negative)
    others = [_shares(values + change, negative) for change in result.run.replicates.T]
    if not all(np.isfinite(one).all() for one in (shares, *others)):
        return None, ["no band of the test set: without some test rows nothing is left to divide"]
    reach = another_set(np.stack(others, axis=1) - shares[:, None], delta)
    low, high = shares - reach, shares + reach
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


def _shares(values: FloatArray, negative: Negative) -> FloatArray:
    """The share of each player, that of a value below zero too: it may be above with other rows."""
    total = float(np.maximum(values, 0).sum() if negative == "zero" else values.sum())
    return values / total if total > 0 else np.full(len(values), np.nan)
