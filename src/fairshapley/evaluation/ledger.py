"""The ledger: what a run's utilities are, what they cost, and what is journalled."""

from __future__ import annotations

import math

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import GameError
from fairshapley.evaluation.block import Block, JournalSlot, OnError, Tally
from fairshapley.evaluation.cache import Cache
from fairshapley.evaluation.dispatch import Chunk, Split
from fairshapley.evaluation.failures import failure, reason_of, shorten
from fairshapley.evaluation.noise import Noise
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
    noise
        The draws of a random game, whose keys hold seeds.
    """

    def __init__(
        self,
        cache: Cache,
        n_players: int,
        slot: JournalSlot | None,
        on_error: OnError,
        pace: Pace,
        replicates: Replicates | None = None,
        noise: Noise | None = None,
    ) -> None:
        self.cache = cache
        self.n_players = n_players
        self.slot = slot
        self.on_error = on_error
        self.pace = pace
        self.replicates = replicates
        self.noise = noise
        self.tally = Tally()
        self.remember = True
        """Whether the round fits the cache"""
        self.pending: set[bytes] = set()
        """Coalitions of blocks that are not settled yet"""
        self._failures: dict[bytes, str] | None = None

    def mask(self, key: bytes) -> BoolArray:
        """A coalition of a key, without null players; of a random game, with its seed."""
        if self.noise is not None:
            return self.noise.mask(key)
        mask = np.zeros(self.n_players, dtype=bool)
        active = self.cache.n_players
        mask[:active] = bits.from_keys([key], active)[0]
        return mask

    def read_journal(self, block: Block) -> None:
        """What the journal holds, with NaN for failures when they are to be skipped."""
        if self.slot is None:
            return
        found = self.slot.journal.lookup(self.slot.game, list(block.first))
        if found:
            values = np.fromiter(found.values(), np.float64, len(found))
            block.fresh.update(zip(found, self._accept(values, np.abs(values)), strict=True))
            if self.replicates is not None:
                kept = self.slot.journal.replicates(self.slot.game, list(found))
                self.replicates.add_packed(kept)
        if self.on_error == "skip":
            if self._failures is None:
                self._failures = self.slot.journal.failures(self.slot.game)
            for key in block.first if self._failures else ():
                if key in self._failures and key not in block.fresh:
                    block.fresh[key] = math.nan
                    block.failures[key] = self._failures[key]

    def journal(self, chunk: Chunk) -> None:
        """Keep what is a number, as soon as it is there."""
        keys, values = chunk.keys, chunk.outcome()
        sizes = np.abs(values)
        usable = sizes <= LARGEST_UTILITY  # false for NaN as well
        if not usable.all():
            keys = [key for key, ok in zip(keys, usable, strict=True) if ok]
            chunk.unusable = np.flatnonzero(~usable).tolist()
            sizes = np.where(usable, sizes, np.nan)
        if self.slot is not None:
            self.slot.journal.append(self.slot.game, keys, values[usable].tolist())
            if self.replicates is not None and chunk.replicates is not None:
                rows = self.replicates.wanted(packed_rows(chunk.keys, chunk.replicates))
                self.slot.journal.append_replicates(self.slot.game, rows)
        self.tally.computed += len(keys)
        chunk.accepted = self._accept(values, sizes)

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
        block.fresh.update(zip(chunk.keys, chunk.accepted, strict=True))
        if self.replicates is not None and chunk.replicates is not None:
            self.replicates.add_packed(packed_rows(chunk.keys, chunk.replicates))
        for at in chunk.unusable:
            reason = f"it returned {chunk.values[at]}"
            if np.isfinite(chunk.values[at]):
                reason += (
                    f", more than the {LARGEST_UTILITY:.0e} that can be squared: divide all "
                    "utilities by the same number"
                )
            self._fail(block, chunk, at, reason)

    def _accept(self, values: FloatArray, sizes: FloatArray) -> list[float]:
        """Utilities as the run takes them; the largest is noted."""
        self.tally.largest = max(self.tally.largest, float(np.fmax.reduce(sizes, initial=0.0)))
        accepted: list[float] = np.where(sizes < NEGLIGIBLE, 0.0, values).tolist()
        return accepted

    def _fail(self, block: Block, chunk: Chunk, at: int, reason: str) -> None:
        """NaN when failures are to be skipped, else a GameError; recorded either way."""
        key = chunk.keys[at]
        if self.slot is not None:
            self.slot.journal.append_failure(self.slot.game, key, reason)
        if self.on_error == "raise":
            raise failure(chunk.masks[at][: self.n_players], reason) from chunk.error
        self.tally.computed += 1
        block.fresh[key] = math.nan
        block.failures[key] = reason

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

    def conclude(self, block: Block) -> FloatArray:
        """The values of a settled block; counted and remembered."""
        if block.failures:
            for key in block.first:
                if key in block.failures:
                    self._count_skipped(self.mask(key), block.failures[key])
        # Without memory the blocks do not know of each other: count as if each were one row.
        new = len(block.first) if self.remember else block.missing
        self.tally.evaluations += new
        self.tally.cost += block.cost
        self.tally.cache_hits += len(block.keys) - new
        if self.remember and block.first:
            self.cache.update(block.fresh)
            if self.pending:
                self.pending.difference_update(block.first)
        return block.values(self.cache)

    def _count_skipped(self, mask: BoolArray, reason: str) -> None:
        if not self.tally.skipped:
            coalition = shorten(members(mask[: self.n_players]))
            self.tally.first_failure = f"coalition {coalition}: {reason}"
        self.tally.skipped += 1
