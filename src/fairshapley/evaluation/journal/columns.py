"""The utilities of a journal, in columns: each batch is one row of the file.

A batch is the bits of its coalitions, one after the other, and their utilities. So a row of the
file costs what a batch costs, and all of them are read as arrays. Coalitions are looked up in
memory, where they come when something is looked up.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import bits, checks
from fairshapley._basics.types import ByteArray, FloatArray, IntArray
from fairshapley.errors import JournalError
from fairshapley.evaluation.journal.file import DAMAGED, JournalFile
from fairshapley.evaluation.journal.hashes import MODULUS, coalition_hashes, row_sum
from fairshapley.evaluation.journal.index import Index
from fairshapley.randomness import SEED_BYTES

# Replicates are what utilities change by without each group of test rows, as float32. Only games
# that score on test rows have any; a file of version 2 has the table when it has some.
BATCH_TABLES = """
    CREATE TABLE IF NOT EXISTS replicates (game INTEGER NOT NULL, coalition BLOB NOT NULL,
        changes BLOB NOT NULL, PRIMARY KEY (game, coalition)) WITHOUT ROWID;
    CREATE TABLE batches (id INTEGER PRIMARY KEY, game INTEGER NOT NULL,
        coalitions BLOB NOT NULL, utilities BLOB NOT NULL);
    CREATE INDEX batches_of_games ON batches (game)"""
# Over the rows of a game, one for each coalition with its utility, however they are kept.
SUMS_TABLE = """
    CREATE TABLE sums (game INTEGER PRIMARY KEY, count INTEGER NOT NULL, sum TEXT NOT NULL)"""
# Up to version 2 each utility was a row of one of these tables, the second after the first. They
# stay in a file that has them: nothing is copied, and so nothing is lost.
ROW_TABLES = {"evaluations": "coalition", "arrivals": "rowid"}
READ_ROWS = 4096
# Put together, for batches may be small; large ones, of half a second's work, have some megabytes.
READ_BATCHES = 16
UTILITY = np.dtype("<f8")


@dataclass(frozen=True)
class RowCheck:
    """What reading all rows of a game found."""

    count: int
    """The rows"""
    fault: str
    """What is wrong with them, as a sentence; empty when nothing is"""
    summed: bool
    """Whether there is a sum to compare with; a journal of the first version has none"""


class ColumnFile(JournalFile):
    """The file of a journal with the utilities of games, and a sum over the rows of each."""

    @cached_property
    def _indexes(self) -> dict[int, Index]:
        """What was looked up of each game; empty until then."""
        return {}

    @contextmanager
    def _sound(self, table: str) -> Iterator[None]:
        """Say that the journal is damaged when what a table holds makes no sense."""
        try:
            yield
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            finding = f"table {table}: {error}"
            raise JournalError(f"the journal {self.path} {DAMAGED.format(finding)}") from error

    def _upgrade(self, version: int) -> None:
        if version < 2:
            self._db.execute(SUMS_TABLE)
            for (game,) in self._db.execute("SELECT id FROM games").fetchall():
                for _, packed, values in self._columns(game):
                    self._add_to_sum(game, packed, values)
        if version < 3:
            for statement in BATCH_TABLES.split(";"):
                self._db.execute(statement)
            self._db.execute("DROP VIEW IF EXISTS utilities")  # it would not show the batches

    def append(
        self, game: int, coalitions: ByteArray | Sequence[bytes], utilities: ArrayLike
    ) -> None:
        """Write a batch, in one transaction; a coalition that has a utility keeps it.

        Coalitions are rows of bits (as an array), or keys.
        """
        packed, values = _as_rows(coalitions), np.ascontiguousarray(utilities, dtype=UTILITY)
        if len(packed) != len(values) or not np.isfinite(values).all():
            raise JournalError(
                f"the journal {self.path} takes a finite utility for each coalition, not "
                f"{len(values)} utilities {values!r:.40} for {len(packed)}"
            )
        if not len(packed):
            return
        with self._transaction():
            self._db.execute(
                "INSERT INTO batches (game, coalitions, utilities) VALUES (?, ?, ?)",
                (game, packed.tobytes(), values.tobytes()),
            )
            self._add_to_sum(game, packed, values)

    def _add_to_sum(self, game: int, packed: ByteArray, values: FloatArray) -> None:
        """Keep the sum over the rows of a game; in the transaction that adds the rows."""
        count, total = self._sum(game)
        total = (total + row_sum(packed, values)) % MODULUS
        row = (game, count + len(values), f"{total:016x}")
        self._db.execute("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", row)

    def _sum(self, game: int) -> tuple[int, int]:
        """The number of rows and their sum, as recorded."""
        found = self._all("SELECT count, sum FROM sums WHERE game = ?", game)
        return (int(found[0][0]), int(found[0][1], 16)) if found else (0, 0)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """All that is read inside is of one moment, whoever writes meanwhile."""
        with self._transaction("BEGIN"), self._sound("batches"):
            yield

    def _has(self, table: str) -> bool:
        return bool(self._all("SELECT 1 FROM sqlite_master WHERE name = ?", table))

    def _batches(self, game: int, after: int) -> Iterator[tuple[int, Any, Any]]:
        """The batches of a game behind one of them; rows of older versions are batch 0."""
        for table, order in ROW_TABLES.items():
            if after < 0 and self._has(table):
                query = f"SELECT coalition, value FROM {table} WHERE game = ? ORDER BY {order}"  # noqa: S608
                rows = self._db.execute(query, (game,))
                while found := rows.fetchmany(READ_ROWS):
                    keys, values = zip(*found, strict=True)
                    numbers = np.asarray(array("d", values), dtype=UTILITY)
                    yield 0, _as_rows(keys).tobytes(), numbers.tobytes()
        if self._has("batches"):
            query = "SELECT id, coalitions, utilities FROM batches WHERE game = ? AND id > ?"
            rows = self._db.execute(query + " ORDER BY id", (game, after))
            yield from iter(rows.fetchone, None)  # `yield from rows` closes them, maybe too late

    def _columns(self, game: int, after: int = -1) -> Iterator[tuple[int, ByteArray, FloatArray]]:
        """The rows of a game behind a batch, some batches at a time, with the last one's number."""
        found = self._all("SELECT n_players FROM games WHERE id = ?", game)
        width = bits.width(found[0][0]) if found else 0
        batches = self._batches(game, after)
        while some := list(islice(batches, READ_BATCHES)):
            numbers, coalitions, utilities = zip(*some, strict=True)
            yield numbers[-1], *_joined(coalitions, utilities, width)

    def find(self, game: int, packed: ByteArray, *, refresh: bool = True) -> FloatArray:
        """The utilities of coalitions, NaN for those without one.

        The first look reads all rows of the game (0.4 s per 10⁶) and keeps 24 bytes for each; later
        ones read what was added since then, unless `refresh` is False. Takes 0.1 to 1 µs a row.
        """
        index = self._indexes.get(game)
        if index is None or refresh:
            index = self._indexes[game] = self._refreshed(game, index or Index())
        found = np.full(len(packed), np.nan)
        return index.find(coalition_hashes(packed)) if index.runs else found

    def _refreshed(self, game: int, index: Index) -> Index:
        """The index with all that is in the file."""
        with self._reading():
            parts = [
                (last, coalition_hashes(packed), values)
                for last, packed, values in self._columns(game, index.last)
            ]
        if not parts:
            return index
        lasts, hashes, utilities = zip(*parts, strict=True)
        return index.added(lasts[-1], np.concatenate(hashes), np.concatenate(utilities))

    def lookup(self, game: int, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The utilities of those `keys` that have one."""
        values = self.find(game, _as_rows(keys)).tolist()
        return {key: value for key, value in zip(keys, values, strict=True) if value == value}

    def count(self, game: int) -> int:
        """How many coalitions of the game have a utility; takes 0.4 s per 10⁶."""
        with self._reading():
            return len(self._places(game))

    def _places(self, game: int) -> IntArray:
        """The places of the rows that count: with two writers, a coalition may have several."""
        parts = [coalition_hashes(packed) for _, packed, _ in self._columns(game)]
        hashes = np.concatenate([np.empty((0, 2), dtype=np.uint64), *parts])
        first = np.sort(hashes[:, 0])
        if (first[1:] != first[:-1]).all():
            return np.arange(len(hashes))
        return np.unique(hashes.view("S16")[:, 0], return_index=True)[1]

    def sample(self, game: int, k: int, rng: np.random.Generator) -> list[tuple[bytes, float]]:
        """Up to `k` different rows, each as likely as any other; takes 0.5 s per 10⁶ rows."""
        rows: list[tuple[bytes, float]] = []
        with self._reading():
            places = self._places(game)
            drawn = places if len(places) <= k else rng.choice(places, size=k, replace=False)
            start = 0
            for _, packed, values in self._columns(game):
                here = np.sort(drawn[(start <= drawn) & (drawn < start + len(values))]) - start
                rows += zip(bits.packed_keys(packed[here]), values[here].tolist(), strict=True)
                start += len(values)
        return rows

    def check_rows(self, game: int, value_range: tuple[float, float] | None = None) -> RowCheck:
        """Compare all rows of a game with their sum, and with the range of its utilities.

        Takes 0.1 s per 10⁶ rows.
        """
        count, total, lowest, highest = 0, 0, math.inf, -math.inf
        with self._reading():
            for _, packed, values in self._columns(game):
                count += len(values)
                total += row_sum(packed, values)
                lowest = min(lowest, float(values.min()))
                highest = max(highest, float(values.max()))
            known = self._sum(game) if self._has("sums") else None
        fault = ""
        if known is not None and known != (count, total % MODULUS):
            fault = (
                f"the {count:,} rows do not add up to their sum, that of {known[0]:,} rows: a row "
                "was changed, lost or added by something else than fairshapley"
            )
        elif count and value_range is not None:
            least, most = checks.with_slack(value_range)
            if not least <= lowest <= highest <= most:
                fault = (
                    f"its values are from {lowest:g} to {highest:g}, the utility is stated to lie "
                    f"between {value_range[0]:g} and {value_range[1]:g}"
                )
        return RowCheck(count, fault, known is not None)


def _as_rows(coalitions: ByteArray | Sequence[bytes]) -> ByteArray:
    """Keys of one length as rows of bits."""
    if isinstance(coalitions, np.ndarray):
        return coalitions
    width = max(map(len, coalitions), default=1)  # what is shorter fails below
    return np.frombuffer(b"".join(coalitions), dtype=np.uint8).reshape(len(coalitions), width)


def _joined(
    coalitions: Sequence[bytes], utilities: Sequence[bytes], width: int
) -> tuple[ByteArray, FloatArray]:
    """Batches as one; an error when what they hold makes no sense."""
    values = np.frombuffer(b"".join(utilities), dtype=UTILITY)
    packed = np.frombuffer(b"".join(coalitions), dtype=np.uint8)
    # A draw of a random utility has its seed behind the coalition.
    if len(packed) not in (len(values) * width, len(values) * (width + SEED_BYTES)):
        raise ValueError(f"{len(values)} utilities for {len(packed)} bytes of coalitions")
    if not np.isfinite(values).all():
        raise ValueError("a value is not finite")
    return packed.reshape(len(values), -1), values
