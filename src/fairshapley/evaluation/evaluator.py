"""The evaluator: utilities of the coalitions of a draw, each distinct one computed once.

A draw is worked through in blocks of rows. What a block lacks is cut into chunks for the engine; a
chunk is journalled as soon as it is answered, whatever the order. Blocks are settled in the order
of the draw, so that values, counts and the first failure are those of a serial run.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray, SizeArray
from fairshapley.draws import Draw, ListedCoalitions, packed_rows
from fairshapley.draws.device import DeviceDraw
from fairshapley.errors import EngineError, GameError, InputError, JournalError
from fairshapley.evaluation.cache import CACHE_BYTES, Cache
from fairshapley.evaluation.dispatch import Chunk, Dispatcher
from fairshapley.evaluation.engines import Engine, SerialEngine, Session
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.ledger import (
    Block,
    JournalSlot,
    Ledger,
    OnError,
    Tally,
    changed,
    failure,
    reason_of,
)
from fairshapley.evaluation.noise import Noise, SeededGame
from fairshapley.evaluation.on_device import OnDevice
from fairshapley.evaluation.pace import Pace
from fairshapley.evaluation.prices import Prices
from fairshapley.evaluation.replicates import Replicates, WithReplicates
from fairshapley.games.abilities import DeviceGame, seeded_draw
from fairshapley.games.game import MAX_TABLE_PLAYERS, Game
from fairshapley.semivalues import log_binomial

__all__ = ["Evaluator", "ExhaustedError", "JournalSlot", "OnError", "OutOfTimeError", "Tally"]

# Two evaluations of the same coalition may differ by the order of a sum inside a linear algebra
# library; more than that is another utility.
VERIFY_TOLERANCE = 1e-9
# While one chunk hangs, others may run ahead: this many blocks are kept until it is answered.
MAX_BLOCKS = 16


# Of 10⁶ coalitions drawn at a size with so many, two are the same once in two runs; of those of a
# whole run, spread over all sizes, once in hundreds. To look each up would cost more than all that
# can be saved: such a one is computed and counted twice. Of 100 players they are the sizes 9 … 91.
MANY = 10**12
# With a journal nothing is computed twice, and a run that is resumed counts the same. Of so many
# coalitions, two of 10⁷ are the same once in 20 000 runs. Of 100 players: the sizes 17 … 83.
MANY_JOURNALLED = 10**18


class OutOfTimeError(Exception):
    """The deadline passed between two chunks; what was computed is kept."""


class OutOfMoneyError(Exception):
    """What failed cannot be computed again within the budget; what was computed is kept."""


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
    value_range
        Between which numbers the game says that its utilities lie; others are failures.
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
        value_range: tuple[float, float] | None = None,
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
        self.noise = noise
        self.prices = Prices.of(game)
        self.money = math.inf
        """The most that evaluations may cost"""
        self._due = 0.0
        """What those of the round cost that are not counted yet"""
        # A chunk that fails is paid as a whole: where evaluations have prices it is one of them.
        chunk_size = self.engine.chunk_size or (None if self.prices is None else 1)
        self.pace = Pace(chunk_size, n_players)
        wanted = replicates and noise is None
        self.replicates = Replicates.of(game, self.n_active) if wanted else None
        self._ledger = Ledger(self.cache, n_players, slot, on_error, self.replicates, value_range)
        self.tally = self._ledger.tally
        self._there = OnDevice(on_device, self.tally, self.guard) if on_device else None
        self._session: Session | None = None
        self._dispatcher: Dispatcher | None = None
        # In this process, coalitions of which nothing is kept need no look.
        here = isinstance(self.engine, SerialEngine) and not remember_all
        self._many: BoolArray | None = None
        """The sizes of which no coalition comes twice"""
        if here and noise is None and self.n_active == n_players:
            least = MANY if slot is None else MANY_JOURNALLED
            many = log_binomial(n_players, np.arange(n_players + 1.0)) > math.log(least)
            self._many = many if many.any() else None

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
                *(self._session, self.pace, self.guard, self.engine),
                on_values=self._ledger.journal,
                on_repeat=self._repeat,
            )
        return self._session, self._dispatcher

    def _repeat(self, chunk: Chunk) -> None:
        """Pay for coalitions that are computed once more, unless there is no money left."""
        price = self._price(chunk)
        if self.tally.cost + self._due + price > self.money:
            raise OutOfMoneyError
        self.tally.cost += price
        if chunk.retries:
            self.tally.retried += len(chunk)
            self.tally.computed += len(chunk)

    @property
    def complete(self) -> bool:
        """Whether every coalition of the game is known."""
        enumerable = self.n_active <= MAX_TABLE_PLAYERS and self.noise is None
        return enumerable and self.cache.complete and not self.tally.skipped

    def table(self) -> FloatArray:
        """All utilities of the active players of a complete game, indexed by bit mask."""
        return self.cache.table()

    def ends(self) -> ListedCoalitions:
        """The first draw of a run: ∅ and N, several times where utilities are random."""
        if self.noise is not None:
            return self.noise.first()
        return ListedCoalitions.of(np.array([[False], [True]]).repeat(self.n_players, axis=1))

    def endpoints(self) -> tuple[float, float]:
        """v(∅) and v(N); they cannot be skipped."""
        values = self.evaluate(self.ends()).values
        if self.noise is not None:
            empty, full = self.noise.settle_first(values)
        else:
            empty, full = values.tolist()
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

    def affordable(
        self, draw: Draw, evaluations: float, money: float = math.inf, *, whole: bool = False
    ) -> int:
        """Return how many leading coalitions of a draw may be computed for so much.

        Only *new* coalitions count, unless all do (`whole`). The cost of some rounds together
        is that of the union of their coalitions, whatever their order, so that i.i.d. rounds stay
        exchangeable given how many fit, and their mean stays unbiased; counting the length of a
        round would not leave it so. Only the first round must fit as a whole, see `Allowance`.
        """
        count, priced = len(draw), self.prices is not None and money < math.inf
        if (
            self.noise is None
            and 1 << min(self.n_active, 62) <= self.tally.evaluations + evaluations
        ):
            evaluations = math.inf  # all coalitions together do not exceed the budget
        if count <= evaluations and (not priced or self.cost(draw, whole=whole) <= money):
            return count
        whole = whole or self._there is not None or not self._remembers(draw)
        if whole and not priced:
            return int(evaluations)
        spent, paid = 0, 0.0
        for rows, masks in self._new(draw, whole=whole):
            over = spent + np.arange(1, len(rows) + 1) > evaluations
            if self.prices is not None and priced:
                sums = paid + np.cumsum(self.prices.each(masks))
                over |= sums > money
                paid = float(sums[-1]) if len(sums) else paid
            if over.any():
                return int(rows[over.argmax()])
            spent += len(rows)
        return count

    def cost(self, draw: Draw, *, whole: bool = False) -> float:
        """What the new coalitions of a draw cost, or all of them, where the game has prices."""
        if self.prices is None:
            return 0.0
        parts = self._new(draw, whole=whole or not self._remembers(draw))
        return sum(float(self.prices.each(masks).sum()) for _, masks in parts)

    def _new(self, draw: Draw, *, whole: bool = False) -> Iterator[tuple[IntArray, BoolArray]]:
        """Rows of a draw that are not known yet, each coalition once, or all; with their masks."""
        self.cache.turn()  # as `evaluate` will
        seen: set[bytes] = set()
        rows = max(1, min(4096, 2**25 // self.n_players))
        for start in range(0, len(draw), rows):
            stop = min(len(draw), start + rows)
            if whole:
                yield np.arange(start, stop), draw.masks(start, stop)
                continue
            block = self._look_up(draw, start, stop, seen)
            seen.update(block.first)
            yield start + block.rows, block.masks[block.rows, : self.n_players]

    def evaluate(
        self, draw: Draw, deadline: float = math.inf, after_chunk: Callable[[], None] | None = None
    ) -> Answers:
        """One round: the utilities of all coalitions of a draw, and their sizes."""
        if self._there is not None and isinstance(draw, DeviceDraw):
            found = self._there.values(draw, deadline, after_chunk)
            if found is None:
                raise OutOfTimeError
            return Answers(found, draw.sizes)
        self.cache.turn()
        skips = self._skips_looks(draw)
        self._ledger.remember = skips or self._remembers(draw)
        self._due = self.cost(draw) if self.money < math.inf else 0.0
        count = len(draw)
        values, sizes = np.empty(count), np.empty(count, dtype=self._size_type)
        blocks: deque[Block] = deque()
        start = 0
        try:
            while start < count or blocks:
                self.guard.check()
                sent = self._dispatcher
                self._require_time(deadline, unasked=start < count)
                if start < count and len(blocks) < MAX_BLOCKS and (sent is None or sent.hungry):
                    stop = min(count, start + self.pace.rows(self.workers))
                    blocks.append(self._look_up(draw, start, stop, self._ledger.pending))
                    self._obtain(blocks[-1], count - stop)
                    start = stop
                elif sent is not None:
                    self._step(sent)
                while blocks and self._ledger.settle(blocks[0]):
                    block = blocks.popleft()
                    self._ledger.conclude(block)
                    self._due -= block.cost
                    values[block.start : block.start + len(block)] = block.values
                    sizes[block.start : block.start + len(block)] = block.sizes
                    if after_chunk is not None:
                        after_chunk()
        except BaseException as error:
            self._abandon(error)
            for chunk in (chunk for block in blocks for chunk in block.chunks if chunk.sent):
                self.tally.cost += self._price(chunk)  # though the round is never told
            raise
        return Answers(values, sizes)

    def _price(self, chunk: Chunk) -> float:
        if self.prices is None:
            return 0.0
        return float(self.prices.each(chunk.masks[:, : self.n_players]).sum())

    def _require_time(self, deadline: float, *, unasked: bool) -> None:
        """Stop where coalitions are left that no worker has, and the time is over."""
        unasked = unasked or (self._dispatcher is not None and self._dispatcher.waiting)
        if unasked and time.monotonic() > deadline:
            self._finish_in_flight()
            raise OutOfTimeError

    def _step(self, dispatcher: Dispatcher) -> None:
        """Wait for some chunks."""
        try:
            dispatcher.step()
        except OutOfMoneyError:
            self._finish_in_flight()
            raise
        self.tally.lost, self.tally.halved = dispatcher.losses, dispatcher.halved

    def _finish_in_flight(self) -> None:
        """Out of time or money: what workers have begun is paid for, and journalled."""
        while self._dispatcher is not None and self._dispatcher.drop_waiting():
            self._dispatcher.step()

    def _abandon(self, error: BaseException) -> None:
        """Stop in the middle of a round; keep what is answered already."""
        self._ledger.pending.clear()
        if self._dispatcher is not None:
            for chunk in self._dispatcher.abandon():
                if not isinstance(error, JournalError):
                    self._ledger.journal(chunk)
        if isinstance(error, EngineError):
            advice = "Give a journal so that a run can be continued where it stopped"
            if self.slot is not None:
                advice = (
                    f"All that was computed is in the journal {self.slot.journal.path}: run again "
                    "with it, with any engine, to continue"
                )
            raise EngineError(f"{error}. {advice}") from error

    def verify(self, count: int, rng: np.random.Generator) -> None:
        """Compute `count` journalled coalitions again; a JournalError when a value differs."""
        if self.slot is None or self.game is None or count == 0:
            return
        if self.noise is not None and seeded_draw(self.game) is None:
            raise InputError(
                "repeats draws, and this random game takes no seed",
                parameter="verify",
                remedy=(
                    "leave it out",
                    "use fs.games.Random with a function of a coalition and a seed",
                ),
            )
        rows = self.slot.journal.sample(self.slot.game, count, rng)
        for chunk, (_, journalled) in zip(self._again([key for key, _ in rows]), rows, strict=True):
            coalition = chunk.masks[0][: self.n_players]
            if chunk.values is None:
                raise failure(coalition, reason_of(chunk.error), chunk.error) from chunk.error
            value = float(chunk.values[0])
            self.tally.computed += 1
            if not math.isclose(value, journalled, rel_tol=VERIFY_TOLERANCE):
                raise changed(coalition, value, journalled, self.slot.journal.path)

    def changes(self, count: int) -> FloatArray:
        """By how much up to `count` utilities that the run knows differ when computed again."""
        known = {key: value for key, value in self.cache.some(count).items() if value == value}
        if self.noise is not None or self.game is None:
            return np.empty(0)
        pairs = zip(self._again([*known]), known.values(), strict=True)
        return np.array(
            [float(one.values[0]) - was for one, was in pairs if one.values is not None]
        )

    def _again(self, keys: list[bytes]) -> list[Chunk]:
        """Coalitions computed whether they are known or not, each in a chunk of its own."""
        if self.game is None or not keys:
            return []
        chunks = []
        for key in keys:
            if self.noise is not None:
                mask = self.noise.mask(key)
            else:
                mask = np.zeros(self.n_players, dtype=bool)
                mask[: self.n_active] = bits.from_keys([key], self.n_active)[0]
            chunks.append(Chunk(np.arange(1), mask[None], [key]))
            chunks[-1].sent = chunks[-1].known = True
        return self._opened(self.game)[1].compute(chunks)

    def _skips_looks(self, draw: Draw) -> bool:
        return self._many is not None and bool(getattr(draw, "fresh", False))

    def _look_up(self, draw: Draw, start: int, stop: int, pending: set[bytes]) -> Block:
        """Rows of a draw, and what is known of them; others may be `pending` in earlier rows."""
        masks = draw.masks(start, stop)
        if self.n_active < self.n_players:
            packed = bits.pack(masks[:, : self.n_active])
        else:
            packed = packed_rows(draw, start, masks)
        sizes, values = bits.sizes(packed), np.full(stop - start, np.nan)
        new = rows = np.arange(stop - start)
        if self.noise is not None:
            masks, packed, values = self.noise.rows(draw, start, masks, packed)
            new = rows = np.flatnonzero(np.isnan(values))
        elif self._many is not None and self._skips_looks(draw):
            rows = np.flatnonzero(~self._many[sizes])
            if not len(rows):
                return Block(start, masks, packed, sizes, values, {}, [], new)
        keys = bits.packed_keys(packed[rows])
        found, first = self.cache.get_many(keys), dict(zip(keys, rows.tolist(), strict=True))
        again: list[tuple[bytes, int]] = []
        if pending or len(first) < len(keys) or found.count(None) < len(found):
            values[rows] = np.array(found, dtype=np.float64)  # NaN where there is none
            places = zip(keys, rows.tolist(), strict=True)
            absent = [place for place, value in zip(places, found, strict=True) if value is None]
            first = dict(absent)
            if pending or len(first) < len(absent):
                first = {}
                for key, row in absent:
                    if key in first or key in pending:
                        again.append((key, row))
                    else:
                        first[key] = row
            needed = np.full(stop - start, self.noise is None)
            needed[rows] = False
            needed[list(first.values())] = True
            # In order: a product of matrices has other last bits in another.
            new = np.flatnonzero(needed)
        return Block(start, masks, packed, sizes, values, first, again, new)

    def _obtain(self, block: Block, behind: int) -> None:
        """Values of new coalitions from the journal; chunks of the others.

        Chunks become small near the end of a round: `behind` are the rows after this block.
        """
        if not len(block.rows):
            return
        if self.prices is not None:
            block.cost = float(self.prices.each(block.masks[block.rows, : self.n_players]).sum())
        if self.slot is not None or self.replicates is not None:
            whole = len(block.first) == len(block.rows)
            keys = list(block.first) if whole else bits.packed_keys(block.packed[block.rows])
            block.keys = dict(zip(block.rows.tolist(), keys, strict=True))
        wanted = self._ledger.read_journal(block)
        if self._ledger.remember and behind:
            self._ledger.pending.update(block.first)
        if not len(wanted):
            return
        if self.game is None:
            raise ExhaustedError
        session, dispatcher = self._opened(self.game)
        while len(wanted):
            size = self.pace.share(len(wanted) + behind, session.workers)
            rows, wanted = wanted[:size], wanted[size:]
            part = slice(None) if len(rows) == len(block) else rows  # which copies nothing
            keys = [block.keys[row] for row in rows.tolist()] if block.keys else []
            block.chunks.append(Chunk(rows, block.masks[part], keys))
        block.leaves = list(block.chunks)
        dispatcher.push(block.chunks)
