"""Would another test set say the same? The error that comes from the choice of the test rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from fairshapley._basics.types import FloatArray
from fairshapley.fairness.levels import player_level
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result


def jackknife_errors(changes: FloatArray) -> FloatArray:
    """Return standard errors over test sets of the same size, from changes without each group.

    Examples
    --------
    >>> jackknife_errors(np.array([[1.0, -1.0], [0.0, 0.0]]))
    array([1., 0.])
    """
    groups = changes.shape[-1]
    spread = changes - changes.mean(axis=-1, keepdims=True)
    return np.sqrt((groups - 1) / groups * (spread**2).sum(axis=-1))


def another_set(changes: FloatArray, delta: float) -> FloatArray:
    """Return how far numbers may move with another test set of the same size, all of them together.

    Both test sets have the error, so that the difference has √2 of it. Student's t allows for an
    error that is known from few groups.

    Parameters
    ----------
    changes
        What the numbers change by without each group of test rows, shape (numbers, groups).
    delta
        The probability that one of them moves farther.
    """
    share = player_level(delta, len(changes), independent=False)
    quantile = -float(stdtrit(changes.shape[1] - 1, share / 2))
    return math.sqrt(2) * quantile * jackknife_errors(changes)


def both_errors(result: Result, delta: float) -> str:
    """Say the error of estimation and the test-set error; nothing where it is unknown."""
    errors = result.test_errors
    if errors is None or result.run.replicates is None:
        return ""
    estimation = "The values are exact for these test rows."
    if not result.exact:
        largest = number(np.nanmax(result.standard_errors))
        estimation = f"Estimation: standard errors up to {largest}."
    reach = another_set(result.run.replicates, delta)
    span = f"± {number(reach.min())} to " if len(reach) > 1 else ""
    return (
        f"{estimation} Test set: standard errors up to {number(errors.max())} from "
        "the choice of the test rows. With another test set of the same size every value would "
        f"stay within {span}± {number(reach.max())} of the value here, for all of them together "
        f"with {100 * (1 - delta):g} % confidence."
    )
