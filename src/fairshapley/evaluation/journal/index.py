"""Utilities in memory, found by their coalitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.evaluation.journal.hashes import Words


class _Run(NamedTuple):
    """Rows in the order of the first word of their hashes; equal ones in that of their arrival."""

    first: Words
    second: Words
    values: FloatArray

    def joined(self, later: _Run) -> _Run:
        columns = [np.concatenate(pair) for pair in zip(self, later, strict=True)]
        order = np.argsort(columns[0], kind="stable")  # of sorted runs this is a merge
        return _Run(*(column[order] for column in columns))


class Index(NamedTuple):
    """The utilities of a game up to a batch: 24 bytes for each, whatever the number of players.

    Nothing in it changes, so that a failure in the middle of adding rows leaves it whole.

    Examples
    --------
    >>> hashes = np.array([[7, 1], [5, 1], [7, 2]], dtype=np.uint64)
    >>> index = Index().added(1, hashes, np.array([0.5, 1.0, 2.0]))
    >>> index = index.added(2, hashes[:1], np.array([9.0]))
    >>> index.find(np.array([[7, 2], [7, 1], [6, 1]], dtype=np.uint64))
    array([2. , 0.5, nan])
    """

    last: int = -1
    """The last batch that is in it; they are numbered from 0"""
    runs: tuple[_Run, ...] = ()
    """The oldest rows first; each run is more than twice as long as the next"""

    def added(self, last: int, hashes: Words, values: FloatArray) -> Index:
        """The index with the rows of later batches."""
        first, second = hashes.T
        order = np.argsort(first)
        if (first[order[1:]] == first[order[:-1]]).any():
            order = np.argsort(first, kind="stable")  # which takes 4 times as long
        newest = _Run(first[order], second[order], values[order])
        runs = list(self.runs)
        while runs and len(runs[-1].values) <= 2 * len(newest.values):
            newest = runs.pop().joined(newest)
        return Index(last, (*runs, newest))

    def find(self, hashes: Words) -> FloatArray:
        """The first utility of each coalition, NaN where there is none."""
        found = np.full(len(hashes), np.nan)
        order = np.argsort(hashes[:, 0])  # so that neighbours are near each other in memory
        for run in reversed(self.runs):  # so that the oldest value is the one that stays
            left, at = order, np.searchsorted(run.first, hashes[order, 0])
            while len(left):
                inside = at < len(run.first)
                left, at = left[inside], at[inside]
                same = run.first[at] == hashes[left, 0]
                left, at = left[same], at[same]
                hit = run.second[at] == hashes[left, 1]
                found[left[hit]] = run.values[at[hit]]
                left, at = left[~hit], at[~hit] + 1
        return found
