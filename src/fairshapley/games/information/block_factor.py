"""Log determinants of many principal blocks of one positive definite matrix.

Every player owns some rows of a matrix A; the determinant of A_S, the rows and columns of the
players of S, is wanted for many S. Players are eliminated in their order, and what coalitions
share is computed once:

- Among the last players, the *tail*, the whole Schur complement of the players behind is kept at
  every step. All 2ᵗ coalitions of the tail take one small factor and one update each, and half of
  those updates concern one player, a quarter two, and so on.
- The players before, the *head*, are cut into panels, and a triangular factor is extended by the
  members of one panel at a time. Coalitions are sorted, so that those with the same members in the
  first panels follow each other and share their factor.

What is computed for a coalition, and in which order, depends on the coalition alone: its bits are
the same in every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.games.game import members

Block: TypeAlias = Callable[[slice | IntArray, slice | IntArray], FloatArray]
"""Some rows and columns of the matrix"""


class NotPositiveDefiniteError(Exception):
    """A block that has no triangular factor; the argument is the coalition."""


class BlockFactor:
    """Log determinants of the blocks of a matrix, for batches of coalitions.

    Examples
    --------
    >>> matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> factor = BlockFactor([1, 1], lambda rows, columns: matrix[rows, columns])
    >>> np.exp(factor.log_determinants(np.array([[False, False], [False, True], [True, True]])))
    array([1., 2., 3.])
    """

    # The complements of a tail are kept side by side: 2**24 doubles are 128 MiB.
    tail_entries: ClassVar[int] = 1 << 24
    # A coalition that shares nothing pays for updates of players it has not. With 12 players they
    # cost no more than the factor of all of them.
    tail_players: ClassVar[int] = 12
    # With more players than this a batch is too small a part of all coalitions to share much, and
    # there is no tail: at 16 players 4000 random coalitions took 0.3 of the time of factors of
    # their own, at 20 players 500 took 1.7 times as long.
    most_players_with_tail: ClassVar[int] = 16
    # Panels of this many rows: fewer make many small products, which are slow.
    panel_rows: ClassVar[int] = 256

    def __init__(self, sizes: Sequence[int], block: Block) -> None:
        self._sizes: IntArray = np.array(sizes, dtype=np.int64)
        self._ends = np.cumsum(self._sizes)
        self.block = block
        few = len(sizes) <= self.most_players_with_tail
        self.head = _head(sizes, self.tail_players if few else 0, self.tail_entries)
        """The number of players before the tail"""
        self.panels = _panels(sizes[: self.head], self.panel_rows)
        """The head players that join the factor together"""
        behind = int(self._sizes[self.head :].sum())
        self.tail = slice(int(self._ends[-1]) - behind, int(self._ends[-1]))

    def rows(self, mask: BoolArray, first: int) -> IntArray:
        """The rows of the members among the players from `first` on."""
        players = np.flatnonzero(mask) + first
        starts = self._ends[players] - self._sizes[players]
        sizes = self._sizes[players]
        # One range of rows after another: a running number, less what the ranges before took.
        before = np.cumsum(sizes) - sizes
        return np.arange(sizes.sum()) + np.repeat(starts - before, sizes)

    def log_determinants(self, masks: BoolArray) -> FloatArray:
        """The log determinant of the block of each coalition; 0 for the empty one."""
        if len(masks) == 0:
            return np.empty(0)
        # Packed bits sort as the masks do, player 0 first, the absent before the present.
        _, first, inverse = np.unique(
            np.packbits(masks, axis=1), axis=0, return_index=True, return_inverse=True
        )
        patterns = masks[first]
        values = np.zeros(len(patterns))
        walk = _HeadFactor(self, int((patterns[:, : self.head] @ self._sizes[: self.head]).max()))
        changes = (patterns[1:, : self.head] != patterns[:-1, : self.head]).any(axis=1)
        starts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(patterns)]
        for low, high in pairwise(starts):
            part = patterns[low:high]
            walk.move(part[0])
            values[low:high] = walk.logs[-1]
            if part[:, self.head :].any():  # never without a tail
                self._tail(walk.complement(), self.head, part, values[low:high])
        return values[inverse.ravel()]

    def _tail(
        self, complement: FloatArray, player: int, patterns: BoolArray, values: FloatArray
    ) -> None:
        """Add what the players from `player` on do, given the complement of those before."""
        while player < len(self._sizes) and not patterns[:, player].any():
            size = int(self._sizes[player])
            complement, player = complement[size:, size:], player + 1
        if player == len(self._sizes):
            return
        size = int(self._sizes[player])
        without = len(patterns) - int(patterns[:, player].sum())
        if without:
            behind = complement[size:, size:]
            self._tail(behind, player + 1, patterns[:without], values[:without])
        factor = lower_factor(complement[:size, :size], patterns[-1])
        values[without:] += log_diagonal(factor)
        if patterns[without:, player + 1 :].any():
            solved = dtrsm(1.0, factor, complement[:size, size:], lower=1)
            behind = complement[size:, size:] - solved.T @ solved
            self._tail(behind, player + 1, patterns[without:], values[without:])


class _HeadFactor:
    """The triangular factor of one coalition of head players, moved from one to the next."""

    def __init__(self, owner: BlockFactor, n_rows: int) -> None:
        self._owner = owner
        self._factor = np.zeros((n_rows, n_rows), order="F")
        self._rows: IntArray = np.zeros(n_rows, dtype=np.int64)
        self._panels: list[BoolArray] = []
        self._ends = [0]
        self.logs = [0.0]

    def move(self, mask: BoolArray) -> None:
        """Keep the panels that the coalitions share, and add the others one by one."""
        panels = [mask[panel] for panel in self._owner.panels]
        shared = 0
        for old, new in zip(self._panels, panels, strict=False):
            if not np.array_equal(old, new):
                break
            shared += 1
        del self._panels[shared:], self._ends[shared + 1 :], self.logs[shared + 1 :]
        for panel in panels[shared:]:
            self._extend(panel, mask)

    def _extend(self, panel: BoolArray, mask: BoolArray) -> None:
        owner, start = self._owner, self._ends[-1]
        rows = owner.rows(panel, owner.panels[len(self._panels)].start)
        end, log = start + len(rows), self.logs[-1]
        if len(rows):
            block = owner.block(rows, rows)
            if start:
                solved = self._solve(rows)
                block = block - solved.T @ solved
                self._factor[start:end, :start] = solved.T
            factor = lower_factor(block, mask)
            self._factor[start:end, start:end] = factor
            self._rows[start:end] = rows
            log += log_diagonal(factor)
        self._panels.append(panel)
        self._ends.append(end)
        self.logs.append(log)

    def complement(self) -> FloatArray:
        """The Schur complement of the tail."""
        tail = self._owner.tail
        block = self._owner.block(tail, tail)
        if not self._ends[-1]:
            return block
        solved = self._solve(tail)
        return block - solved.T @ solved

    def _solve(self, columns: slice | IntArray) -> FloatArray:
        """L⁻¹ times the columns of the matrix, in the rows of the coalition."""
        known = self._ends[-1]
        right = self._owner.block(self._rows[:known], columns)
        return dtrsm(1.0, self._factor[:known, :known], right, lower=1)


def _head(sizes: Sequence[int], tail_players: int, tail_entries: int) -> int:
    """How many players come before the tail."""
    head, behind, entries = len(sizes), 0, 0
    while head > 0 and len(sizes) - head < tail_players:
        behind += sizes[head - 1]
        entries += behind * behind
        if entries > tail_entries:
            break
        head -= 1
    return head


def _panels(sizes: Sequence[int], panel_rows: int) -> list[slice]:
    """Consecutive players with at least `panel_rows` rows together, but for the last."""
    panels, start, n_rows = [], 0, 0
    for player, size in enumerate(sizes):
        n_rows += size
        if n_rows >= panel_rows or player == len(sizes) - 1:
            panels.append(slice(start, player + 1))
            start, n_rows = player + 1, 0
    return panels


def lower_factor(block: FloatArray, mask: BoolArray) -> FloatArray:
    """The triangular factor of a block, or an error that names the coalition."""
    factor, failed = dpotrf(block, lower=1, clean=1)
    if failed:
        raise NotPositiveDefiniteError(members(mask))
    return factor


def log_diagonal(factor: FloatArray) -> float:
    """The log determinant of a matrix with this triangular factor."""
    return 2.0 * float(np.log(np.diagonal(factor)).sum())
