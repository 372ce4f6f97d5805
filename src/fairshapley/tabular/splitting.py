"""Rows to score on, taken from a single table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.randomness import root_seed, side_generator


def split_rows(
    n_rows: int, test_size: float, seed: int, classes: NDArray[np.generic] | None = None
) -> tuple[IntArray, IntArray]:
    """Training rows and test rows, each in the order of the table.

    Parameters
    ----------
    n_rows
        The number of rows.
    test_size
        The share of test rows, below 1, or their number.
    seed
        Fixes the choice.
    classes
        With classes, each gives its share of test rows, and keeps one row for training.

    Examples
    --------
    >>> train, test = split_rows(10, 0.2, seed=0)
    >>> len(train), len(test)
    (8, 2)
    """
    wanted = _test_rows(n_rows, test_size)
    order = side_generator(root_seed(seed), "test rows").permutation(n_rows)
    if classes is None:
        test = np.sort(order[:wanted])
    else:
        # Spread over the classes: the k-th of c rows of a class is at (k − ½)/c.
        codes = np.unique(classes, return_inverse=True)[1][order]
        rank = np.empty(n_rows, dtype=np.int64)
        for code in range(int(codes.max()) + 1):
            rows = np.flatnonzero(codes == code)
            rank[rows] = np.arange(len(rows))
        counts = np.bincount(codes)[codes]
        place = (rank + 0.5) / counts
        place[rank == counts - 1] = 2.0  # one row of each class stays with the training rows
        first = np.lexsort((order, place))[:wanted]
        test = np.sort(order[first])
    train = np.setdiff1d(np.arange(n_rows), test)
    return train.astype(np.int64), test.astype(np.int64)


def _test_rows(n_rows: int, test_size: float) -> int:
    """How many rows are for scoring, or an InputError when none or all would be."""
    if math.isnan(test_size) or test_size <= 0:
        raise InputError(f"test_size must be a share such as 0.2 or a number, not {test_size:g}")
    if n_rows < 2:
        raise InputError(
            "one row is too few to learn from and to score on: give more rows, or others to score "
            "on with test="
        )
    if test_size < 1:
        return min(max(1, round(test_size * n_rows)), n_rows - 1)
    if test_size != round(test_size) or test_size >= n_rows:
        raise InputError(
            f"test_size must be a share below 1 or a number below the {n_rows:,} rows, not "
            f"{test_size:g}"
        )
    return int(test_size)


def sample_rows(n_rows: int, size: int, seed: int) -> IntArray:
    """So many rows drawn at random without replacement, in the order of the table.

    Examples
    --------
    >>> len(sample_rows(100, 10, seed=0))
    10
    """
    if size < 1:
        raise InputError(f"sample must be at least 1, not {size}")
    generator = side_generator(root_seed(seed), "sample of rows")
    rows: IntArray = np.sort(generator.permutation(n_rows)[:size]).astype(np.int64)
    return rows
