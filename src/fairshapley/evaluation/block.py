"""What the evaluator keeps of a round: its cost so far, and the rows it works on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray, SizeArray
from fairshapley.evaluation.dispatch import Chunk
from fairshapley.evaluation.journal.records import Journal

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
    recovered: int = 0
    """Batches that failed as a whole and succeeded in parts"""
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
