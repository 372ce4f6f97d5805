"""What must hold between the fields of a result, whatever the game: free checks on loading one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley.errors import FairShapleyError
from fairshapley.estimators import METHODS, from_configuration
from fairshapley.fairness.levels import check_xi

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# Sums of floats in another order differ by some units of the last place for each term; a million
# terms and more leave this share of their size.
ROUNDING = 1e-9
# A variance below this is not a normal number any more, and its root is not exact.
SMALLEST_VARIANCE = 1e-290


def wrong_parts(result: Result) -> Iterator[str]:
    """Fields with a value that their type does not forbid, but their meaning, in sentences."""
    check_xi(result.xi)
    if result.n_players == 0:
        yield "values is empty: a result needs at least one player"
    columns: dict[str, Any] = {
        name: column
        for name, column in {**vars(result.evidence), **vars(result.run)}.items()
        if isinstance(column, np.ndarray) and name != "unseen"
    }
    columns |= {"player_names": result.evidence.player_names, "row_counts": result.game.row_counts}
    for name, column in columns.items():
        if column is not None and len(column) != result.n_players:
            yield f"{name} must have one entry per player, as values"
    method, semivalue = (result.run.configuration.get(name) for name in ("method", "semivalue"))
    named = method.get("name") if isinstance(method, dict) else None
    yield from _those(
        ((result.standard_errors < 0).any(), "standard_errors must not be negative"),
        (result.run.level_share > 1, "level_share is a share: give at most 1"),
        (
            any(len(part.values) != result.n_players for part in result.run.parts),
            "parts must have one value per player",
        ),
        (
            not isinstance(named, str) or not isinstance(semivalue, str),
            "configuration must have a method with a name, and a semivalue",
        ),
    )


def contradictions(result: Result) -> Iterator[str]:
    """What contradicts what, in sentences; nothing for a result that a run has made.

    Examples
    --------
    >>> import fairshapley as fs
    >>> list(contradictions(fs.exact(fs.games.Airport([1.0, 2.0]))))
    []
    """
    players, values, errors = result.n_players, result.values, result.standard_errors
    named = [*result.game.identical_players, *(found.players for found in result.game.copies)]
    nulls = result.run.configuration.get("null_players", 0)
    counted = isinstance(nulls, int) and 0 <= nulls <= players
    active = min(players - nulls, 1000) if counted else 0
    yield from _those(
        (
            any(not 0 <= player < players for some in named for player in some),
            f"identical_players or copies names a player that is not one of {players}",
        ),
        (not counted, f"null_players in the configuration cannot be {nulls!r:.40}"),
        (np.isinf(values).any(), "values must be finite"),
        (
            result.complete and np.isnan(values).any(),
            "values has no number for a player, though the run is complete",
        ),
        (np.isinf(errors).any(), "standard_errors must be finite"),
        (
            result.exact and (errors != 0).any(),
            "standard_errors must be 0 where the values are exact",
        ),
        (not 0 < result.run.level_share <= 1, "level_share must be above 0, and at most 1"),
        (
            # Only a method that evaluates coalitions proves its values by evaluating them all.
            result.exact and result.method in METHODS and result.evaluations < 2.0**active,
            f"evaluations is {result.evaluations:,}, but exact values of {active} players take "
            f"2^{active}",
        ),
        (result.run.skipped > result.evaluations, "skipped is more than evaluations"),
    )
    yield from _sum(result)
    yield from _range(result)
    yield from _history(result)


def _those(*findings: tuple[Any, str]) -> list[str]:
    """The sentences that are true."""
    return [sentence for true, sentence in findings if true]


def _sum(result: Result) -> Iterator[str]:
    """Shapley values add up to v(N) − v(∅), and so do most estimates of them."""
    if result.game.endpoints is None or result.semivalue != "shapley" or not result.complete:
        return
    if result.run.skipped or not (result.exact or _is_efficient(result)):
        return
    empty, full = result.game.endpoints
    total = math.fsum(result.values)
    scale = math.fsum(np.abs(result.values)) + abs(empty) + abs(full)
    # No utility in a bin is larger.
    sizes = [
        abs(one.mean) + one.deviation * math.sqrt(one.coalitions) for one in result.run.profile
    ]
    scale += max(sizes, default=0.0)
    if abs(total - (full - empty)) > ROUNDING * scale:
        yield f"values add up to {total:g}, but endpoints says {full:g} − {empty:g}"


def _is_efficient(result: Result) -> bool:
    try:
        return from_configuration(result.run.configuration["method"]).traits.efficient
    except (FairShapleyError, TypeError, ValueError):
        return False  # an estimator of somebody else


def _range(result: Result) -> Iterator[str]:
    if result.game.value_range is None:
        return
    lowest, highest = result.game.value_range
    if not lowest <= highest:
        yield "value_range must be (lowest, highest)"
        return
    slack = ROUNDING * max(abs(lowest), abs(highest))
    seen = [*(result.game.endpoints or ()), *(part.mean for part in result.run.profile)]
    if any(not lowest - slack <= utility <= highest + slack for utility in seen):
        yield "a utility in endpoints or profile lies outside value_range"
    width = (highest - lowest) * (1 + ROUNDING) + slack
    if result.exact and (np.abs(result.values) > width).any():
        yield "values has one larger than value_range is wide"


def _history(result: Result) -> Iterator[str]:
    """The last checkpoint is from the end of the run, with the values it ended with."""
    points = [point.evaluations for point in result.run.history]
    if points != sorted(points) or (points and points[-1] > result.evaluations):
        yield "history must grow up to evaluations"
        return
    if not points or points[-1] != result.evaluations:
        return
    recorded, found = result.run.history[-1].min_fidelity, result.min_fidelity
    smallest = float(np.square(result.standard_errors).min())
    comparable = math.isfinite(recorded) and smallest > SMALLEST_VARIANCE
    if comparable and not math.isclose(recorded, found, rel_tol=1e-6):
        yield f"history ends with a minimum fidelity of {recorded:g}, the values have {found:g}"
