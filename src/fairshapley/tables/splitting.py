"""Rows to score on, taken from a single table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from fairshapley._basics.checks import real, whole
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.randomness import root_seed, side_generator
from fairshapley.tables.columns import as_numbers, check_complete, column_of, kind_of, texts_of

if TYPE_CHECKING:
    import pyarrow as pa


def split_table(
    table: pa.Table,
    classes: NDArray[np.generic] | None,
    test_size: float,
    seed: int,
    by: str | None = None,
    time: str | None = None,
) -> tuple[IntArray, IntArray, str]:
    """Return training rows, test rows, and in words how they were chosen.

    Parameters
    ----------
    table, classes, test_size, seed
        The rows; the others as for `split_rows`.
    by
        A column; rows with the same value stay together. The share of groups among the test rows
        is that of the rows asked for; at least one group is on each side.
    time
        A column of dates, times or numbers; the latest rows are the test rows, and rows of one
        moment are on one side.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"day": [3.0, 1.0, 2.0, 3.0], "shop": ["a", "b", "b", "b"]})
    >>> split_table(rows, None, 1, 0, time="day")[:2]
    (array([1, 2]), array([0, 3]))
    >>> train, test, _ = split_table(rows, None, 1, 0, by="shop")
    >>> sorted([len(train), len(test)])
    [1, 3]
    """
    if by is not None and time is not None:
        raise InputError("there are two ways to split", remedy="give {split_by} or {split_time}")
    if by is not None:
        groups = np.array(texts_of(table, by, "training", "split_by="))
        n_groups, share = len(np.unique(groups)), _test_rows(len(groups), test_size) / len(groups)
        if n_groups < 2:
            raise InputError("all rows are of one group", remedy="leave {split_by} out")
        held = min(max(1, round(n_groups * share)), n_groups - 1)
        split = GroupShuffleSplit(1, test_size=held, random_state=root_seed(seed) % 2**32)
        train, test = next(split.split(groups, groups=groups))
        return np.sort(train), np.sort(test), f"whole groups by {by!r:.60} (seed {seed})"
    if time is not None:
        column = column_of(table, time, "training", "split_time=")
        if kind_of(time, column) not in ("numbers", "dates", "times"):
            raise InputError(
                f"must be a column of dates, times or numbers, and {time!r:.60} holds none",
                parameter="split_time",
            )
        moments = as_numbers(column)
        check_complete(np.isnan(moments), time, "training")
        later = np.unique(moments)[1:]
        if not len(later):
            raise InputError("all rows are of one moment", remedy="leave {split_time} out")
        first = max(np.sort(moments)[-_test_rows(len(moments), test_size)], later[0])
        train, test = (np.flatnonzero(side) for side in (moments < first, moments >= first))
        return train, test, f"the latest by {time!r:.60}"
    return *split_rows(table.num_rows, test_size, seed, classes), f"drawn at random (seed {seed})"


def split_rows(
    n_rows: int, test_size: float, seed: int, classes: NDArray[np.generic] | None = None
) -> tuple[IntArray, IntArray]:
    """Return training rows and test rows, each in the order of the table.

    Parameters
    ----------
    n_rows
        The number of rows.
    test_size
        The share of test rows, below 1, or their number.
    seed
        Fixes the choice.
    classes
        With classes, each gives its share of test rows where there are enough rows; the row of a
        class that is there once stays with the training rows.

    Examples
    --------
    >>> train, test = split_rows(10, 0.2, seed=0)
    >>> len(train), len(test)
    (8, 2)
    """
    wanted, rows, strata = _test_rows(n_rows, test_size), np.arange(n_rows), None
    if classes is not None:
        codes, counts = np.unique(classes, return_inverse=True, return_counts=True)[1:]
        several = np.flatnonzero(counts[codes] > 1)
        if wanted < len(several):
            rows = several
            if (counts > 1).sum() <= min(wanted, len(rows) - wanted):
                strata = codes[rows]
    test = train_test_split(
        rows, test_size=wanted, random_state=root_seed(seed) % 2**32, stratify=strata
    )[1]
    return np.setdiff1d(np.arange(n_rows), test), np.sort(test)


def _test_rows(n_rows: int, test_size: float) -> int:
    """Return how many rows are for scoring; raise InputError when none or all would be."""
    real("test_size", test_size, above=0)
    if n_rows < 2:
        raise InputError(
            "one row is too few to learn from and to score on",
            remedy=("give more rows", "give others to score on with {test}"),
        )
    if test_size < 1:
        return min(max(1, round(test_size * n_rows)), n_rows - 1)
    return whole("test_size", test_size, most=n_rows - 1, remedy="give a share below 1")


def sample_rows(n_rows: int, size: int, seed: int) -> IntArray:
    """Return row numbers drawn at random without replacement, in the order of the table.

    Examples
    --------
    >>> len(sample_rows(100, 10, seed=0))
    10
    """
    generator = side_generator(root_seed(seed), "sample of rows")
    return np.sort(generator.permutation(n_rows)[: whole("sample", size)]).astype(np.int64)
