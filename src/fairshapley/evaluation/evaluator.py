"""The evaluator: utilities of the coalitions of a draw, each distinct one computed once.

A draw is worked through in blocks of rows. What a block lacks is cut into chunks for the engine; a
chunk is journalled as soon as it is answered, whatever the order. Blocks are settled in the order
of the draw, so that values, counts and the first failure are those of a serial run.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, SizeArray
from fairshapley.draws import Draw, ListedCoalitions, packed_rows
from fairshapley.draws.on_device import DeviceDraw
from fairshapley.errors import EngineError, GameError, InputError, JournalError
from fairshapley.evaluation.block import Block, JournalSlot, OnError, Tally
from fairshapley.evaluation.cache import CACHE_BYTES, Cache
from fairshapley.evaluation.dispatch import Chunk, Dispatcher
from fairshapley.evaluation.engines import Engine, SerialEngine, Session
from fairshapley.evaluation.failures import changed, failure, reason_of
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.ledger import Ledger
from fairshapley.evaluation.noise import Noise, SeededGame
from fairshapley.evaluation.on_device import OnDevice
from fairshapley.evaluation.pace import WORTHWHILE_SECONDS, Pace
from fairshapley.evaluation.prices import Prices
from fairshapley.evaluation.replicates import Replicates, WithReplicates
from fairshapley.evaluation.unrepeated import Unrepeated
from fairshapley.games.game import MAX_TABLE_PLAYERS, Game
from fairshapley.games.on_device import DeviceGame

__all__ = ["Evaluator", "ExhaustedError", "JournalSlot", "OnError", "OutOfTimeError", "Tally"]

# Two evaluations of the same coalition may differ by the order of a sum inside a linear algebra
# library; more than that is another utility.
VERIFY_TOLERANCE = 1e-9
# While one chunk hangs, others may run ahead: this many blocks are kept until it is answered.
MAX_BLOCKS = 16


class OutOfTimeError(Exception):
    """The deadline passed between two chunks; what was computed is kept."""


class ExhaustedError(Exception):
    """A replay without the game met a coalition that the journal does not hold."""


class Answers(NamedTuple):
    """What evaluation says of a draw, coalition by coalition: tensors where it is on a device."""

    values: FloatArray
    """Their utilities, NaN for those skipped"""
    sizes: SizeArray
    """How many active players each has"""


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
    replicates
        Whether to ask the game, where it can tell, for utilities without groups of test rows too.
    on_device
        The game's form on a device, for draws that stay there.
    noise
        The draws of a game whose utility is random; nothing is remembered then.
    remember_all
        Whether utilities are asked for after the run, so that those are kept too that no method
        asks for twice.
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
        replicates: bool = False,
        on_device: DeviceGame | None = None,
        noise: Noise | None = None,
        remember_all: bool = False,
    ) -> None:
        self.game = game
        self.n_players = n_players
        self.engine: Engine = engine if engine is not None else SerialEngine()
        self.slot = slot
        self.on_error = on_error
        self.guard = guard if guard is not None else InterruptGuard()
        self.n_active = n_players if n_active is None else n_active
        self._size_type = np.min_scalar_type(self.n_active)
        self.cache = Cache(self.n_active, cache_bytes)
        worthwhile = getattr(self.engine, "worthwhile", WORTHWHILE_SECONDS)
        self.pace = Pace(self.engine.chunk_size, n_players, worthwhile)
        self.noise = noise
        self.prices = Prices.of(game)
        wanted = replicates and noise is None
        self.replicates = Replicates.of(game, self.n_active) if wanted else None
        self._ledger = Ledger(
            self.cache, n_players, slot, on_error, self.pace, self.replicates, noise
        )
        self.tally = self._ledger.tally
        self._there = OnDevice(on_device, self.tally, self.guard) if on_device else None
        self._session: Session | None = None
        self._dispatcher: Dispatcher | None = None
        self._unrepeated = self._quick(remember_all=remember_all)

    def _quick(self, *, remember_all: bool) -> Unrepeated | None:
        """For coalitions that need no look; None where each must be known afterwards."""
        here = isinstance(self.engine, SerialEngine) and self.game is not None
        if remember_all or not here or self.slot is not None or self.noise is not None:
            return None
        if self.n_active < self.n_players:
            return None
        made = Unrepeated(self.cache, self.tally, self.pace, self.guard, self.replicates)
        return made if made.any else None

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the game in the engine."""
        if self._session is not None:
            self._session.close()
            self._session = self._dispatcher = None

    @property
    def workers(self) -> int:
        """How many workers compute; 0 when it is this process, or nothing was computed yet."""
        return 0 if self._session is None else self._session.workers

    def _opened(self, game: Game) -> tuple[Session, Dispatcher]:
        """The session and its dispatcher, when the first utility must be computed."""
        if self._session is None or self._dispatcher is None:
            wide = game if self.replicates is None else WithReplicates(game)
            if self.noise is not None:
                wide = SeededGame(game)
            self._session = self.engine.open(wide)
            self._dispatcher = Dispatcher(
                self._session, self.pace, self.guard, self._ledger.journal
            )
        return self._session, self._dispatcher

    @property
    def complete(self) -> bool:
        """Whether every coalition of the game is known."""
        enumerable = self.n_active <= MAX_TABLE_PLAYERS and self.noise is None
        return enumerable and self.cache.complete and not self.tally.skipped

    def table(self) -> FloatArray:
        """All utilities of the active players of a complete game, indexed by bit mask."""
        return self.cache.table()

    def _packed(self, draw: Draw, start: int, masks: BoolArray) -> ByteArray:
        """The bits of the active players."""
        if self.n_active < self.n_players:
            return bits.pack(masks[:, : self.n_active])
        return packed_rows(draw, start, masks)

    def endpoints(self) -> tuple[float, float]:
        """v(∅) and v(N); they cannot be skipped."""
        if self.noise is not None:
            empty, full = self.noise.settle_first(self.evaluate(self.noise.first()).values)
        else:
            masks = np.zeros((2, self.n_players), dtype=bool)
            masks[1] = True
            empty, full = self.evaluate(ListedCoalitions.of(masks)).values.tolist()
        if self.tally.skipped:
            raise GameError(
                "v(∅), the utility of the empty coalition, and v(N) cannot be skipped: failed is "
                f"{self.tally.first_failure}"
            )
        return empty, full

    def _remembers(self, draw: Draw) -> bool:
        """Whether a round stays in the cache: not when it would fill half of it or more."""
        remembered = self.noise is None or self.noise.reuse
        return remembered and len(draw) <= self.cache.generation_size

    def price(self, draw: Draw, at_most: int) -> int:
        """How many evaluations a draw would add; counting ends above `at_most`.

        A round is begun when its *new* coalitions fit the budget. The cost of some rounds together
        is that of the union of their coalitions, whatever their order, so that i.i.d. rounds stay
        exchangeable given how many fit, and their mean stays unbiased; pricing a round by its
        length would not leave it so. Only the first round must fit as a whole, see `Run`.
        """
        if len(draw) <= at_most:
            return len(draw)
        if self.noise is None and 1 << min(self.n_active, 62) <= self.tally.evaluations + at_most:
            return 0  # all coalitions together do not exceed the budget
        if self._there is not None or not self._remembers(draw):
            return len(draw)
        count = 0
        for masks in self._new(draw):
            count += len(masks)
            if count > at_most:
                break
        return count

    def cost(self, draw: Draw, *, whole: bool = False) -> float:
        """What the new coalitions of a draw cost, or all of them, where the game has prices."""
        if self.prices is None:
            return 0.0
        parts = self._new(draw, whole=whole or not self._remembers(draw))
        return sum(float(self.prices.each(masks).sum()) for masks in parts)

    def _new(self, draw: Draw, *, whole: bool = False) -> Iterator[BoolArray]:
        """The coalitions of a draw that are not known yet, each once; or all of them."""
        self.cache.turn()  # as `evaluate` will
        seen: set[bytes] = set()
        rows = max(1, min(4096, 2**25 // self.n_players))
        for start in range(0, len(draw), rows):
            masks = draw.masks(start, min(len(draw), start + rows))
            if whole:
                yield masks
                continue
            _, keys, found = self._found(draw, start, masks, self._packed(draw, start, masks))
            first: dict[bytes, int] = {}
            for at, (key, value) in enumerate(zip(keys, found, strict=True)):
                if value is None and key not in seen:
                    first.setdefault(key, at)
            seen.update(first)
            yield masks[list(first.values())]

    def _found(
        self, draw: Draw, start: int, masks: BoolArray, packed: ByteArray
    ) -> tuple[BoolArray, list[bytes], list[float | None]]:
        """Coalitions as the engine takes them, their keys, and what is known of them."""
        if self.noise is None:
            keys = bits.packed_keys(packed)
            return masks, keys, self.cache.get_many(keys)
        seeded, keys, ends = self.noise.rows(draw, start, masks, packed)
        if not self.noise.reuse:
            return seeded, keys, ends
        known = self.cache.get_many(keys)
        pairs = zip(ends, known, strict=True)
        return seeded, keys, [value if end is None else end for end, value in pairs]

    def evaluate(
        self,
        draw: Draw,
        deadline: float = math.inf,
        after_chunk: Callable[[], None] | None = None,
    ) -> Answers:
        """One round: the utilities of all coalitions of a draw, and their sizes."""
        if self._there is not None and isinstance(draw, DeviceDraw):
            return self._evaluate_there(self._there, draw, deadline, after_chunk)
        if self._unrepeated is not None and getattr(draw, "fresh", False):
            return self._evaluate_fresh(self._unrepeated, draw, deadline, after_chunk)
        return self._evaluate_known(draw, deadline, after_chunk)

    def _evaluate_known(
        self, draw: Draw, deadline: float, after_chunk: Callable[[], None] | None
    ) -> Answers:
        """Every coalition is looked up first, and remembered."""
        self.cache.turn()
        self._ledger.remember = self._remembers(draw)
        count = len(draw)
        values, sizes = np.empty(count), np.empty(count, dtype=self._size_type)
        blocks: deque[Block] = deque()
        start = 0
        try:
            while start < count or blocks:
                self.guard.check()
                unfinished = start < count or self._waiting()
                if unfinished and time.monotonic() > deadline:
                    self._finish_in_flight()
                    raise OutOfTimeError
                if start < count and len(blocks) < MAX_BLOCKS and self._hungry():
                    blocks.append(self._look_up(draw, start))
                    start = blocks[-1].stop
                elif self._dispatcher is not None:
                    self._dispatcher.step()
                    self.tally.lost = self._dispatcher.losses
                while blocks and self._ledger.settle(blocks[0]):
                    block = blocks.popleft()
                    values[block.start : block.stop] = self._ledger.conclude(block)
                    sizes[block.start : block.stop] = bits.sizes(block.packed)
                    if after_chunk is not None:
                        after_chunk()
        except BaseException as error:
            self._abandon(keep=not isinstance(error, JournalError))
            if isinstance(error, EngineError):
                raise EngineError(f"{error}. {self._how_to_continue()}") from error
            raise
        return Answers(values, sizes)

    def _evaluate_there(
        self,
        there: OnDevice,
        draw: DeviceDraw,
        deadline: float,
        after_chunk: Callable[[], None] | None,
    ) -> Answers:
        found = there.values(draw, deadline, after_chunk)
        if found is None:
            raise OutOfTimeError
        return Answers(found, draw.sizes)

    def _evaluate_fresh(
        self,
        unrepeated: Unrepeated,
        draw: Draw,
        deadline: float,
        after_chunk: Callable[[], None] | None,
    ) -> Answers:
        """Only coalitions of sizes that may come again are looked up and remembered."""
        self.cache.turn()
        count, start = len(draw), 0
        values, sizes = np.empty(count), np.empty(count, dtype=self._size_type)
        while start < count:
            self.guard.check()
            if time.monotonic() > deadline:
                raise OutOfTimeError
            stop = min(count, start + self.pace.rows(0))
            masks = draw.masks(start, stop)
            packed = packed_rows(draw, start, masks)
            sizes[start:stop] = part = bits.sizes(packed)
            found = unrepeated.values(self._session_of_game(), masks, packed, part)
            if found is None:  # where each is told apart
                listed = ListedCoalitions(packed, self.n_players)
                found = self._evaluate_known(listed, deadline, None).values
            values[start:stop] = found
            start = stop
            if after_chunk is not None:
                after_chunk()
        return Answers(values, sizes)

    def _session_of_game(self) -> Session:
        assert self.game is not None  # noqa: S101 - asked before
        return self._opened(self.game)[0]

    def _hungry(self) -> bool:
        return self._dispatcher is None or self._dispatcher.hungry

    def _waiting(self) -> bool:
        return self._dispatcher is not None and self._dispatcher.waiting

    def _finish_in_flight(self) -> None:
        """Out of time: what workers have begun is paid for, and journalled."""
        while self._dispatcher is not None and self._dispatcher.drop_waiting():
            self._dispatcher.step()

    def _abandon(self, *, keep: bool) -> None:
        """Stop in the middle of a round; keep what is answered already."""
        self._ledger.pending.clear()
        if self._dispatcher is not None:
            for chunk in self._dispatcher.abandon():
                if keep:
                    self._ledger.journal(chunk)

    def _how_to_continue(self) -> str:
        if self.slot is None:
            return "Give journal= so that a run can be continued where it stopped"
        return (
            f"All that was computed is in the journal {self.slot.journal.path}: run again with it, "
            "with any engine, to continue"
        )

    def verify(self, count: int, rng: np.random.Generator) -> None:
        """Compute `count` journalled coalitions again; a JournalError when a value differs."""
        if self.slot is None or self.game is None or count == 0:
            return
        if self.noise is not None and not hasattr(self.game, "draw"):
            raise InputError(
                "verify= repeats draws, and this random game takes no seed: leave verify out, or "
                "use fs.games.Random with a function of a coalition and a seed"
            )
        rows = self.slot.journal.sample(self.slot.game, count, rng)
        if rows:
            session, _ = self._opened(self.game)
            chunks = [Chunk([key], self._ledger.mask(key)[None]) for key, _ in rows]
            computed = Dispatcher(session, self.pace, self.guard).compute(chunks)
            for chunk, (_, journalled) in zip(computed, rows, strict=True):
                coalition = chunk.masks[0][: self.n_players]
                if chunk.values is None:
                    raise failure(coalition, reason_of(chunk.error)) from chunk.error
                value = float(chunk.values[0])
                self.tally.computed += 1
                if not math.isclose(value, journalled, rel_tol=VERIFY_TOLERANCE):
                    raise changed(coalition, value, journalled, self.slot.journal.path)

    def changes(self, count: int) -> FloatArray:
        """By how much up to `count` utilities that the run knows differ when computed again."""
        known = {key: value for key, value in self.cache.some(count).items() if value == value}
        if self.game is None or self.noise is not None or not known:
            return np.empty(0)
        session, _ = self._opened(self.game)
        chunks = [Chunk([key], self._ledger.mask(key)[None]) for key in known]
        Dispatcher(session, self.pace, self.guard).compute(chunks)
        pairs = zip(chunks, known.values(), strict=True)
        return np.array(
            [float(one.values[0]) - was for one, was in pairs if one.values is not None]
        )

    def _look_up(self, draw: Draw, start: int) -> Block:
        """The next rows of a draw: what is known of them, and chunks of what is not."""
        stop = min(len(draw), start + self.pace.rows(self.workers))
        masks = draw.masks(start, stop)
        packed = self._packed(draw, start, masks)
        masks, keys, found = self._found(draw, start, masks, packed)
        block = Block(start, stop, packed, keys, found)
        pending = self._ledger.pending
        missing: Sequence[int] = range(len(keys))
        if block.found.count(None) < len(keys):
            missing = [at for at, value in enumerate(block.found) if value is None]
        if pending:
            missing = [at for at in missing if keys[at] not in pending]
        new = keys if len(missing) == len(keys) else [keys[at] for at in missing]
        block.first = dict(zip(new, missing, strict=True))
        if len(block.first) < len(missing):  # some twice: the first row of each counts
            block.first = {}
            for key, at in zip(new, missing, strict=True):
                block.first.setdefault(key, at)
        block.missing = len(missing)
        if block.first:
            if self.prices is not None:
                own = masks[list(block.first.values()), : self.n_players]
                block.cost = float(self.prices.each(own).sum())
            self._obtain(block, masks, len(draw) - stop)
            if self._ledger.remember and stop < len(draw):
                pending.update(block.first)
        return block

    def _obtain(self, block: Block, masks: BoolArray, behind: int) -> None:
        """Values of distinct new coalitions from the journal; chunks of the others.

        Chunks become small near the end of a round: `behind` are the rows after this block.
        """
        self._ledger.read_journal(block)
        wanted = block.first
        if block.fresh:
            wanted = {key: at for key, at in wanted.items() if key not in block.fresh}
        if not wanted:
            return
        if self.game is None:
            raise ExhaustedError
        session, dispatcher = self._opened(self.game)
        keys, rows = list(wanted), masks
        if len(wanted) < len(masks):
            rows = masks[list(wanted.values())]
        while keys:
            size = self.pace.share(len(keys) + behind, session.workers)
            block.leaves.append(Chunk(keys[:size], rows[:size]))
            keys, rows = keys[size:], rows[size:]
        dispatcher.push(block.leaves)
