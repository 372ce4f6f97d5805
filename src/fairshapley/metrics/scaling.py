"""What estimates and true values are divided by before they are compared."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.fairness.axioms import check_estimate

Normalise = Literal["mean", "first", "sum"]
"""What estimates and true values are each divided by before they are compared"""


def divide(top: FloatArray, bottom: FloatArray | float) -> FloatArray:
    """The quotient, not finite where it is not defined; the caller says what to do about that."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return top / bottom


def scaled(values: FloatArray, normalise: Normalise | None, name: str) -> FloatArray:
    """Values divided by their own mean, first entry or sum; an InputError where that is 0."""
    if normalise is None:
        return values
    units = {"mean": values.mean(), "first": values[0], "sum": values.sum()}
    unit = units[checks.choice("normalise", normalise, tuple(units))]
    scaled = divide(values, unit)
    if not np.isfinite(scaled).all():
        what = "value of player 0" if normalise == "first" else normalise
        raise InputError(
            f"{name} cannot be divided by the {what}, which is {unit:g}: use normalise=None"
        )
    return scaled


def normalised(
    estimate: ArrayLike, truth: ArrayLike, normalise: Normalise | None
) -> tuple[FloatArray, FloatArray]:
    """Estimates and true values, checked and each scaled by its own."""
    values, phi = check_estimate(estimate, truth)
    return (scaled(values, normalise, "the estimates"), scaled(phi, normalise, "the true values"))
