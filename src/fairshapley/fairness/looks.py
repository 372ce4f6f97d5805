"""When a run with an aim is looked at, and the share of δ that each look spends.

Looks are planned by the number of evaluations alone, never by a budget or by what was estimated, so
that a run without a budget, and one that is continued, have the same looks.
"""

from __future__ import annotations

import math

# The first look is planned when every player could have been left out once and put in once: before
# that no method has an estimate of everybody. Then evaluations grow by this factor from look to
# look; looking more often would stop a little earlier, and leave less level for each look.
FIRST_LOOK = 2.0
LOOK_GROWTH = 1.3
# After k looks 1 − c/(k + c) of δ is spent: about evenly over the first c looks (from 2 to 10
# evaluations per player, where most aims are reached), and ever less later, without an end.
EVEN_LOOKS = 6


def planned_look(number: int, n_players: int) -> int:
    """The evaluations at which a look is planned, the first being number 0.

    Examples
    --------
    >>> [planned_look(number, 10) for number in range(4)]
    [20, 26, 34, 44]
    """
    return math.ceil(FIRST_LOOK * n_players * LOOK_GROWTH**number - 1e-6)


def spent_share(evaluations: int, n_players: int) -> float:
    """The share of δ that planned looks have used up after a number of evaluations.

    Examples
    --------
    >>> [round(spent_share(evaluations, 10), 3) for evaluations in (19, 20, 25, 26, 100, 10_000)]
    [0.0, 0.143, 0.143, 0.25, 0.538, 0.8]
    """
    grown = evaluations / (FIRST_LOOK * n_players)
    if grown < 1:
        return 0.0
    looks = math.floor(math.log(grown) / math.log(LOOK_GROWTH) + 1e-9) + 1
    return 1.0 - EVEN_LOOKS / (looks + EVEN_LOOKS)
