"""The ledger: what a run's utilities are, what they cost, and what is journalled."""

from __future__ import annotations

import math

import numpy as np

from fairshapley._basics import bits, checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import GameError
from fairshapley.evaluation.block import Block, JournalSlot, OnError, Tally
from fairshapley.evaluation.cache import Cache
from fairshapley.evaluation.dispatch import Chunk, Split
from fairshapley.evaluation.failures import failure, reason_of, shorten
from fairshapley.evaluation.pace import Pace
from fairshapley.evaluation.replicates import Replicates, packed_rows
from fairshapley.games.game import members

# Variances are sums of squares, of weighted contributions and of their rounding errors, and must
# stay between 1e−308 and 1e308. So utilities have a largest size, and the largest utility of a game
# a least one; beside that one, those below NEGLIGIBLE are 0 to thirty digits and are taken as 0.
LARGEST_UTILITY, LEAST_SCALE = 1e120, 1e-120
NEGLIGIBLE = 1e-150


class Ledger:
    """Takes what chunks bring: journals it at once, counts and remembers it block by block.

    Parameters
    ----------
    cache
        The memory of the run.
    n_players
        The number of players; the keys are those of the cache's players, the first of them.
    slot, on_error
        As for the evaluator.
    pace
        Learns of chunks that were too large.
    replicates
        Where the replicates of a game are kept that has them.
    value_range
        Between which numbers the game says that its utilities lie.
    """

    def __init__(
        self,
        cache: Cache,
        n_players: int,
        slot: JournalSlot | None,
        on_error: OnError,
        pace: Pace,
        replicates: Replicates | None = None,
        value_range: tuple[float, float] | None = None,
    ) -> None:
        self.cache = cache
        self.n_players = n_players
        self.slot = slot
        self.on_error = on_error
        self.pace = pace
        self.replicates = replicates
        self._range = None if value_range is None else checks.with_slack(value_range)
        self.tally = Tally()
        self.remember = True
        """Whether the round fits the cache"""
        self.pending: set[bytes] = set()
        """Coalitions of blocks that are not settled yet"""
        self._failures: dict[bytes, str] | None = None
        self._looked = False
        """Whether this run has seen what the journal held before"""

    def read_journal(self, block: Block) -> IntArray:
        """Take what the journal knows of a block; the rows that are left.

        Failures are known too, when they are to be skipped.
        """
        if self.slot is None:
            return block.rows
        journal, game = self.slot.journal, self.slot.game
        # What this run has journalled is in its cache, as long as that forgets nothing.
        refresh = not self._looked or self.cache.forgetful
        values = journal.find(game, block.packed[block.rows], refresh=refresh)
        self._looked = True
        known = ~np.isnan(values)
        found, left = block.rows[known], block.rows[~known]
        block.values[found] = self._accept(values[known])
        if self.replicates is not None:
            keys = bits.packed_keys(block.packed[found])
            self.replicates.add_packed(journal.replicates(game, keys))
        if self.on_error == "skip":
            if self._failures is None:
                self._failures = journal.failures(game)
            for row, key in zip(left.tolist(), bits.packed_keys(block.packed[left]), strict=True):
                if key in self._failures:
                    block.failures[row] = self._failures[key]
            left = left[[row not in block.failures for row in left.tolist()]]
        return left

    def journal(self, chunk: Chunk) -> None:
        """Keep what is a number, as soon as it is there."""
        values = chunk.values
        assert values is not None  # noqa: S101 - chunks without come to nothing here
        usable = np.abs(values) <= LARGEST_UTILITY  # false for NaN as well
        if self._range is not None:
            usable &= (self._range[0] <= values) & (values <= self._range[1])
        if not usable.all():
            chunk.unusable = np.flatnonzero(~usable)
        if self.slot is not None:
            journal, game = self.slot.journal, self.slot.game
            journal.append(game, chunk.packed[usable], values[usable])
            if (rows := self._replicates(chunk)) is not None and self.replicates is not None:
                journal.append_replicates(game, self.replicates.wanted(rows))
        self.tally.computed += len(values) - len(chunk.unusable)

    def _replicates(self, chunk: Chunk) -> dict[bytes, bytes] | None:
        if self.replicates is None or chunk.replicates is None:
            return None
        return packed_rows(bits.packed_keys(chunk.packed), chunk.replicates)

    def settle(self, block: Block) -> bool:
        """Take what the chunks brought, in order; whether all have brought it."""
        while block.leaves:
            chunk = block.leaves[0]
            if chunk.halves is not None:
                block.leaves[:1] = chunk.halves
                continue
            if not chunk.done:
                return False
            failed = len(block.failures)
            self._take(block, chunk)
            self._close(chunk.split, clean=len(block.failures) == failed)
            del block.leaves[0]
        return True

    def _take(self, block: Block, chunk: Chunk) -> None:
        if chunk.values is None:
            if isinstance(chunk.error, GameError) and chunk.error.coalition is None:
                raise chunk.error
            self._fail(block, chunk, 0, reason_of(chunk.error))
            return
        block.values[chunk.rows] = self._accept(chunk.values)
        if (rows := self._replicates(chunk)) is not None and self.replicates is not None:
            self.replicates.add_packed(rows)
        for at in chunk.unusable.tolist():
            value = float(chunk.values[at])
            self._fail(block, chunk, at, f"it returned {value}{_beyond(value)}")

    def _accept(self, values: FloatArray) -> FloatArray:
        """Utilities as the run takes them; the largest is noted."""
        sizes = np.abs(values)
        largest = float(sizes.max(initial=0.0))
        if not largest <= LARGEST_UTILITY:  # or NaN
            largest = float(sizes[sizes <= LARGEST_UTILITY].max(initial=0.0))
        self.tally.largest = max(self.tally.largest, largest)
        return np.where(sizes < NEGLIGIBLE, 0.0, values)

    def _fail(self, block: Block, chunk: Chunk, at: int, reason: str) -> None:
        """NaN when failures are to be skipped, else a GameError; recorded either way."""
        if self.slot is not None:
            [key] = bits.packed_keys(chunk.packed[at : at + 1])
            self.slot.journal.append_failure(self.slot.game, key, reason)
        if self.on_error == "raise":
            raise failure(chunk.masks[at][: self.n_players], reason) from chunk.error
        self.tally.computed += 1
        row = int(chunk.rows[at])
        block.values[row] = math.nan
        block.failures[row] = reason

    def _close(self, split: Split | None, *, clean: bool) -> None:
        """Part of a chunk that failed is settled; perhaps all of it."""
        while split is not None:
            split.clean = split.clean and clean
            split.unsettled -= 1
            if split.unsettled:
                return
            if split.clean:
                self.tally.recovered += 1
                self.pace.too_large(split.count)
            clean = split.clean
            split = split.parent

    def conclude(self, block: Block) -> None:
        """Count and remember the values of a settled block."""
        for row in sorted(block.failures):
            if not self.tally.skipped:
                coalition = shorten(members(block.masks[row, : self.n_players]))
                self.tally.first_failure = f"coalition {coalition}: {block.failures[row]}"
            self.tally.skipped += 1
        # Without memory the blocks do not know of each other: count as if each were one row.
        new = len(block.rows) + (0 if self.remember else len(block.again))
        self.tally.evaluations += new
        self.tally.cost += block.cost
        self.tally.cache_hits += len(block) - new
        for key, row in block.again:
            at = block.first.get(key)
            block.values[row] = self.cache.get(key) if at is None else block.values[at]
        if self.remember and block.first:
            values = block.values[list(block.first.values())].tolist()
            self.cache.update(zip(block.first, values, strict=True))
            if self.pending:
                self.pending.difference_update(block.first)


def _beyond(value: float) -> str:
    """What is wrong with a number that cannot be taken; empty for NaN and infinity."""
    if not math.isfinite(value):
        return ""
    if abs(value) > LARGEST_UTILITY:
        return (
            f", more than the {LARGEST_UTILITY:.0e} that can be squared: divide all utilities "
            "by the same number"
        )
    return (
        ", which is outside the value_range that the game states: give the lowest and the "
        "highest utility there can be, or leave value_range out"
    )
