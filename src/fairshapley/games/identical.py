"""Identical players: pairs found by content, and the groups that pairs make up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
    rows = range(lengths.pop())
    groups = equal_places(tuple(map(_content, (array[row] for array in arrays))) for row in rows)
    return tuple(pair for same in groups for pair in combinations(same, 2))


def _content(entry: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(np.ravel(entry).tolist())


def equal_places(keys: Iterable[Hashable]) -> list[list[int]]:
    """The places of each key among the keys, in the order in which they first come.

    Examples
    --------
    >>> equal_places(["x", "y", "x"])
    [[0, 2], [1]]
    """
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())


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
    return connected_components(links, directed=False)[1].astype(np.int64)


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
