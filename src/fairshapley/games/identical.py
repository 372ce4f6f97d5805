"""Identical players: pairs found by content, and the groups that pairs make up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fairshapley._basics.types import IntArray
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


def group_numbers(pairs: Sequence[tuple[int, int]], n_players: int) -> IntArray:
    """The group of each player, numbered by their first members; one alone is a group.

    Examples
    --------
    >>> group_numbers([(0, 2), (2, 4), (3, 5)], 6)
    array([0, 1, 0, 2, 0, 2])
    """
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    shape = (n_players, n_players)
    links = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)
    group: IntArray = connected_components(links, directed=False)[1].astype(np.int64)
    return group


def identical_groups(pairs: Sequence[tuple[int, int]], n_players: int) -> list[list[int]]:
    """The players of each group, in order; one alone is a group.

    Examples
    --------
    >>> identical_groups([(0, 2), (2, 4), (3, 5)], 6)
    [[0, 2, 4], [1], [3, 5]]
    """
    numbers = group_numbers(pairs, n_players)
    ends = np.cumsum(np.bincount(numbers))[:-1]
    return [part.tolist() for part in np.split(np.argsort(numbers, kind="stable"), ends)]
