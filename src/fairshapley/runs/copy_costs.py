"""What copies of data earn and cost: values without them, from coalitions that are known anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.evaluation.cache import Cache
from fairshapley.results.records import Copies
from fairshapley.runs.known_coalitions import most_coalitions, value_errors, values_from
from fairshapley.semivalues import Semivalue

# More groups of copies are named without what they cost.
MOST_GROUPS = 10


def copies_with_costs(
    found: Sequence[Copies],
    cache: Cache,
    semivalue: Semivalue,
    values: FloatArray,
    errors: FloatArray,
) -> tuple[Copies, ...]:
    """Groups of copies with what they earn and what the others lose.

    The game without the copies is the game on the coalitions that hold none of them.

    Parameters
    ----------
    found
        The groups.
    cache
        The utilities that the run knows.
    semivalue, values, errors
        What was estimated, the values with the copies, and their standard errors.
    """
    n_players = len(values)
    if not found or cache.n_players != n_players or np.isnan(values).any():
        return tuple(found)
    keys, utilities = cache.entries()
    step = -(-len(keys) // max(1, most_coalitions(n_players)))
    masks, known = bits.from_keys(keys[::step], n_players), utilities[::step, None]
    return tuple(
        _with_costs(one, masks, known, semivalue, values, errors) if at < MOST_GROUPS else one
        for at, one in enumerate(found)
    )


def _with_costs(
    one: Copies,
    masks: BoolArray,
    known: FloatArray,
    semivalue: Semivalue,
    values: FloatArray,
    errors: FloatArray,
) -> Copies:
    first, *copies = one.players
    kept = np.delete(np.arange(len(values)), copies)
    without = ~masks[:, copies].any(axis=1) & ~np.isnan(known[:, 0])
    if len(kept) < 2:
        return one
    honest = values_from(masks[without][:, kept], known[without], semivalue)
    if honest is None:
        return one
    alone = dict(zip(kept.tolist(), honest[:, 0].tolist(), strict=True))
    together = float(values[list(one.players)].sum())
    others = [player for player in kept.tolist() if player != first]
    lost = sum(alone[player] - float(values[player]) for player in others)
    without_copies = masks[without][:, kept]
    errors_alone = value_errors(without_copies, known[without, 0], honest[:, 0], semivalue)
    # Errors of the copies may have one cause, and then they add up.
    error = math.hypot(errors[list(one.players)].sum(), errors_alone[kept == first][0])
    return one._replace(earned=together - alone[first], lost=lost, error=error)
