"""Who replaces whom, and who completes whom, in sentences and as a list."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.text import quoted
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# A pair is named from this many standard errors on, when it is this share of the lesser value of
# both, and this many times the typical pair. So many are named.
CLEAR, LARGE, UNUSUAL, MOST_NAMED = 3.0, 0.5, 3.0, 5


def pairs_list(result: Result) -> list[dict[str, Any]]:
    """Return the pairs whose interaction is known, the largest first.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.TableGame([0, 1, 1, 1]), pairs=True)
    >>> pairs_list(result)
    [{'players': ['0', '1'], 'interaction': -1.0, 'standard_error': 0.0}]
    """
    found, errors, names = result.run.pairs, result.run.pair_errors, result.names()
    if found is None or errors is None:
        return []
    order = sorted(combinations(range(len(names)), 2), key=lambda pair: -abs(found[pair]))
    return [
        {
            "players": [names[player] for player in pair],
            "interaction": float(found[pair]),
            "standard_error": float(errors[pair]),
        }
        for pair in order
    ]


def pair_sentences(result: Result) -> list[str]:
    """Say which pairs replace or complete each other far more than the others do.

    Examples
    --------
    >>> import fairshapley as fs
    >>> pair_sentences(fs.exact(fs.games.TableGame([0, 1, 1, 1]), pairs=True))
    ["'0' and '1' replace each other: each adds 1 less where the other is there"]
    """
    listed, values = pairs_list(result), np.abs(result.values)
    if not listed:
        return []
    lesser = dict(zip(result.names(), values.tolist(), strict=True))
    # Among three players and fewer no pair is typical.
    typical = np.median([abs(one["interaction"]) for one in listed]) if len(listed) > 3 else 0.0
    sentences = []
    for one in listed:
        size, error = abs(one["interaction"]), one["standard_error"]
        least = LARGE * min(lesser[name] for name in one["players"])
        if size > CLEAR * error and size >= max(least, UNUSUAL * typical) > 0:
            replaces = one["interaction"] < 0
            about = f" ± {number(error, 2)}" if error > 0 else ""
            sentences.append(
                f"{quoted(one['players'])} {'replace' if replaces else 'complete'} each other: "
                f"each adds {number(size)}{about} {'less' if replaces else 'more'} where the "
                "other is there"
            )
    return sentences[:MOST_NAMED]
