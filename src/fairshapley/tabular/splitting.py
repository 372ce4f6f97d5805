"""Rows to score on, taken from a single table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.randomness import root_seed, side_generator
from fairshapley.tabular.columns import as_numbers, as_texts, kind_of
from fairshapley.tabular.target import column_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Split:
    """How test rows are chosen: at random, by whole groups, or the latest.

    Parameters
    ----------
    test_size, seed
        As for `split_rows`.
    by
        A column; rows with the same value stay together.
    time
        A column of dates, times or numbers; the latest rows are the test rows.
    """

    test_size: float
    seed: int
    by: str | None = None
    time: str | None = None

    def of(
        self, table: pa.Table, classes: NDArray[np.generic] | None
    ) -> tuple[IntArray, IntArray, str]:
        """Training rows, test rows, and in words how they were chosen."""
        n_rows = table.num_rows
        if self.by is not None and self.time is not None:
            raise InputError("give split_by= or split_time=, not both")
        if self.by is not None:
            texts = as_texts(column_of(table, self.by, "training", "split_by="))
            missing = np.array([text is None for text in texts])
            groups = np.unique(_complete(missing, texts, self.by), return_inverse=True)[1]
            train, test = split_groups(groups, self.test_size, self.seed)
            return train, test, f"whole groups by {self.by!r:.60} (seed {self.seed})"
        if self.time is not None:
            column = column_of(table, self.time, "training", "split_time=")
            if kind_of(self.time, column) not in ("numbers", "dates", "times"):
                raise InputError(
                    f"column {self.time!r:.60} (split_time=) holds no dates, times or numbers"
                )
            moments = as_numbers(column)
            moments = _complete(np.isnan(moments), moments, self.time)
            train, test = split_latest(moments, self.test_size)
            return train, test, f"the latest by {self.time!r:.60}"
        train, test = split_rows(n_rows, self.test_size, self.seed, classes)
        return train, test, f"drawn at random (seed {self.seed})"


def _complete(missing: BoolArray, values: NDArray[Any], name: str) -> NDArray[Any]:
    if missing.any():
        raise InputError(
            f"column {name!r:.60}, by which rows are split, is missing in row "
            f"{int(np.flatnonzero(missing)[0]) + 1}: give every row a value"
        )
    return values


def split_groups(groups: IntArray, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
    """Training rows and test rows; all rows of a group are on one side.

    Groups are taken in random order, each that brings the number of test rows nearer to the one
    wanted; at least one group is on each side.

    Examples
    --------
    >>> split_groups(np.array([0, 0, 1, 1, 2, 2]), 2, seed=0)
    (array([0, 1, 4, 5]), array([2, 3]))
    """
    wanted, sizes = _test_rows(len(groups), test_size), np.bincount(groups)
    if len(sizes) < 2:
        raise InputError("all rows are of one group, which cannot be split: leave split_by= out")
    held: list[int] = []
    total = 0
    for group in side_generator(root_seed(seed), "test rows").permutation(len(sizes)).tolist():
        nearer = abs(total + sizes[group] - wanted) < abs(total - wanted)
        if (nearer or not held) and len(held) < len(sizes) - 1:
            held.append(group)
            total += int(sizes[group])
    inside = np.isin(groups, held)
    return np.flatnonzero(~inside), np.flatnonzero(inside)


def split_latest(moments: FloatArray, test_size: float) -> tuple[IntArray, IntArray]:
    """Training rows and the latest rows; those of one moment are on one side.

    Examples
    --------
    >>> split_latest(np.array([3.0, 1.0, 2.0, 3.0]), 1)
    (array([1, 2]), array([0, 3]))
    """
    wanted = _test_rows(len(moments), test_size)
    first = np.sort(moments)[-wanted]
    if first == moments.min():  # so many rows have the first moment that none would be left
        later = moments[moments > first]
        if not len(later):
            raise InputError("all rows are of one moment: leave split_time= out")
        first = later.min()
    inside = moments >= first
    return np.flatnonzero(~inside), np.flatnonzero(inside)


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
