"""Utilities that cannot be taken: how they are told, and in which words they are reported."""

from __future__ import annotations

import math

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import GameError, JournalError
from fairshapley.evaluation.engines.engine import RemoteError, WorkerLostError
from fairshapley.games.game import members

# Variances are sums of squares, of weighted contributions and of their rounding errors, and must
# stay between 1e−308 and 1e308. So utilities have a largest size, and the largest utility of a game
# a least one; beside that one, those below NEGLIGIBLE are 0 to thirty digits and are taken as 0.
LARGEST_UTILITY, LEAST_SCALE = 1e120, 1e-120
NEGLIGIBLE = 1e-150


def unusable(values: FloatArray, limits: tuple[float, float] | None) -> dict[int, str]:
    """Return the places of utilities that cannot be taken, each with the reason.

    Parameters
    ----------
    values
        The utilities.
    limits
        The range that the game states for them, if it states one.

    Examples
    --------
    >>> unusable(np.array([0.5, np.nan]), None)
    {1: 'it returned nan'}
    """
    usable = np.abs(values) <= LARGEST_UTILITY  # false for NaN as well
    if limits is not None:
        usable &= (limits[0] <= values) & (values <= limits[1])
    if usable.all():
        return {}
    return {
        int(at): f"it returned {float(values[at])}{_remedy(float(values[at]))}"
        for at in np.flatnonzero(~usable)
    }


def _remedy(value: float) -> str:
    """Return what to do about a number that cannot be taken; empty for NaN and infinity."""
    if not math.isfinite(value):
        return ""
    if abs(value) > LARGEST_UTILITY:
        return (
            f", more than the {LARGEST_UTILITY:.0e} that can be squared: divide all utilities "
            "by the same number"
        )
    return (
        ", which is outside the value_range that the game states: give the lowest and the "
        "highest utility there can be, or leave value_range out"
    )


def reason_of(error: Exception | None) -> str:
    """Return what went wrong, in the words that a serial run would use.

    Examples
    --------
    >>> reason_of(ValueError("singular"))
    'ValueError: singular'
    """
    if isinstance(error, GameError | WorkerLostError):
        return str(error.args[0])
    name = error.name if isinstance(error, RemoteError) else type(error).__name__
    return f"{name}: {error}"


def failure(mask: BoolArray, reason: str, cause: Exception | None = None) -> GameError:
    """Return the error that names a coalition, with the remedies of its cause and others."""
    coalition = members(mask)
    remedies = ["make the utility return a finite number for every coalition"]
    if 0 < len(coalition) < len(mask):  # v(∅) and v(N) cannot be skipped
        remedies.append(
            "leave such coalitions out with {on_error:'skip'} (no certificate is issued then)"
        )
    return GameError(
        f"the utility of coalition {shorten(coalition)} failed: {reason}",
        coalition,
        remedy=(*(cause.remedy if isinstance(cause, GameError) else ()), *remedies),
    )


def changed(mask: BoolArray, value: float, journalled: float, path: object) -> JournalError:
    """Return the error of a utility that is not what the journal holds."""
    return JournalError(
        f"the utility of coalition {shorten(members(mask))} is {value!r} now and {journalled!r} "
        f"in the journal {path}: the game has changed or is random. Use a new journal, fix its "
        "random seed, or give the game another key; where the expected utility is meant, say "
        "random=True or use fs.games.Random"
    )


def shorten(coalition: tuple[int, ...]) -> str:
    """Return the members as text, cut in the middle when there are very many.

    Examples
    --------
    >>> shorten((0, 2))
    '(0, 2)'
    """
    if len(coalition) <= 30:
        return str(coalition)
    head, tail = ", ".join(map(str, coalition[:12])), ", ".join(map(str, coalition[-3:]))
    return f"({head}, …, {tail}) of {len(coalition)} players"
