"""What the evaluator keeps of a round: its cost so far, and the rows it works on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fairshapley._basics.types import ByteArray, FloatArray
from fairshapley.evaluation.cache import Cache
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
    """Utilities computed for this run"""
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
    """The rows `start` … `stop` − 1 of a draw."""

    start: int
    stop: int
    packed: ByteArray
    keys: list[bytes]
    found: list[float | None]
    """What the cache knew of each row"""
    missing: int = 0
    """Rows that neither the cache nor an earlier block knew"""
    first: dict[bytes, int] = field(default_factory=dict)
    """The distinct coalitions of those rows, each with its first row"""
    fresh: dict[bytes, float] = field(default_factory=dict)
    """Their values, from the journal or computed"""
    failures: dict[bytes, str] = field(default_factory=dict)
    """Those that are skipped, with the reason"""
    cost: float = 0.0
    """What the distinct new coalitions cost"""
    leaves: list[Chunk] = field(default_factory=list)
    """The chunks that are not settled yet, in order"""

    def values(self, cache: Cache) -> FloatArray:
        """The value of each row; an earlier block has put into the cache what it shares."""
        if not self.first and None not in self.found:
            return np.array(self.found, dtype=np.float64)
        if len(self.first) == len(self.keys):
            return np.array([*map(self.fresh.__getitem__, self.keys)], dtype=np.float64)
        rows, fresh = zip(self.keys, self.found, strict=True), self.fresh
        if self.missing == self.found.count(None):
            known = [fresh[key] if value is None else value for key, value in rows]
            return np.array(known, dtype=np.float64)
        values = [fresh.get(key) if value is None else value for key, value in rows]
        if None in values:
            keys = zip(self.keys, values, strict=True)
            values = [cache.get(key) if value is None else value for key, value in keys]
        return np.array(values, dtype=np.float64)
