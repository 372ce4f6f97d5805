"""Identical players of data games, found by content."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from fairshapley.errors import InputError


def identical_rows(*columns: ArrayLike) -> tuple[tuple[int, int], ...]:
    """The pairs of rows with the same content in all of the given arrays (features, labels, …).

    Training points that are equal are interchangeable to any learner that does not look at their
    order, so that axiom A2 asks for equal values. Give the pairs to a game as
    ``identical_players``; results then report them.

    Examples
    --------
    >>> identical_rows([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], [0, 1, 0])
    ((0, 2),)
    """
    arrays = [np.asarray(column) for column in columns]
    if not arrays or any(array.ndim == 0 for array in arrays):
        raise InputError("give at least one array with a row for each player")
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise InputError(f"the arrays must have the same number of rows, not {sorted(lengths)}")
    groups: dict[tuple[object, ...], list[int]] = {}
    for row in range(lengths.pop()):
        content = tuple(tuple(np.ravel(array[row]).tolist()) for array in arrays)
        groups.setdefault(content, []).append(row)
    return tuple(pair for rows in groups.values() for pair in combinations(rows, 2))
