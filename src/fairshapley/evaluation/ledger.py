"""The ledger: what a run's utilities are, what they cost, and what is journalled."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray, SizeArray
from fairshapley.errors import GameError, JournalError
from fairshapley.evaluation.cache import Cache
from fairshapley.evaluation.dispatch import Chunk
from fairshapley.evaluation.engines.engine import RemoteError, WorkerLostError
from fairshapley.evaluation.journal.records import Journal
from fairshapley.evaluation.replicates import Replicates
from fairshapley.games.game import members

# Variances are sums of squares, of weighted contributions and of their rounding errors, and must
# stay between 1e−308 and 1e308. So utilities have a largest size, and the largest utility of a game
# a least one; beside that one, those below NEGLIGIBLE are 0 to thirty digits and are taken as 0.
LARGEST_UTILITY, LEAST_SCALE = 1e120, 1e-120
NEGLIGIBLE = 1e-150


OnError = Literal["raise", "skip"]


@dataclass(eq=False)
class Tally:
    """What evaluation has cost so far."""

    evaluations: int = 0
    """Distinct coalitions whose utility this run needed, computed now or found in the journal; one
    that the bounded cache forgot counts again when it is needed again"""
    computed: int = 0
    """Utilities computed for this run, failed attempts included"""
    cache_hits: int = 0
    """Requests answered from memory"""
    largest: float = 0.0
    """The size of the largest utility"""
    skipped: int = 0
    """Evaluations that failed and were skipped on request"""
    first_failure: str = ""
    """The first of them, with the reason"""
    halved: int = 0
    """Batches that failed as a whole and were computed in smaller parts"""
    cost: float = 0.0
    """What the evaluations cost, where the game has prices"""
    retried: int = 0
    """Evaluations that failed with a transient error and were computed again"""
    lost: int = 0
    """Chunks that were lost with their worker and computed again"""

    @property
    def requests(self) -> int:
        """Coalitions asked for, known ones too: what a run without memory would have computed."""
        return self.evaluations + self.cache_hits


@dataclass(eq=False)
class JournalSlot:
    """A journal together with the number that the game has in it."""

    journal: Journal
    game: int


@dataclass(eq=False)
class Block:
    """Some rows of a draw, from `start` on."""

    start: int
    masks: BoolArray
    """The coalitions as the engine takes them: of a random game, with their seeds"""
    packed: ByteArray
    """The bits by which caches and journals know them"""
    sizes: SizeArray
    values: FloatArray
    """The utility of each row, as far as it is known"""
    first: dict[bytes, int]
    """Coalitions that nothing knew when they were looked up, each with its first row"""
    again: list[tuple[bytes, int]]
    """Further rows of those, and rows of which an earlier block has the coalition"""
    rows: IntArray
    """All rows that need a utility, in order: those of `first`, and those not looked up"""
    keys: dict[int, bytes] = field(default_factory=dict)
    """The keys of those rows, where utilities or replicates are kept"""
    failures: dict[int, str] = field(default_factory=dict)
    """The rows that are skipped, with the reason"""
    cost: float = 0.0
    """What the new coalitions cost"""
    chunks: list[Chunk] = field(default_factory=list)
    """The chunks it was cut into"""
    leaves: list[Chunk] = field(default_factory=list)
    """Those, or their parts, that are not settled yet, in order"""

    def __len__(self) -> int:
        return len(self.masks)


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
        replicates: Replicates | None = None,
        value_range: tuple[float, float] | None = None,
    ) -> None:
        self.cache = cache
        self.n_players = n_players
        self.slot = slot
        self.on_error = on_error
        self.replicates = replicates
        self._range = None if value_range is None else checks.with_slack(value_range)
        self.tally = Tally()
        self.remember = True
        """Whether the round fits the cache"""
        self.pending: set[bytes] = set()
        """Coalitions of blocks that are not settled yet"""
        self._failures: dict[bytes, str] | None = None

    def read_journal(self, block: Block) -> IntArray:
        """Take what the journal knows of a block; the rows that are left.

        Failures are known too, when they are to be skipped.
        """
        if self.slot is None:
            return block.rows
        journal, game = self.slot.journal, self.slot.game
        keys = list(block.keys.values())
        utilities = journal.lookup(game, keys)
        known = np.array([key in utilities for key in keys], dtype=bool)
        values = np.array([utilities[key] for key in keys if key in utilities])
        if self._range is not None and len(values):
            self._require_range(values, self._range)
        block.values[block.rows[known]] = self._accept(values)
        if self.replicates is not None:
            self.replicates.add_packed(journal.replicates(game, [*utilities]))
        if self.on_error == "skip":
            if self._failures is None:
                self._failures = journal.failures(game)
            for at in np.flatnonzero(~known).tolist():
                if keys[at] in self._failures:
                    block.failures[int(block.rows[at])] = self._failures[keys[at]]
                    known[at] = True
        return block.rows[~known]

    def _require_range(self, values: FloatArray, limits: tuple[float, float]) -> None:
        """A JournalError when journalled utilities are not what the game says they can be."""
        lowest, highest = float(values.min()), float(values.max())
        if self.slot is not None and not limits[0] <= lowest <= highest <= limits[1]:
            raise JournalError(
                f"the journal {self.slot.journal.path} holds utilities from {lowest:g} to "
                f"{highest:g}, outside the value_range that the game states: restore a copy of "
                "the journal, or give another file"
            )

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
            rows = chunk.replicates
            if self.replicates is not None:
                rows = dict(self.replicates.wanted(rows))
            keys = [key for key, good in zip(chunk.keys, usable.tolist(), strict=True) if good]
            journal.append(game, keys, values[usable], rows)
        self.tally.computed += len(values) - len(chunk.unusable)

    def settle(self, block: Block) -> bool:
        """Take what the chunks brought, in order; whether all have brought it."""
        while block.leaves:
            chunk = block.leaves[0]
            if chunk.halves is not None:
                block.leaves[:1] = chunk.halves
                continue
            if not chunk.done:
                return False
            self._take(block, chunk)
            del block.leaves[0]
        return True

    def _take(self, block: Block, chunk: Chunk) -> None:
        if chunk.values is None:
            if isinstance(chunk.error, GameError) and chunk.error.coalition is None:
                raise chunk.error
            self._fail(block, chunk, 0, reason_of(chunk.error))
            return
        block.values[chunk.rows] = self._accept(chunk.values)
        if self.replicates is not None:
            self.replicates.add_packed(chunk.replicates)
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
            self.slot.journal.append_failure(self.slot.game, chunk.keys[at], reason)
        if self.on_error == "raise":
            raise failure(chunk.masks[at][: self.n_players], reason, chunk.error) from chunk.error
        self.tally.computed += 1
        row = int(chunk.rows[at])
        block.values[row] = math.nan
        block.failures[row] = reason

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


def reason_of(error: Exception | None) -> str:
    """What went wrong, in the words that a serial run would use.

    Examples
    --------
    >>> reason_of(ValueError("singular"))
    'ValueError: singular'
    """
    if isinstance(error, GameError | WorkerLostError):
        return str(error.args[0])
    name = error.name if isinstance(error, RemoteError) else type(error).__name__
    return f"{name}: {error}"


def failure(mask: BoolArray, reason: str, cause: Exception | None = None) -> GameError:
    """The error that names a coalition, with the remedies of its cause and others."""
    coalition = members(mask)
    remedies = ["make the utility return a finite number for every coalition"]
    if 0 < len(coalition) < len(mask):  # v(∅) and v(N) cannot be skipped
        remedies.append(
            "leave such coalitions out with {on_error:'skip'} (no certificate is issued then)"
        )
    return GameError(
        f"the utility of coalition {shorten(coalition)} failed: {reason}",
        coalition,
        remedy=(*(cause.remedy if isinstance(cause, GameError) else ()), *remedies),
    )


def changed(mask: BoolArray, value: float, journalled: float, path: object) -> JournalError:
    """The error of a utility that is not what the journal holds."""
    return JournalError(
        f"the utility of coalition {shorten(members(mask))} is {value!r} now and {journalled!r} "
        f"in the journal {path}: the game has changed or is random. Use a new journal, fix its "
        "random seed, or give the game another key; where the expected utility is meant, say "
        "random=True or use fs.games.Random"
    )


def shorten(coalition: tuple[int, ...]) -> str:
    """The members, cut in the middle when there are very many.

    Examples
    --------
    >>> shorten((0, 2))
    '(0, 2)'
    """
    if len(coalition) <= 30:
        return str(coalition)
    head, tail = ", ".join(map(str, coalition[:12])), ", ".join(map(str, coalition[-3:]))
    return f"({head}, …, {tail}) of {len(coalition)} players"
