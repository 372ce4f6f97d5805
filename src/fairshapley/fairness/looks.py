"""When a run that is to become fair is looked at, and the share of δ that each look spends."""

from __future__ import annotations

import math

# A run that is to become fair is looked at when it has spent this share of its budget, this share
# squared, and so on; each look spends the level of what was spent since the last one. Looking more
# often would stop a little earlier but leave less level for each look.
LOOK_SHARE = 2 / 3


def spent_share(evaluations: int, limit: float) -> float:
    """The share of δ that planned looks have used up after `evaluations` of at most `limit`.

    Looks are planned at LOOK_SHARE, LOOK_SHARE², … of the budget.

    Examples
    --------
    >>> [round(spent_share(evaluations, 900), 3) for evaluations in (0, 399, 401, 601, 900)]
    [0.0, 0.296, 0.444, 0.667, 0.667]
    """
    used = evaluations / limit
    if used < LOOK_SHARE**20:  # 0.03 % of the budget
        return 0.0
    return LOOK_SHARE ** max(1, math.ceil(math.log(used) / math.log(LOOK_SHARE)))
