"""What must hold between the fields of a result, whatever the game: free checks on loading one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley.fairness.levels import check_xi
from fairshapley.semivalues import EFFICIENT

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# Sums of floats in another order differ by some units of the last place for each term; a million
# terms and more leave this share of their size.
ROUNDING = 1e-9


def wrong_parts(result: Result) -> Iterator[str]:
    """Return fields with a value that their type allows and their meaning forbids, in sentences."""
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
    if (result.standard_errors < 0).any():
        yield "standard_errors must not be negative"
    if result.run.level_share > 1:
        yield "level_share is a share: give at most 1"
    listed = (*result.run.parts, *result.run.scenarios)
    if any(len(part.values) != result.n_players for part in listed):
        yield "parts and scenarios must have one value per player"
    if not isinstance(named, str) or not isinstance(semivalue, str):
        yield "configuration must have a method with a name, and a semivalue"


def contradictions(result: Result) -> Iterator[str]:
    """Return what contradicts what, in sentences; nothing for a result that a run has made.

    Examples
    --------
    >>> import fairshapley as fs
    >>> list(contradictions(fs.exact(fs.games.Airport([1.0, 2.0]))))
    []
    """
    players, values, errors = result.n_players, result.values, result.standard_errors
    named = [*result.game.identical_players, *(found.players for found in result.game.copies)]
    named += [(said.player,) for said in result.game.remarks]
    named += [(split.player,) for split in result.run.splits]
    nulls = result.run.configuration.get("null_players", 0)
    if any(not 0 <= player < players for group in named for player in group):
        yield f"identical_players or copies names a player that is not one of {players}"
    if not isinstance(nulls, int) or not 0 <= nulls <= players:
        yield f"null_players in the configuration cannot be {nulls!r:.40}"
    if np.isinf(values).any():
        yield "values must be finite"
    if result.complete and np.isnan(values).any():
        yield "values has no number for a player, though the run is complete"
    if np.isinf(errors).any():
        yield "standard_errors must be finite"
    if not 0 < result.run.level_share <= 1:
        yield "level_share must be above 0, and at most 1"
    if result.exact:
        yield from _exact(result)


def _exact(result: Result) -> Iterator[str]:
    """Exact values have no errors, and Shapley values add up to v(N) − v(∅)."""
    if (result.standard_errors != 0).any():
        yield "standard_errors must be 0 where the values are exact"
    if result.game.endpoints is None or result.semivalue not in EFFICIENT:
        return
    empty, full = result.game.endpoints
    total = math.fsum(result.values)
    scale = math.fsum(np.abs(result.values)) + abs(empty) + abs(full)
    # No utility in a bin is larger.
    sizes = [
        abs(size.mean) + size.deviation * math.sqrt(size.coalitions) for size in result.run.profile
    ]
    if abs(total - (full - empty)) > ROUNDING * (scale + max(sizes, default=0.0)):
        yield f"values add up to {total:g}, but endpoints says {full:g} − {empty:g}"
