"""The evaluator: utilities of the coalitions of a draw, each distinct one computed once.

A round is looked up as a whole: what neither the cache nor the journal has is cut into chunks for
the engine. A chunk is journalled as soon as it is answered, whatever the order, and settled in the
order of the draw, so that values, counts and the first failure are as in a serial run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from fairshapley._basics import bits, checks
from fairshapley._basics.types import BoolArray, FloatArray, SizeArray
from fairshapley.draws import Draw, ListedCoalitions, packed_rows
from fairshapley.draws.device import DeviceDraw
from fairshapley.errors import EngineError, GameError, InputError, JournalError
from fairshapley.evaluation.cache import CACHE_BYTES, Cache, Replicates, entry_bytes
from fairshapley.evaluation.dispatch import (
    FIRST_CHUNK,
    Chunk,
    Dispatcher,
    OutOfTimeError,
    Pace,
    Tally,
)
from fairshapley.evaluation.engines import Engine, SerialEngine
from fairshapley.evaluation.engines.engine import PackedGame
from fairshapley.evaluation.failures import (
    LARGEST_UTILITY,
    NEGLIGIBLE,
    changed,
    failure,
    reason_of,
    shorten,
    unusable,
)
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.journal import Journal
from fairshapley.evaluation.noise import Noise
from fairshapley.evaluation.on_device import evaluate_on_device
from fairshapley.evaluation.prices import Prices
from fairshapley.games import abilities
from fairshapley.games.abilities import DeviceGame
from fairshapley.games.game import MAX_TABLE_PLAYERS, FunctionGame, Game, members

__all__ = ["Evaluator", "ExhaustedError", "JournalSlot", "OnError", "OutOfTimeError", "Tally"]

# Two evaluations of the same coalition may differ by the order of a sum inside a linear algebra
# library; more than that is another utility.
VERIFY_TOLERANCE = 1e-9
# A round too large to be remembered is worked through in parts of this size.
PART_BYTES = 1 << 26
# Decimals beyond which sums of prices differ by their order.
SMALLEST_SUM = 12

OnError = Literal["raise", "skip"]


class OutOfMoneyError(Exception):
    """What failed cannot be computed again within the budget; what was computed is kept."""


class ExhaustedError(Exception):
    """A replay without the game met a coalition that the journal does not hold."""


class Answers(NamedTuple):
    """What evaluation says of a draw, coalition by coalition: tensors where it is on a device."""

    values: FloatArray
    """Their utilities, NaN for those skipped"""
    sizes: SizeArray
    """How many active players each has; none of them where coalitions stay on a device"""


class JournalSlot(NamedTuple):
    """A journal together with the number that the game has in it."""

    journal: Journal
    game: int


@dataclass(eq=False)
class Part:
    """A round, or rows of one that is too large to be remembered."""

    keys: list[bytes]
    """The coalitions, of random games with their seeds"""
    sizes: SizeArray
    values: FloatArray
    """The utility of each row, as far as it is known"""
    unknown: list[int]
    """The other rows"""
    new: dict[bytes, int]
    """The distinct coalitions of these, each with its first row"""


@dataclass(eq=False, repr=False)
class Evaluator:
    """Deduplicates, remembers, journals and counts."""

    game: Game | None
    """The game; None replays from the journal alone"""
    n_players: int
    _: KW_ONLY
    n_nulls: int = 0
    """The last players, when they are declared null: coalitions that differ only in null players
    are one, and the game is asked for it without them"""
    engine: Engine = field(default_factory=SerialEngine)
    """Who computes; by default this process"""
    slot: JournalSlot | None = None
    """Where values are journalled and found again"""
    on_error: OnError = "raise"
    """"raise" stops at the first utility that fails, "skip" records it and gives NaN"""
    guard: InterruptGuard = field(default_factory=InterruptGuard)
    """Lets Ctrl-C through while a utility runs"""
    cache_bytes: int = CACHE_BYTES
    """The memory for utilities already known"""
    replicating: bool = False
    """Whether to ask the game, where it can tell, for utilities without groups of test rows too"""
    noise: Noise | None = None
    """The draws of a game whose utility is random; nothing is remembered then"""
    value_range: tuple[float, float] | None = None
    """Between which numbers the game says that its utilities lie; others are failures"""

    def __post_init__(self) -> None:
        self.n_active = self.n_players - self.n_nulls
        self.cache = Cache(self.n_active, self.cache_bytes)
        self.prices = Prices.of(self.game)
        self.money = math.inf
        """The most that evaluations may cost"""
        self.replicates: Replicates | None = None
        if self.replicating and self.noise is None and abilities.has_replicates(self.game):
            self.replicates = Replicates(self.n_active, self.game.n_replicates)
        self.tally = Tally()
        self._range = None if self.value_range is None else checks.with_slack(self.value_range)
        self.on_device: DeviceGame | None = None
        """The game's form on a device, for draws that stay there"""
        self._dispatcher: Dispatcher | None = None
        self._looked_up: tuple[Draw, Part] | None = None
        """What the pricing of a draw has found, for its evaluation"""
        self._failures: dict[bytes, str] | None = None
        self._run = ""
        """The name of the run in the journal's bills"""

    def close(self) -> None:
        """Let go of the game in the engine."""
        if self._dispatcher is not None:
            self._dispatcher.session.close()
            self._dispatcher = None

    @property
    def workers(self) -> int:
        """How many workers compute; 0 when it is this process, or nothing was computed yet."""
        return 0 if self._dispatcher is None else self._dispatcher.session.workers

    @property
    def complete(self) -> bool:
        """Whether every coalition of the game is known."""
        enumerable = self.n_active <= MAX_TABLE_PLAYERS and self.noise is None
        return enumerable and self.cache.complete and not self.tally.skipped

    def ends(self) -> ListedCoalitions:
        """Return the first draw of a run: ∅ and N, several times where utilities are random."""
        if self.noise is not None:
            return self.noise.first()
        return ListedCoalitions.of(np.array([[False], [True]]).repeat(self.n_players, axis=1))

    def endpoints(self) -> tuple[float, float]:
        """Return v(∅) and v(N); they cannot be skipped."""
        values = self.evaluate(self.ends()).values
        if self.noise is not None:
            empty, full = self.noise.take_first(values)
        else:
            empty, full = values.tolist()
        if self.tally.skipped:
            raise GameError(
                "v(∅), the utility of the empty coalition, and v(N) cannot be skipped: failed is "
                f"{self.tally.first_failure}"
            )
        return empty, full

    def affordable(
        self, draw: Draw, limit: float, *, priced: bool = False, whole: bool = False
    ) -> int:
        """Return how many leading coalitions of a draw may be computed for so much.

        The limit is a number of evaluations, or money (`priced`). Only *new* coalitions count,
        unless all do (`whole`). The cost of some rounds together is that of the union of their
        coalitions, whatever their order, so that i.i.d. rounds stay exchangeable given how many
        fit, and their mean stays unbiased; counting the length of a round would not leave it so.
        Only the first round must fit as a whole, see `Allowance`.
        """
        count = len(draw)
        if not priced:
            coalitions = math.inf if self.noise is not None else 1 << min(self.n_active, 62)
            if count <= limit or coalitions <= self.tally.evaluations + limit:
                return count
            if whole or self.on_device is not None or not self._remembers(draw):
                return int(limit)
        spent, start = 0.0, 0
        for part in self._parts(draw):
            keys = part.keys if whole else [*part.new]
            sums = spent + np.cumsum(self._prices_of(keys) if priced else np.ones(len(keys)))
            if (over := sums > limit).any():
                at = int(over.argmax())
                return start + (at if whole else part.new[keys[at]])
            spent, start = float(sums[-1]) if keys else spent, start + len(part.keys)
        return count

    def cost(self, draw: Draw) -> float:
        """Return what the coalitions of a draw cost, known ones too, where there are prices."""
        return sum(self._price(part.keys) for part in self._parts(draw)) if self.prices else 0.0

    def _price(self, keys: Sequence[bytes]) -> float:
        return float(self._prices_of(keys).sum())

    def _prices_of(self, keys: Sequence[bytes]) -> FloatArray:
        if self.prices is None or not keys:
            return np.zeros(len(keys))
        return self.prices.each(self._masks(keys))

    def _masks(self, keys: Sequence[bytes]) -> BoolArray:
        """Return coalitions as the game sees them, of random games without their seeds."""
        masks = np.zeros((len(keys), self.n_players), dtype=bool)
        packed = bits.joined(keys, len(keys[0]))[:, : bits.width(self.n_active)]
        masks[:, : self.n_active] = bits.unpack(packed, self.n_active)
        return masks

    def _remembers(self, draw: Draw) -> bool:
        """Return whether a round stays in the cache: not when it would fill half of it or more."""
        return self.noise is None and len(draw) <= self.cache.longest_round

    def _parts(self, draw: Draw) -> Iterator[Part]:
        """Look a draw up, as a whole where it is remembered."""
        if self._looked_up is not None and self._looked_up[0] is draw:
            yield self._looked_up[1]
            return
        self.cache.make_room()
        count, remembers = len(draw), self._remembers(draw)
        step = count if remembers else PART_BYTES // entry_bytes(self.n_players)
        for start in range(0, max(1, count), max(1, step)):
            part = self._look_up(draw, start, min(count, start + step))
            if remembers:
                self._looked_up = draw, part
            yield part

    def _look_up(self, draw: Draw, start: int, stop: int) -> Part:
        """Return rows of a draw with what memory has of them."""
        packed = packed_rows(draw, start, stop, self.n_players)
        if self.n_active < self.n_players:
            packed = bits.first_players(packed, self.n_active)
        sizes, stated = bits.sizes(packed), None
        if self.noise is not None:
            packed, stated = self.noise.seeded(draw, start, packed)
        keys = bits.packed_keys(packed)
        known = list(map(self.cache.get, keys))
        if stated is not None:
            both = zip(known, stated.tolist(), strict=True)
            known = [told if math.isnan(end) else end for told, end in both]
        new: dict[bytes, int] = {}
        unknown = [row for row, value in enumerate(known) if value is None]
        for row in unknown:
            new.setdefault(keys[row], row)
        return Part(keys, sizes, np.array(known, dtype=np.float64), unknown, new)

    def evaluate(
        self, draw: Draw, deadline: float = math.inf, after_chunk: Callable[[], None] | None = None
    ) -> Answers:
        """Evaluate one round: the utilities of all coalitions of a draw, and their sizes."""
        if self.on_device is not None and isinstance(draw, DeviceDraw):

            def between() -> None:
                if time.monotonic() > deadline:
                    raise OutOfTimeError
                if after_chunk is not None:
                    after_chunk()

            values, largest = evaluate_on_device(self.on_device, draw, self.guard, between)
            self.tally.largest = max(self.tally.largest, largest)
            self.tally.evaluations += len(values)
            self.tally.computed += len(values)
            return Answers(values, np.empty(0, dtype=np.int64))
        parts = []
        for part in self._parts(draw):
            self._looked_up = None
            found = self._complete(part, deadline, after_chunk)
            if self._remembers(draw):
                self.cache.update(found)
            parts.append(part)
        if len(parts) == 1:
            return Answers(parts[0].values, parts[0].sizes)
        values = np.concatenate([part.values for part in parts])
        return Answers(values, np.concatenate([part.sizes for part in parts]))

    def _complete(
        self, part: Part, deadline: float, after_chunk: Callable[[], None] | None
    ) -> dict[bytes, float]:
        """Find or compute the utilities of the coalitions that miss one."""
        new, found = [*part.new], dict[bytes, float]()
        journalled = self._journalled(new)
        missing = [key for key in new if key not in journalled]
        dispatcher = self._opened() if missing else None  # a round that cannot begin costs nothing
        self.tally.cost += self._price(new)
        self.tally.cache_hits += len(part.keys) - len(new)
        self._keep(found, [*journalled], np.array([*journalled.values()]))
        if dispatcher is not None:
            with self._stopping(dispatcher):
                for chunk in dispatcher.compute(missing, deadline):
                    self._keep(found, chunk.keys, self._taken(chunk))
                    if after_chunk is not None:
                        after_chunk()
        part.values[part.unknown] = [found[part.keys[row]] for row in part.unknown]
        return found

    def _keep(self, found: dict[bytes, float], keys: Sequence[bytes], values: FloatArray) -> None:
        """Count utilities, and add them to those found."""
        sizes = np.abs(values)
        largest = float(sizes[sizes <= LARGEST_UTILITY].max(initial=0.0))
        self.tally.largest = max(self.tally.largest, largest)
        self.tally.evaluations += len(keys)
        found.update(zip(keys, np.where(sizes < NEGLIGIBLE, 0.0, values).tolist(), strict=True))

    def _journalled(self, keys: list[bytes]) -> dict[bytes, float]:
        """Return the utilities that the journal knows.

        Failures are known too, when they are to be skipped: NaN.
        """
        if self.slot is None or not keys:
            return {}
        journal, game = self.slot
        found = journal.lookup(game, keys)
        if self._range is not None and found:
            lowest, highest = min(found.values()), max(found.values())
            if not self._range[0] <= lowest <= highest <= self._range[1]:
                raise JournalError(
                    f"the journal {journal.path} holds utilities from {lowest:g} to {highest:g}, "
                    "outside the value_range that the game states: restore a copy of the journal, "
                    "or give another file"
                )
        if self.replicates is not None:
            self.replicates.add_packed(journal.replicates(game, [*found]))
        if self.on_error == "skip":
            if self._failures is None:
                self._failures = journal.failures(game)
            for key in keys:
                if key in self._failures and key not in found:
                    found[key] = math.nan
                    self._skip(key, self._failures[key])
        return found

    def _opened(self) -> Dispatcher:
        """Return the dispatcher; the engine is opened when the first utility must be computed."""
        if self.game is None:
            raise ExhaustedError
        if self._dispatcher is None:
            columns = None if self.replicates is None else 1 + self.replicates.n_groups
            seeded = self.noise is not None
            game = PackedGame(self.game, self.n_active, columns=columns, seeded=seeded)
            # A chunk that fails is paid as a whole: where there are prices it is one evaluation.
            chunk_size = self.engine.chunk_size or (None if self.prices is None else 1)
            # What one call of a plain function takes is not known before it: it may be paid.
            first = 1 if isinstance(self.game, FunctionGame) else FIRST_CHUNK
            pace = Pace(chunk_size, self.n_players, abilities.batch_size(self.game), first)
            session = self.engine.open(game)
            self._dispatcher = Dispatcher(
                session, self.engine, pace, self.guard, self.tally, self._journal, self._begin
            )
        return self._dispatcher

    def _journal(self, chunk: Chunk) -> None:
        """Keep what can be taken, as soon as it is there."""
        assert chunk.values is not None  # noqa: S101 - chunks without come to nothing here
        chunk.unusable = unusable(chunk.values, self._range)
        if self.slot is not None:
            kept = [at for at in range(len(chunk)) if at not in chunk.unusable]
            wanted = {} if self.replicates is None else self.replicates.wanted(chunk.replicates)
            keys = [chunk.keys[at] for at in kept]
            self.slot.journal.append(self.slot.game, keys, chunk.values[kept], wanted)
            self._bill(answered=self._price(keys))
        self.tally.computed += len(chunk) - len(chunk.unusable)

    def continue_bill(self, run: str) -> None:
        """Go on from what the same run has paid before, with this journal."""
        self._run = run
        paid, answered = self._bill()
        self.tally.cost += max(0.0, round(paid - answered, SMALLEST_SUM))

    def _bill(self, paid: float = 0.0, answered: float = 0.0) -> tuple[float, float]:
        if self.slot is None or self.prices is None or self.slot.journal.readonly:
            return 0.0, 0.0
        return self.slot.journal.bill(self.slot.game, self._run, paid, answered)

    def _begin(self, chunk: Chunk) -> None:
        """Pay for coalitions, unless there is no money left to compute them (once more)."""
        price = self._price(chunk.keys)
        again = price if chunk.sent else 0.0
        paid, _ = self._bill()
        if round(max(self.tally.cost + again, paid + price) - self.money, SMALLEST_SUM) > 0:
            raise OutOfMoneyError
        self.tally.cost += again
        self._bill(price)
        if chunk.retries:
            self.tally.retried += len(chunk)
            self.tally.computed += len(chunk)

    def _taken(self, chunk: Chunk) -> FloatArray:
        """Return the utilities of a chunk, NaN where one is skipped."""
        if chunk.values is None:
            if isinstance(chunk.error, GameError) and chunk.error.coalition is None:
                raise chunk.error
            chunk.unusable = {0: reason_of(chunk.error)}
        if self.replicates is not None:
            self.replicates.add_packed(chunk.replicates)
        values = np.full(1, math.nan) if chunk.values is None else np.array(chunk.values)
        for at, reason in chunk.unusable.items():
            key = chunk.keys[at]
            if self.slot is not None:
                self.slot.journal.append_failure(self.slot.game, key, reason)
            if self.on_error == "raise":
                raise failure(self._masks([key])[0], reason, chunk.error) from chunk.error
            self.tally.computed += 1
            values[at] = math.nan
            self._bill(answered=self._price([key]))  # the failure is journalled as the answer
            self._skip(key, reason)
        return values

    def _skip(self, key: bytes, reason: str) -> None:
        """Count a failure; they come in the order of the draw."""
        self.tally.skipped += 1
        if self.tally.skipped == 1:
            coalition = members(self._masks([key])[0])
            self.tally.first_failure = f"coalition {shorten(coalition)}: {reason}"

    @contextmanager
    def _stopping(self, dispatcher: Dispatcher) -> Iterator[None]:
        """Keep what is answered, and pay what was begun, where a round stops in its middle."""
        try:
            yield
        except BaseException as error:
            self.tally.cost -= self._price(dispatcher.unsent)
            try:
                paid = self.prices is not None and isinstance(error, GameError)
                if paid or isinstance(error, OutOfTimeError | OutOfMoneyError):
                    dispatcher.finish()
            finally:
                for chunk in dispatcher.abandon():
                    if not isinstance(error, JournalError):
                        self._journal(chunk)
            if not isinstance(error, EngineError):
                raise
            advice = "Give a journal so that a run can be continued where it stopped"
            if self.slot is not None:
                advice = (
                    f"All that was computed is in the journal {self.slot.journal.path}: run again "
                    "with it, with any engine, to continue"
                )
            raise EngineError(f"{error}. {advice}") from error

    def verify(self, count: int, rng: np.random.Generator) -> None:
        """Compute `count` journalled coalitions again; raise JournalError when a value differs."""
        if self.slot is None or self.game is None or count == 0:
            return
        if self.noise is not None and abilities.seeded_draw(self.game) is None:
            raise InputError(
                "repeats draws, and this random game takes no seed",
                parameter="verify",
                remedy=(
                    "leave it out",
                    "use fs.games.Random with a function of a coalition and a seed",
                ),
            )
        journalled = dict(self.slot.journal.sample(self.slot.game, count, rng))
        for key, value, error in self._again([*journalled]):
            mask = self._masks([key])[0]
            if error is not None:
                raise failure(mask, reason_of(error), error) from error
            self.tally.computed += 1
            if not math.isclose(value, journalled[key], rel_tol=VERIFY_TOLERANCE):
                raise changed(mask, value, journalled[key], self.slot.journal.path)

    def changes(self, count: int) -> FloatArray:
        """Return by how much up to `count` utilities differ from before when computed again."""
        known = {key: value for key, value in self.cache.first(count).items() if value == value}
        if self.noise is not None or self.game is None:
            return np.empty(0)
        again = self._again([*known])
        return np.array([value - known[key] for key, value, error in again if error is None])

    def _again(self, keys: list[bytes]) -> Iterator[tuple[bytes, float, Exception | None]]:
        """Compute coalitions whether they are known or not: their utilities, or their errors."""
        if not keys:
            return
        dispatcher = self._opened()
        with self._stopping(dispatcher):
            chunks = [*dispatcher.compute(keys, again=True)]
        for chunk in chunks:
            self._bill(answered=self._price(chunk.keys))
            values = np.full(len(chunk), math.nan) if chunk.values is None else chunk.values
            for key, value in zip(chunk.keys, values.tolist(), strict=True):
                yield key, value, chunk.error
