"""What must hold between the fields of a result, whatever the game: free checks on loading one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fairshapley.errors import FairShapleyError, InputError
from fairshapley.estimators import METHODS, from_configuration
from fairshapley.fairness.scores import check_xi

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# Sums of floats in another order differ by some units of the last place for each term; a million
# terms and more leave this share of their size.
ROUNDING = 1e-9
# A variance below this is not a normal number any more, and its root is not exact.
SMALLEST_VARIANCE = 1e-290


def check_parts(result: Result) -> None:
    """An InputError when a field has a value that its type does not forbid, but its meaning."""
    check_xi(result.xi)
    if result.n_players == 0:
        raise InputError("values is empty: a result needs at least one player")
    for name, value in vars(result).items():
        if isinstance(value, np.ndarray) and len(value) != result.n_players:
            raise InputError(f"{name} must have one entry per player, as values")
    if (result.standard_errors < 0).any():
        raise InputError("standard_errors must not be negative")
    if result.level_share > 1:
        raise InputError("level_share is a share: give at most 1")
    if result.player_names is not None and len(result.player_names) != result.n_players:
        raise InputError("player_names must have one name per player")
    if result.row_counts is not None and len(result.row_counts) != result.n_players:
        raise InputError("row_counts must have one number per player")
    if any(len(part.values) != result.n_players for part in result.parts):
        raise InputError("parts must have one value per player")
    method, semivalue = (result.configuration.get(name) for name in ("method", "semivalue"))
    named = method.get("name") if isinstance(method, dict) else None
    if not isinstance(named, str) or not isinstance(semivalue, str):
        raise InputError("configuration must have a method with a name, and a semivalue")


def check_coherent(result: Result) -> None:
    """An InputError when fields of the result contradict each other.

    Examples
    --------
    >>> import fairshapley as fs
    >>> check_coherent(fs.exact(fs.games.Airport([1.0, 2.0])))
    """
    for contradiction in contradictions(result):
        raise InputError(contradiction)


def contradictions(result: Result) -> Iterator[str]:
    """What contradicts what, in sentences; nothing for a result that a run has made."""
    yield from _players(result)
    yield from _numbers(result)
    yield from _evaluations(result)
    yield from _sum(result)
    yield from _range(result)
    yield from _history(result)


def _players(result: Result) -> Iterator[str]:
    pairs = result.identical_players
    named = [*pairs, *(found.players for found in result.copies)]
    if any(not 0 <= player < result.n_players for some in named for player in some):
        yield f"identical_players or copies names a player that is not one of {result.n_players}"
    nulls = result.configuration.get("null_players", 0)
    if not isinstance(nulls, int) or not 0 <= nulls <= result.n_players:
        yield f"null_players in the configuration cannot be {nulls!r:.40}"


def _numbers(result: Result) -> Iterator[str]:
    if np.isinf(result.values).any():
        yield "values must be finite"
    if result.complete and np.isnan(result.values).any():
        yield "values has no number for a player, though the run is complete"
    if np.isinf(result.standard_errors).any():
        yield "standard_errors must be finite"
    if result.exact and (result.standard_errors != 0).any():
        yield "standard_errors must be 0 where the values are exact"
    if not 0 < result.level_share <= 1:
        yield "level_share must be above 0, and at most 1"


def _evaluations(result: Result) -> Iterator[str]:
    active = _active(result)
    # Only a method that evaluates coalitions proves its values by evaluating them all.
    if result.exact and result.method in METHODS and result.evaluations < 2.0**active:
        yield (
            f"evaluations is {result.evaluations:,}, but exact values of {active} players take "
            f"2^{active}"
        )
    if result.skipped > result.evaluations:
        yield "skipped is more than evaluations"


def _active(result: Result) -> int:
    nulls = result.configuration.get("null_players", 0)
    return min(result.n_players - nulls, 1000) if isinstance(nulls, int) else 0


def _sum(result: Result) -> Iterator[str]:
    """Shapley values add up to v(N) − v(∅), and so do most estimates of them."""
    if result.endpoints is None or result.semivalue != "shapley" or not result.complete:
        return
    if result.skipped or not (result.exact or _is_efficient(result)):
        return
    empty, full = result.endpoints
    total = math.fsum(result.values)
    scale = math.fsum(np.abs(result.values)) + abs(empty) + abs(full)
    scale += max((_largest(result, place) for place in range(len(result.profile))), default=0.0)
    if abs(total - (full - empty)) > ROUNDING * scale:
        yield f"values add up to {total:g}, but endpoints says {full:g} − {empty:g}"


def _is_efficient(result: Result) -> bool:
    try:
        return from_configuration(result.configuration["method"]).traits.efficient
    except (FairShapleyError, TypeError, ValueError):
        return False  # an estimator of somebody else


def _largest(result: Result, place: int) -> float:
    """No utility in the bin is larger."""
    part = result.profile[place]
    return abs(part.mean) + part.deviation * math.sqrt(part.coalitions)


def _range(result: Result) -> Iterator[str]:
    if result.value_range is None:
        return
    lowest, highest = result.value_range
    if not lowest <= highest:
        yield "value_range must be (lowest, highest)"
        return
    slack = ROUNDING * max(abs(lowest), abs(highest))
    seen = [*(result.endpoints or ()), *(part.mean for part in result.profile)]
    if any(not lowest - slack <= utility <= highest + slack for utility in seen):
        yield "a utility in endpoints or profile lies outside value_range"
    width = (highest - lowest) * (1 + ROUNDING) + slack
    if result.exact and (np.abs(result.values) > width).any():
        yield "values has one larger than value_range is wide"


def _history(result: Result) -> Iterator[str]:
    """The last checkpoint is from the end of the run, with the values it ended with."""
    points = [point.evaluations for point in result.history]
    if points != sorted(points) or (points and points[-1] > result.evaluations):
        yield "history must grow up to evaluations"
        return
    if not points or points[-1] != result.evaluations:
        return
    recorded, found = result.history[-1].min_fidelity, result.min_fidelity
    smallest = float(np.square(result.standard_errors).min())
    comparable = math.isfinite(recorded) and smallest > SMALLEST_VARIANCE
    if comparable and not math.isclose(recorded, found, rel_tol=1e-6):
        yield f"history ends with a minimum fidelity of {recorded:g}, the values have {found:g}"
