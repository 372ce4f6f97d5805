"""The evaluator: utilities of the coalitions of a draw, each distinct one computed once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairshapley._types import BoolArray, FloatArray
from fairshapley.draws import Draw
from fairshapley.errors import GameError, JournalError
from fairshapley.evaluation.cache import Cache, pack, unpack
from fairshapley.evaluation.engines import Engine, SerialEngine, check_answer
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.journal import Journal
from fairshapley.games.base import MAX_TABLE_PLAYERS, Game, members

CACHE_BYTES = 512 * 2**20
# Two evaluations of the same coalition may differ by the order of a sum inside a linear algebra
# library; more than that is another utility.
VERIFY_TOLERANCE = 1e-9
# Squares of marginal contributions, and sums of them, stay below 1e308.
LARGEST_UTILITY = 1e140

OnError = Literal["raise", "skip"]


class OutOfTimeError(Exception):
    """The deadline passed between two chunks; what was computed is kept."""


class ExhaustedError(Exception):
    """A replay without the game met a coalition that the journal does not hold."""


@dataclass(eq=False)
class Tally:
    """What evaluation has cost so far."""

    evaluations: int = 0
    """Distinct coalitions whose utility this run needed, computed now or found in the journal; one
    that the bounded cache forgot counts again when it is needed again"""
    computed: int = 0
    """Utilities computed in this process"""
    cache_hits: int = 0
    """Requests answered from memory"""
    skipped: int = 0
    """Evaluations that failed and were skipped on request"""
    first_failure: str = ""
    """The first of them, with the reason"""
    recovered: int = 0
    """Batches that raised as a whole and succeeded in parts"""


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
    n_active
        The players that matter, when those behind them are declared null: coalitions that differ
        only in null players are one.
    cache_bytes
        The memory for utilities already known.
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
        n_active: int | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.game = game
        self.n_players = n_players
        self.engine: Engine = engine if engine is not None else SerialEngine()
        self.slot = slot
        self.on_error = on_error
        self.guard = guard if guard is not None else InterruptGuard()
        self.n_active = n_players if n_active is None else n_active
        self.cache = Cache(self.n_active, cache_bytes)
        self.tally = Tally()
        self._remember = True
        self._failures: dict[bytes, str] | None = None

    @property
    def complete(self) -> bool:
        """Whether every coalition of the game is known."""
        enumerable = self.n_active <= MAX_TABLE_PLAYERS
        return enumerable and self.cache.complete and not self.tally.skipped

    def table(self) -> FloatArray:
        """All utilities of the active players of a complete game, indexed by bit mask."""
        return self.cache.table()

    def _keys(self, masks: BoolArray) -> list[bytes]:
        return pack(masks if self.n_active == self.n_players else masks[:, : self.n_active])

    def _mask(self, key: bytes) -> BoolArray:
        """A coalition of a key, without null players."""
        mask = np.zeros(self.n_players, dtype=bool)
        mask[: self.n_active] = unpack([key], self.n_active)[0]
        return mask

    def endpoints(self) -> tuple[float, float]:
        """v(∅) and v(N); they cannot be skipped."""
        masks = np.zeros((2, self.n_players), dtype=bool)
        masks[1] = True
        empty, full = self._chunk(masks).tolist()
        if self.tally.skipped:
            raise GameError(
                "v(∅), the utility of the empty coalition, and v(N) cannot be skipped: failed is "
                f"{self.tally.first_failure}"
            )
        return empty, full

    def begin_round(self, draw: Draw) -> None:
        """Make room in the cache; a round that would fill half of it is not remembered at all."""
        self.cache.turn()
        self._remember = len(draw) <= self.cache.generation_size

    def price(self, draw: Draw, at_most: int) -> int:
        """How many evaluations a draw would add; counting ends above `at_most`.

        A round is begun when its *new* coalitions fit the budget. The cost of some rounds together
        is that of the union of their coalitions, whatever their order, so that i.i.d. rounds stay
        exchangeable given how many fit, and their mean stays unbiased; pricing a round by its
        length would not leave it so. Only the first round must fit as a whole, see `Run`.
        """
        if len(draw) <= at_most:
            return len(draw)
        if 1 << min(self.n_active, 62) <= self.tally.evaluations + at_most:
            return 0  # all coalitions together do not exceed the budget
        if not self._remember:
            return len(draw)
        seen: set[bytes] = set()
        rows = max(1, min(4096, 2**25 // self.n_players))
        for start in range(0, len(draw), rows):
            keys = self._keys(draw.masks(start, min(len(draw), start + rows)))
            known = self.cache.get_many(keys)
            seen.update(key for key, value in zip(keys, known, strict=True) if value is None)
            if len(seen) > at_most:
                break
        return len(seen)

    def evaluate(
        self,
        draw: Draw,
        deadline: float = math.inf,
        after_chunk: Callable[[], None] | None = None,
    ) -> FloatArray:
        """The utilities of all coalitions of a draw, NaN for those skipped.

        Call `begin_round` before it.
        """
        values = np.empty(len(draw))
        start = 0
        while start < len(draw):
            self.guard.check()
            if time.monotonic() > deadline:
                raise OutOfTimeError
            stop = min(len(draw), start + self.engine.chunk_size(self.n_players))
            values[start:stop] = self._chunk(draw.masks(start, stop))
            start = stop
            if after_chunk is not None:
                after_chunk()
        return values

    def verify(self, count: int, rng: np.random.Generator) -> None:
        """Compute `count` journalled coalitions again; a JournalError when a value differs."""
        if self.slot is None or self.game is None or count == 0:
            return
        for key, journalled in self.slot.journal.sample(self.slot.game, count, rng):
            mask = self._mask(key)
            try:
                value = float(self._call(self.game, mask[None])[0])
            except GameError:
                raise
            except Exception as error:
                raise self._failure(mask, f"{type(error).__name__}: {error}") from error
            self.tally.computed += 1
            if not math.isclose(value, journalled, rel_tol=VERIFY_TOLERANCE):
                raise JournalError(
                    f"the utility of coalition {_shorten(members(mask))} is {value!r} now and "
                    f"{journalled!r} in the journal {self.slot.journal.path}: the game has "
                    "changed or is random. Use a new journal, fix its random seed, or give the "
                    "game another key"
                )

    def _chunk(self, masks: BoolArray) -> FloatArray:
        keys = self._keys(masks)
        found = self.cache.get_many(keys)
        missing = [at for at, value in enumerate(found) if value is None]
        if not missing:
            self.tally.cache_hits += len(found)
            return np.array(found, dtype=np.float64)
        first: dict[bytes, int] = {}
        for at in missing:
            first.setdefault(keys[at], at)
        fresh = self._obtain(list(first), masks[list(first.values())])
        if self._remember:
            self.cache.update(fresh.items())
            self.tally.evaluations += len(first)
            self.tally.cache_hits += len(found) - len(first)
        else:
            # Without memory the chunks do not know of each other: count as if each were one row.
            self.tally.evaluations += len(missing)
            self.tally.cache_hits += len(found) - len(missing)
        values = [fresh[keys[at]] if value is None else value for at, value in enumerate(found)]
        return np.array(values, dtype=np.float64)

    def _obtain(self, keys: list[bytes], masks: BoolArray) -> dict[bytes, float]:
        """Values of distinct new coalitions, from the journal or computed."""
        values = self._journalled(keys)
        rows = [at for at, key in enumerate(keys) if key not in values]
        if not rows:
            return values
        if self.game is None:
            raise ExhaustedError
        if len(rows) < len(keys):
            keys, masks = [keys[at] for at in rows], masks[rows]
        self._compute(self.game, keys, masks, values)
        return values

    def _journalled(self, keys: list[bytes]) -> dict[bytes, float]:
        """What the journal holds, with NaN for failures when they are to be skipped."""
        if self.slot is None:
            return {}
        found = self.slot.journal.lookup(self.slot.game, keys)
        if self.on_error == "skip":
            if self._failures is None:
                self._failures = self.slot.journal.failures(self.slot.game)
            for key in keys if self._failures else ():
                if key in self._failures and key not in found:
                    found[key] = math.nan
                    self._count_skipped(self._mask(key), self._failures[key])
        return found

    def _compute(
        self, game: Game, keys: list[bytes], masks: BoolArray, values: dict[bytes, float]
    ) -> None:
        """Compute into `values`, halving a batch that raises until what fails is found."""
        try:
            answer = self._call(game, masks)
        except GameError as error:
            # A wrong shape or a complex answer is not the fault of one coalition.
            if error.coalition is None:
                raise
            self._halve(game, keys, masks, values, error)
        except Exception as error:
            self._halve(game, keys, masks, values, error)
        else:
            self._store(keys, masks, answer, values)

    def _call(self, game: Game, masks: BoolArray) -> FloatArray:
        """The utilities from the engine; a copy of the masks, lest a game change ours."""
        with self.guard.interruptible():
            answer = self.engine.compute(game, masks.copy())
        return check_answer(answer, len(masks))

    def _halve(
        self,
        game: Game,
        keys: list[bytes],
        masks: BoolArray,
        values: dict[bytes, float],
        error: Exception,
    ) -> None:
        if len(keys) == 1:
            own = isinstance(error, GameError)
            reason = str(error) if own else f"{type(error).__name__}: {error}"
            values[keys[0]] = self._skip(masks[0], keys[0], reason, error)
            return
        skipped = self.tally.skipped
        middle = len(keys) // 2
        self._compute(game, keys[:middle], masks[:middle], values)
        self._compute(game, keys[middle:], masks[middle:], values)
        if self.tally.skipped == skipped:
            self.tally.recovered += 1

    def _store(
        self, keys: list[bytes], masks: BoolArray, answer: FloatArray, values: dict[bytes, float]
    ) -> None:
        """Journal what is a number, then deal with what is not."""
        # Sums of squares must not overflow; the comparison is false for NaN as well.
        usable = np.abs(answer) <= LARGEST_UTILITY
        good, numbers = keys, answer.tolist()
        if not usable.all():
            good = [key for key, ok in zip(keys, usable, strict=True) if ok]
            numbers = answer[usable].tolist()
        if self.slot is not None:
            self.slot.journal.append(self.slot.game, good, numbers)
        values.update(zip(good, numbers, strict=True))
        self.tally.computed += len(good)
        for at in np.flatnonzero(~usable):
            reason = f"it returned {answer[at]}"
            if np.isfinite(answer[at]):
                reason += ", which is too large to be squared: rescale the utility"
            values[keys[at]] = self._skip(masks[at], keys[at], reason, None)

    def _skip(self, mask: BoolArray, key: bytes, reason: str, cause: Exception | None) -> float:
        """NaN when failures are to be skipped, else a GameError; recorded either way."""
        if self.slot is not None:
            self.slot.journal.append_failure(self.slot.game, key, reason)
        if self.on_error == "raise":
            raise self._failure(mask, reason) from cause
        self.tally.computed += 1
        self._count_skipped(mask, reason)
        return math.nan

    def _count_skipped(self, mask: BoolArray, reason: str) -> None:
        if not self.tally.skipped:
            self.tally.first_failure = f"coalition {_shorten(members(mask))}: {reason}"
        self.tally.skipped += 1

    def _failure(self, mask: BoolArray, reason: str) -> GameError:
        coalition = members(mask)
        return GameError(
            f"the utility of coalition {_shorten(coalition)} failed: {reason}. Make the utility "
            "return a finite number for every coalition, or leave such coalitions out with "
            "on_error='skip' (no certificate is issued then)",
            coalition,
        )


def _shorten(coalition: tuple[int, ...]) -> str:
    """The members, cut in the middle when there are very many."""
    if len(coalition) <= 30:
        return str(coalition)
    head, tail = ", ".join(map(str, coalition[:12])), ", ".join(map(str, coalition[-3:]))
    return f"({head}, …, {tail}) of {len(coalition)} players"
