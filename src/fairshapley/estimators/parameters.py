"""Checks of an estimator's parameters, with errors that say what is allowed."""

from __future__ import annotations

import math

import numpy as np

from fairshapley.errors import InputError


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """An InputError unless `value` is one of the words `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_number(
    name: str,
    value: float | None,
    *,
    least: float,
    strict: bool = False,
    whole: bool = False,
    optional: bool = False,
) -> None:
    """An InputError unless `value` is a finite number in range, or None where that is allowed."""
    if value is None:
        if optional:
            return
        raise InputError(f"{name} must be a number, not None")
    number = isinstance(value, int | np.integer if whole else int | float | np.number)
    enough = number and (value > least if strict else value >= least) and value < math.inf
    if not enough or isinstance(value, bool):
        kind = "whole number" if whole else "finite number"
        bound = f"above {least}" if strict else f"of at least {least}"
        raise InputError(f"{name} must be a {kind} {bound}, not {value!r}")
