"""The evaluator: utilities of the coalitions of a draw, each distinct one computed once."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fairshapley._types import BoolArray, FloatArray
from fairshapley.draws import Draw
from fairshapley.errors import GameError, JournalError
from fairshapley.evaluation.cache import Cache, pack, unpack
from fairshapley.evaluation.engines import Engine, SerialEngine
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.journal import Journal
from fairshapley.games.base import Game, members

CACHE_BYTES = 512 * 2**20
# Two evaluations of the same coalition may differ by the order of a sum inside a linear algebra
# library; more than that is another utility.
VERIFY_TOLERANCE = 1e-9

OnError = Literal["raise", "skip"]


class OutOfTimeError(Exception):
    """The deadline passed between two chunks; what was computed is kept."""


class ExhaustedError(Exception):
    """A replay without the game met a coalition that the journal does not hold."""


@dataclass(eq=False)
class Tally:
    """What evaluation has cost so far."""

    evaluations: int = 0
    """Distinct coalitions whose utility this run needed, computed now or found in the journal"""
    computed: int = 0
    """Utilities computed in this process"""
    cache_hits: int = 0
    """Requests answered from memory"""
    skipped: dict[tuple[int, ...], str] = field(default_factory=dict)
    """Coalitions whose utility failed and was skipped on request, with the reason"""
    recovered: list[str] = field(default_factory=list)
    """Batches that failed as a whole and succeeded in halves"""


@dataclass(eq=False)
class JournalSlot:
    """A journal together with the number that the game has in it."""

    journal: Journal
    game: int


class Evaluator:
    """Deduplicates, remembers, journals and counts.

    Parameters
    ----------
    game
        The game; None replays from the journal alone.
    n_players
        The number of players.
    engine
        Who computes; by default this process.
    slot
        Where values are journalled and found again.
    on_error
        "raise" stops at the first utility that fails, "skip" records it and gives NaN.
    guard
        Lets Ctrl-C through while a utility runs.
    """

    def __init__(
        self,
        game: Game | None,
        n_players: int,
        *,
        engine: Engine | None = None,
        slot: JournalSlot | None = None,
        on_error: OnError = "raise",
        guard: InterruptGuard | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.game = game
        self.n_players = n_players
        self.engine: Engine = engine if engine is not None else SerialEngine()
        self.slot = slot
        self.on_error = on_error
        self.guard = guard if guard is not None else InterruptGuard()
        self.cache = Cache(n_players, cache_bytes)
        self.cache_bytes = cache_bytes
        self.tally = Tally()

    def endpoints(self) -> tuple[float, float]:
        """v(∅) and v(N); they cannot be skipped."""
        masks = np.zeros((2, self.n_players), dtype=bool)
        masks[1] = True
        empty, full = self._chunk(masks, self.cache).tolist()
        if self.tally.skipped:
            coalition, reason = next(iter(self.tally.skipped.items()))
            name = "v(∅), the utility of the empty coalition," if not coalition else "v(N)"
            raise GameError(f"{name} failed and cannot be skipped: {reason}", coalition)
        return empty, full

    def evaluate(self, draw: Draw, deadline: float = math.inf) -> FloatArray:
        """The utilities of all coalitions of a draw, NaN for those skipped."""
        self.cache.turn()
        cache = self._cache_for(draw)
        values = np.empty(len(draw))
        start = 0
        while start < len(draw):
            if time.monotonic() > deadline:
                raise OutOfTimeError
            stop = min(len(draw), start + self.engine.chunk_size(self.n_players))
            values[start:stop] = self._chunk(draw.masks(start, stop), cache)
            start = stop
        return values

    def new_coalitions(self, draw: Draw, at_most: int) -> int:
        """How many evaluations a draw would add; counting ends above `at_most`."""
        seen: set[bytes] = set()
        rows = max(1, min(4096, 2**25 // self.n_players))
        for start in range(0, len(draw), rows):
            keys = pack(draw.masks(start, min(len(draw), start + rows)))
            known = self.cache.get_many(keys)
            seen.update(key for key, value in zip(keys, known, strict=True) if value is None)
            if len(seen) > at_most:
                break
        return len(seen)

    def verify(self, count: int, rng: np.random.Generator) -> None:
        """Compute `count` journalled coalitions again; a JournalError when a value differs."""
        if self.slot is None or self.game is None or count == 0:
            return
        sample = self.slot.journal.sample(self.slot.game, count, rng)
        if not sample:
            return
        masks = unpack([key for key, _ in sample], self.n_players)
        for mask, (_, journalled) in zip(masks, sample, strict=True):
            with self.guard.interruptible():
                value = float(self.engine.compute(self.game, mask[None])[0])
            self.tally.computed += 1
            if not math.isclose(value, journalled, rel_tol=VERIFY_TOLERANCE, abs_tol=1e-12):
                raise JournalError(
                    f"the utility of coalition {members(mask)} is {value!r} now and "
                    f"{journalled!r} in the journal {self.slot.journal.path}: the game has "
                    "changed or is random. Use a new journal, fix its random seed, or give the "
                    "game another key"
                )

    @property
    def complete(self) -> bool:
        """Whether every coalition of the game is known."""
        return self.n_players < 63 and self.cache.complete and not self.tally.skipped

    def _cache_for(self, draw: Draw) -> Cache:
        """The run's memory, or one for this round alone when the round would fill it."""
        if len(draw) * -(-self.n_players // 8) <= self.cache_bytes // 2:
            return self.cache
        return Cache(self.n_players, 0)

    def _chunk(self, masks: BoolArray, cache: Cache) -> FloatArray:
        keys = pack(masks)
        found = cache.get_many(keys)
        missing = [at for at, value in enumerate(found) if value is None]
        self.tally.cache_hits += len(found) - len(missing)
        if not missing:
            return np.array(found, dtype=np.float64)
        first: dict[bytes, int] = {}
        for at in missing:
            first.setdefault(keys[at], at)
        self.tally.cache_hits += len(missing) - len(first)
        self._obtain(list(first), masks[list(first.values())], cache)
        return np.array(cache.get_many(keys), dtype=np.float64)

    def _obtain(self, keys: list[bytes], masks: BoolArray, cache: Cache) -> None:
        """Values of distinct new coalitions, from the journal or computed, into the cache."""
        if self.slot is not None:
            journalled = self.slot.journal.lookup(self.slot.game, keys)
            if journalled:
                cache.update((key, journalled[key]) for key in keys if key in journalled)
                self.tally.evaluations += len(journalled)
                rows = [at for at, key in enumerate(keys) if key not in journalled]
                if not rows:
                    return
                keys, masks = [keys[at] for at in rows], masks[rows]
        if self.game is None:
            raise ExhaustedError
        self._compute(self.game, keys, masks, cache)

    def _compute(self, game: Game, keys: list[bytes], masks: BoolArray, cache: Cache) -> None:
        """Compute, and halve a batch that raises until its failing coalitions are found."""
        try:
            with self.guard.interruptible():
                values = self.engine.compute(game, masks)
        except GameError as error:
            # A wrong shape or a complex answer is not the fault of one coalition.
            if error.coalition is None:
                raise
            self._halve(game, keys, masks, cache, error)
        except Exception as error:
            self._halve(game, keys, masks, cache, error)
        else:
            self._store(keys, masks, values, cache)

    def _halve(
        self, game: Game, keys: list[bytes], masks: BoolArray, cache: Cache, error: Exception
    ) -> None:
        if len(keys) == 1:
            self._fail(masks[0], keys[0], f"{type(error).__name__}: {error}", cache, error)
            return
        skipped = len(self.tally.skipped)
        middle = len(keys) // 2
        self._compute(game, keys[:middle], masks[:middle], cache)
        self._compute(game, keys[middle:], masks[middle:], cache)
        if len(self.tally.skipped) == skipped:
            self.tally.recovered.append(
                f"a batch of {len(keys)} coalitions raised {type(error).__name__}, "
                "its halves did not"
            )

    def _store(self, keys: list[bytes], masks: BoolArray, values: FloatArray, cache: Cache) -> None:
        """Journal and remember what is finite, then deal with what is not."""
        finite = np.isfinite(values)
        good, numbers = keys, values.tolist()
        if not finite.all():
            good = [key for key, ok in zip(keys, finite, strict=True) if ok]
            numbers = values[finite].tolist()
        if self.slot is not None:
            self.slot.journal.append(self.slot.game, good, numbers)
        cache.update(zip(good, numbers, strict=True))
        self.tally.evaluations += len(good)
        self.tally.computed += len(good)
        for at in np.flatnonzero(~finite):
            self._fail(masks[at], keys[at], f"it returned {values[at]}", cache, None)

    def _fail(
        self, mask: BoolArray, key: bytes, reason: str, cache: Cache, cause: Exception | None
    ) -> None:
        coalition = members(mask)
        if self.slot is not None:
            self.slot.journal.append_failure(self.slot.game, key, reason)
        if self.on_error == "raise":
            raise GameError(
                f"the utility of coalition {_shorten(coalition)} failed: {reason}. Make the "
                "utility return a finite number for every coalition, or leave such coalitions "
                "out with on_error='skip' (no certificate is issued then)",
                coalition,
            ) from cause
        self.tally.evaluations += 1
        self.tally.computed += 1
        self.tally.skipped[coalition] = reason
        cache.update([(key, math.nan)])


def _shorten(coalition: tuple[int, ...]) -> str:
    """The members, cut in the middle when there are very many."""
    if len(coalition) <= 30:
        return str(coalition)
    head, tail = ", ".join(map(str, coalition[:12])), ", ".join(map(str, coalition[-3:]))
    return f"({head}, …, {tail}) of {len(coalition)} players"
