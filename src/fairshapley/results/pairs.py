"""Who replaces whom, and who completes whom, in sentences and as a list."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics.text import quoted
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# A pair is named from this many standard errors on, when it is as large as the greater value of
# both, and this many times as far from what its players have with everybody as is usual. So many
# are named.
CLEAR, UNUSUAL, MOST_NAMED = 3.0, 3.0, 5


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
    ["'0' and '1' replace each other: each adds 1 less when the other is present"]
    """
    listed, names = pairs_list(result), result.names()
    if not listed:
        return []
    values = dict(zip(names, np.abs(result.values).tolist(), strict=True))
    sizes = np.array([one["interaction"] for one in listed])
    beyond, least = sizes, 0.0
    if len(names) > 3:  # what a pair has beyond what its players have with everybody
        of = {
            name: float(np.median([one["interaction"] for one in listed if name in one["players"]]))
            for name in names
        }
        usual = [sum(of[name] for name in one["players"]) for one in listed]
        beyond = sizes - (np.array(usual) - np.median(sizes))
        least = UNUSUAL * float(np.median(np.abs(beyond)))
    sentences = []
    for one, extra in zip(listed, beyond.tolist(), strict=True):
        size, error = abs(one["interaction"]), one["standard_error"]
        large = size >= max(values[name] for name in one["players"]) and size > 0
        if large and size > CLEAR * error and extra * one["interaction"] > 0 and abs(extra) > least:
            replaces = one["interaction"] < 0
            about = f" ± {number(error, 2)}" if error > 0 else ""
            sentences.append(
                f"{quoted(one['players'])} {'replace' if replaces else 'complete'} each other: "
                f"each adds {number(size)}{about} {'less' if replaces else 'more'} when the "
                "other is present"
            )
    return sentences[:MOST_NAMED]
