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


def contradictions(result: Result) -> Iterator[str]:
    """Return what contradicts what, in sentences; nothing for a result that a run has made.

    Examples
    --------
    >>> import fairshapley as fs
    >>> list(contradictions(fs.exact(fs.games.Airport([1.0, 2.0]))))
    []
    """
    check_xi(result.xi)
    yield from _misfits(result)
    method, semivalue, nulls = (
        result.run.configuration.get(name) for name in ("method", "semivalue", "null_players")
    )
    known = method.get("name") if isinstance(method, dict) else None
    if not isinstance(known, str) or not isinstance(semivalue, str):
        yield "configuration must have a method with a name, and a semivalue"
    if nulls is not None and not (isinstance(nulls, int) and 0 <= nulls <= result.n_players):
        yield f"null_players in the configuration cannot be {nulls!r:.40}"
    if np.isinf(result.values).any():
        yield "values must be finite"
    if result.complete and np.isnan(result.values).any():
        yield "values has no number for a player, though the run is complete"
    if np.isinf(result.standard_errors).any() or (result.standard_errors < 0).any():
        yield "standard_errors must be finite, and not negative"
    if not 0 < result.run.level_share <= 1:
        yield "level_share must be above 0, and at most 1"
    if result.exact:
        yield from _exact(result)


def _misfits(result: Result) -> Iterator[str]:
    """Return columns and references that do not fit the number of players."""
    evidence, game, run, players = result.evidence, result.game, result.run, result.n_players
    if players == 0:
        yield "values is empty: a result needs at least one player"
    columns: dict[str, Any] = {
        name: column
        for name, column in {**vars(evidence), **vars(run)}.items()
        if isinstance(column, np.ndarray) and name != "unseen"
    }
    columns |= {"player_names": evidence.player_names, "row_counts": game.row_counts}
    columns |= {f"the part {part.name}": part.values for part in (*run.parts, *run.scenarios)}
    for name, column in columns.items():
        if column is not None and len(column) != players:
            yield f"{name} must have one entry per player, as values"
    named = [*game.identical_players, *(found.players for found in game.copies)]
    named += [(remark.player,) for remark in game.remarks] + [
        (split.player,) for split in run.splits
    ]
    if any(not 0 <= player < players for group in named for player in group):
        yield f"identical_players or copies names a player that is not one of {players}"


def _exact(result: Result) -> Iterator[str]:
    """Check that exact values have no errors, and that Shapley values add up to v(N) − v(∅)."""
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
