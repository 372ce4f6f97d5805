"""The journal: every utility ever paid for, in one SQLite file that survives ``kill -9``.

Coalitions arrive in random order, and a batch of 99 written straight into a sorted table dirties 99
pages. So they are appended to `arrivals`, as they come, and folded into the sorted `evaluations`
`FOLD_ROWS` at a time: thrice as fast at 10⁶ rows. Arrivals not yet folded are mirrored in memory.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from fairshapley.errors import JournalError
from fairshapley.evaluation.journal.row_sums import row_sum
from fairshapley.evaluation.journal.sums import SUMS_TABLE, SummedFile, numbers

_T = TypeVar("_T")
RunStatus = Literal["running", "finished", "interrupted", "failed"]

# Arrivals are folded when there are this many, or when their keys (long ones, of many players) take
# this many bytes: the mirror takes some 10 to 20 MB, and a fold 0.2 s at 10⁶ rows.
FOLD_ROWS = 65_536
FOLD_BYTES = 16 << 20
# A replay keeps up to this many rows in memory, some 150 bytes each.
LOADED_ROWS = 4_000_000

SCHEMA = """
    CREATE TABLE games (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE,
        n_players INTEGER NOT NULL, player_names TEXT);
    CREATE TABLE arrivals (game INTEGER NOT NULL, coalition BLOB NOT NULL, value REAL NOT NULL);
    CREATE TABLE evaluations (game INTEGER NOT NULL, coalition BLOB NOT NULL, value REAL NOT NULL,
        PRIMARY KEY (game, coalition)) WITHOUT ROWID;
    CREATE TABLE failures (game INTEGER NOT NULL, coalition BLOB NOT NULL, message TEXT NOT NULL,
        PRIMARY KEY (game, coalition)) WITHOUT ROWID;
    CREATE TABLE runs (id INTEGER PRIMARY KEY, game INTEGER NOT NULL, configuration TEXT NOT NULL,
        limits TEXT NOT NULL, seed TEXT NOT NULL, versions TEXT NOT NULL, started TEXT NOT NULL,
        updated TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
        evaluations INTEGER NOT NULL, result TEXT);
    CREATE VIEW utilities AS SELECT fingerprint, coalition, value
        FROM (SELECT * FROM evaluations UNION SELECT * FROM arrivals) JOIN games ON id = game;"""
SCHEMA += SUMS_TABLE
# What utilities change by without each group of test rows, as float32. Only games that score on
# test rows have any, and a journal of an older version has no such table.
REPLICATES_TABLE = """
    CREATE TABLE IF NOT EXISTS replicates (game INTEGER NOT NULL, coalition BLOB NOT NULL,
        changes BLOB NOT NULL, PRIMARY KEY (game, coalition)) WITHOUT ROWID"""

# The keys are one blob ?2 of pieces of ?3 bytes: one short statement for any number of keys, faster
# than lists `IN (?, ?, …)` of any length and than a temporary table, and 4 times a SELECT per key.
LOOKUP = """
    WITH RECURSIVE start(i) AS (
        VALUES (1) UNION ALL SELECT i + ?3 FROM start WHERE i + ?3 <= length(?2))
    SELECT coalition, value FROM start CROSS JOIN evaluations
    ON game = ?1 AND coalition = substr(?2, i, ?3)"""

# The arrivals that add nothing: with two writers, a coalition may arrive twice.
SURPLUS = """
    SELECT rowid, game, coalition, value FROM arrivals AS a WHERE EXISTS (
        SELECT 1 FROM evaluations AS e WHERE e.game = a.game AND e.coalition = a.coalition)
    OR rowid > (SELECT min(rowid) FROM arrivals AS b
        WHERE b.game = a.game AND b.coalition = a.coalition)"""

# The arrivals that add something: what was folded came first, then the row with the lowest rowid
# (in SQLite the other columns beside a min() are those of the row that has the minimum).
PENDING = """
    SELECT coalition, value, min(rowid) FROM arrivals AS a WHERE game = ?1 AND NOT EXISTS (
        SELECT 1 FROM evaluations AS e WHERE e.game = ?1 AND e.coalition = a.coalition)
    GROUP BY coalition"""

RUNS = """
    SELECT runs.id, game, fingerprint, n_players, player_names, configuration, limits, seed,
        versions, started, updated, status, evaluations, result
    FROM runs JOIN games ON games.id = game"""


@dataclass(frozen=True)
class GameRecord:
    """A game of the journal."""

    id: int
    fingerprint: str
    n_players: int
    player_names: tuple[str, ...] | None


@dataclass(frozen=True)
class RunRecord:
    """A run of the journal; one that was killed is still "running"."""

    id: int
    game: int
    fingerprint: str
    n_players: int
    player_names: tuple[str, ...] | None
    configuration: dict[str, Any]
    limits: dict[str, Any]
    seed: int
    versions: dict[str, str]
    started: str
    updated: str
    status: RunStatus
    evaluations: int
    result: dict[str, Any] | None


@dataclass
class _Mirror:
    """What is known of a game without asking SQLite: its arrivals, and whether there is more."""

    arrivals: dict[bytes, float]
    folded: bool


class Journal(SummedFile):
    r"""The utilities and the runs of a game, kept in one SQLite file.

    Coalitions are the rows of ``np.packbits(masks, axis=1, bitorder="little")`` as bytes. What
    `append` has written when it returns survives the death of the process; a power failure may take
    the last batches and leaves the file sound. One thread at a time uses a journal; other processes
    may still read it. The files ``-wal`` and ``-shm`` beside it belong to it: they are there
    while it is open, stay after a kill or a reader, and go when a writer next closes it.

    Parameters
    ----------
    path
        The file; it is made if it does not exist.
    shared
        Let the file hold several games. Without it a second game is refused, which catches the
        journal of yesterday's data.
    readonly
        Only read. Works on read-only media too.
    create
        Make the file if it does not exist; False refuses a file that is missing or empty.
    timeout
        The seconds to wait for another process that is writing.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Journal(f"{folder}/run.db") as journal:
    ...     game = journal.open_game("fingerprint of the game", n_players=3)
    ...     journal.append(game, [bytes([0b101]), bytes([0b111])], [0.5, 1.0])
    ...     journal.lookup(game, [bytes([0b111]), bytes([0b001])])
    {b'\x07': 1.0}
    """

    _fold_rows: ClassVar[int] = FOLD_ROWS

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        shared: bool = False,
        readonly: bool = False,
        create: bool = True,
        timeout: float = 5.0,
    ) -> None:
        super().__init__(path, SCHEMA, readonly=readonly, create=create, timeout=timeout)
        self.shared = shared
        self._mirrors: dict[int, _Mirror] = {}
        self._loaded: set[int] = set()
        self._n_arrivals = int(self._scalar("SELECT count(*) FROM arrivals"))

    def open_game(
        self, fingerprint: str, n_players: int, player_names: Sequence[str] | None = None
    ) -> int:
        """The id of the game, which is added if the journal does not hold it yet."""
        games = {game.fingerprint: game for game in self.games()}
        known = games.get(fingerprint)
        if known is not None and known.n_players != n_players:
            raise JournalError(
                f"the journal {self.path} holds this game with {known.n_players} players, not "
                f"{n_players}: give the game another key, or use another file"
            )
        if known is None and games and not self.shared:
            raise JournalError(
                f"the journal {self.path} belongs to another game (other data, parameters or "
                "code, or a function whose closure or globals change with use, such as a counter: "
                "give it a key=): use another file, or Journal(path, shared=True) to keep several "
                "games in one file"
            )
        if known is None or not self.readonly:
            names = None if player_names is None else _to_json(list(player_names))
            self._write(
                "INSERT INTO games (fingerprint, n_players, player_names) VALUES (?, ?, ?) "
                "ON CONFLICT (fingerprint) DO UPDATE SET "
                "player_names = coalesce(excluded.player_names, player_names)",
                *(fingerprint, n_players, names),
            )
        return int(self._scalar("SELECT id FROM games WHERE fingerprint = ?", fingerprint))

    def games(self) -> list[GameRecord]:
        """The games of the journal, oldest first."""
        query = "SELECT id, fingerprint, n_players, player_names FROM games ORDER BY id"
        with self._sound("games"):
            return [_game_record(row) for row in self._all(query)]

    def append(self, game: int, keys: Sequence[bytes], values: Sequence[float]) -> None:
        """Write the values in one transaction; a coalition that has a value keeps it."""
        mirror = self._mirror(game)
        fresh: dict[bytes, float] = {}
        for key, value in zip(keys, values, strict=True):
            if key not in mirror.arrivals:
                fresh.setdefault(key, value)
        rows = [(game, key, value) for key, value in fresh.items()]
        # A commit may be reported as failed and yet have happened: after an error here there is
        # no mirror, and the file is read again.
        del self._mirrors[game]
        with self._transaction():
            self._db.executemany("INSERT INTO arrivals VALUES (?, ?, ?)", rows)
            self._add_to_sum(game, len(rows), row_sum(fresh.keys(), numbers(fresh)))
        mirror.arrivals.update(fresh)
        self._mirrors[game] = mirror
        self._n_arrivals += len(rows)
        width = len(rows[0][1]) if rows else 1
        if self._n_arrivals >= min(self._fold_rows, FOLD_BYTES // width):
            self._fold()

    def _fold(self) -> None:
        self._mirrors.clear()
        with self._transaction():
            self._db.execute("SAVEPOINT fold")
            folded, arrived = self._move_arrivals()
            if folded < arrived:
                self._db.execute("ROLLBACK TO fold")
                self._drop_surplus()
                self._move_arrivals()
        self._n_arrivals = 0

    def _move_arrivals(self) -> tuple[int, int]:
        """Fold the arrivals in; how many were new, and how many there were."""
        new = self._db.execute(
            "INSERT OR IGNORE INTO evaluations SELECT game, coalition, value FROM arrivals "
            "ORDER BY game, coalition, rowid"
        )
        return new.rowcount, self._db.execute("DELETE FROM arrivals").rowcount

    def _drop_surplus(self) -> None:
        """Remove the arrivals that add nothing, and take them out of the sums."""
        surplus = self._db.execute(SURPLUS).fetchall()
        for rowid, game, key, value in surplus:
            self._db.execute("DELETE FROM arrivals WHERE rowid = ?", (rowid,))
            self._add_to_sum(game, -1, -row_sum([key], np.array([value])))

    def _mirror(self, game: int) -> _Mirror:
        # A reader may have a writer beside it that folds, so it looks afresh each time.
        fresh = self.readonly and game not in self._loaded
        mirror = None if fresh else self._mirrors.get(game)
        if mirror is None:
            arrivals = dict(self._pending(game))
            folded = self._all("SELECT 1 FROM evaluations WHERE game = ? LIMIT 1", game)
            mirror = self._mirrors[game] = _Mirror(arrivals, bool(folded))
        return mirror

    def load(self, game: int) -> None:
        """Read all rows into memory for a replay, which then does not see what others add.

        Too many rows stay in the file, and are looked up batch by batch.
        """
        loaded: dict[bytes, float] = {}
        with self._explained(), self._sound("evaluations"):
            for part in self.rows(game):
                # Of two writers' values for a coalition the one that was folded counts, or the
                # first: that is the order of the rows.
                part.update({key: loaded[key] for key in part.keys() & loaded.keys()})
                if not np.isfinite(numbers(part)).all():
                    raise ValueError("a value is not finite")
                loaded.update(part)
                if len(loaded) > LOADED_ROWS:
                    return
        self._mirrors[game] = _Mirror(loaded, folded=False)
        self._loaded.add(game)

    def _pending(self, game: int) -> list[tuple[bytes, float]]:
        """The arrivals of a game that add something."""
        with self._sound("arrivals"):
            return _utilities(row[:2] for row in self._all(PENDING, game))

    def lookup(self, game: int, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The values of those `keys` that have one, all of the game's length; 1 to 3 µs a key."""
        mirror = self._mirror(game)
        found = {key: mirror.arrivals[key] for key in keys if key in mirror.arrivals}
        if keys and mirror.folded:
            rows = self._all(LOOKUP, game, b"".join(keys), len(keys[0]))
            with self._sound("evaluations"):
                found.update(_utilities(rows))
        return found

    def append_replicates(self, game: int, rows: Mapping[bytes, bytes]) -> None:
        """Keep what the utilities of coalitions change by without each group of test rows."""
        with self._transaction():
            self._db.execute(REPLICATES_TABLE)
            self._db.executemany(
                "INSERT OR IGNORE INTO replicates VALUES (?, ?, ?)",
                [(game, key, changes) for key, changes in rows.items()],
            )

    def replicates(self, game: int, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What `append_replicates` kept of some coalitions."""
        if not self._all("SELECT 1 FROM sqlite_master WHERE name = 'replicates'"):
            return {}
        query = LOOKUP.replace("value", "changes").replace("evaluations", "replicates")
        with self._sound("replicates"):
            return dict(self._all(query, game, b"".join(keys), len(keys[0])))

    def count(self, game: int) -> int:
        """How many coalitions of the game have a value; takes up to 0.1 s per 10⁶."""
        return self._count_folded(game) + len(self._all(PENDING, game))

    def _count_folded(self, game: int) -> int:
        return int(self._scalar("SELECT count(*) FROM evaluations WHERE game = ?", game))

    def sample(self, game: int, k: int, rng: np.random.Generator) -> list[tuple[bytes, float]]:
        """Up to `k` different rows, each as likely as any other.

        SQLite walks over the keys once, from each drawn rank to the next (0.1 s per 10⁶ rows);
        only the drawn rows come into memory. Random keys would need no walk, but would prefer
        coalitions that have few neighbours.
        """
        folded, pending = self._count_folded(game), self._pending(game)
        total = folded + len(pending)
        drawn = range(total) if total <= k else rng.choice(total, size=k, replace=False).tolist()
        query = (
            "SELECT coalition, value FROM evaluations WHERE game = ? AND coalition > ? "
            "ORDER BY coalition LIMIT 1 OFFSET ?"
        )
        rows: list[tuple[bytes, float]] = []
        previous, key = -1, b""
        widths = {record.id: (record.n_players + 7) // 8 for record in self.games()}
        with self._sound("evaluations"):
            for rank in sorted(drawn):
                if rank < folded:
                    row = self._all(query, game, key, rank - previous - 1)[0]
                    previous, key = rank, row[0]
                else:
                    row = pending[rank - folded]
                rows.append(row)
            return _utilities(rows, widths.get(game, 0))

    def append_failure(self, game: int, key: bytes, message: str) -> None:
        """Record that the utility of a coalition failed."""
        text = message.encode(errors="backslashreplace").decode()  # SQLite takes no lone surrogates
        self._write("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", game, key, text)

    def failures(self, game: int) -> dict[bytes, str]:
        """The coalitions that failed, with the last message; one may have a value by now."""
        return dict(self._all("SELECT coalition, message FROM failures WHERE game = ?", game))

    def start_run(
        self,
        game: int,
        configuration: Mapping[str, object],
        limits: Mapping[str, object],
        seed: int,
        versions: Mapping[str, str],
    ) -> int:
        """Record a run as "running" and return its id.

        The configuration and the seed say what a run computes, the limits how far it goes.
        """
        texts = (_to_json(configuration), _to_json(limits), str(seed), _to_json(versions))
        cursor = self._write(
            "INSERT INTO runs (game, configuration, limits, seed, versions, started, updated, "
            "status, evaluations) VALUES (?, ?, ?, ?, ?, ?, ?, 'running', 0)",
            *(game, *texts, _now(), _now()),
        )
        return int(cursor.lastrowid or 0)

    def update_run(
        self,
        run_id: int,
        *,
        status: RunStatus,
        evaluations: int,
        result: Mapping[str, object] | None = None,
    ) -> None:
        """Record how far a run has come; without a `result` the one recorded before stays."""
        text = None if result is None else _to_json(result)
        cursor = self._write(
            "UPDATE runs SET updated = ?, status = ?, evaluations = ?, "
            "result = coalesce(?, result) WHERE id = ?",
            *(_now(), status, evaluations, text, run_id),
        )
        if cursor.rowcount == 0:
            raise JournalError(f"the journal {self.path} has no run {run_id}: see Journal.runs()")

    def runs(self, game: int | None = None) -> list[RunRecord]:
        """The runs of the game, or of all games, oldest first."""
        rows = self._all(RUNS + " WHERE ?1 IS NULL OR game = ?1 ORDER BY runs.id", game)
        with self._sound("runs"):
            return [_run_record(row) for row in rows]

    def find_run(
        self, game: int, configuration: Mapping[str, object], seed: int | None = None
    ) -> RunRecord | None:
        """The newest run of the game with this configuration, and with the seed if it is given."""
        query = RUNS + (
            " WHERE game = ?1 AND configuration = ?2 AND (?3 IS NULL OR seed = ?3) "
            "ORDER BY runs.id DESC LIMIT 1"
        )
        text = None if seed is None else str(seed)
        rows = self._all(query, game, _to_json(configuration), text)
        with self._sound("runs"):
            return _run_record(rows[0]) if rows else None


def _to_json(content: object) -> str:
    """JSON in one form, so that equal configurations are equal texts."""
    try:
        return json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise JournalError(
            f"the journal cannot hold {content!r:.80} as JSON ({error}): use plain finite numbers, "
            "strings, lists and dictionaries"
        ) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _game_record(row: Sequence[Any]) -> GameRecord:
    """A row of the table of games, or an error when it makes no sense."""
    id_, fingerprint, n_players, names = row
    n_players = _counter(n_players, 1)
    if names is None:
        return GameRecord(_counter(id_), _text(fingerprint), n_players, None)
    players = _from_json(names, list)
    if len(players) != n_players:
        raise ValueError(f"{len(players)} names for {n_players} players")
    return GameRecord(_counter(id_), _text(fingerprint), n_players, tuple(map(_text, players)))


def _run_record(row: Sequence[Any]) -> RunRecord:
    """A row of `RUNS`, or an error when it makes no sense."""
    id_, game, fingerprint, n_players, names, configuration, limits, seed, versions, *rest = row
    started, updated, status, evaluations, result = rest
    played = _game_record((game, fingerprint, n_players, names))
    if status not in get_args(RunStatus):
        raise ValueError(f"unknown status {status!r:.40}")
    return RunRecord(
        *(_counter(id_), played.id, played.fingerprint, played.n_players, played.player_names),
        *(_from_json(configuration, dict), _from_json(limits, dict), _counter(int(_text(seed)))),
        versions={name: _text(version) for name, version in _from_json(versions, dict).items()},
        started=_text(started),
        updated=_text(updated),
        status=status,
        evaluations=_counter(evaluations),
        result=None if result is None else _from_json(result, dict),
    )


def _utilities(rows: Iterable[tuple[Any, Any]], width: int = 0) -> list[tuple[bytes, float]]:
    """Rows of coalitions (of `width` bytes) and values; an error for what is neither.

    A draw of a random utility has 4 bytes more, its seed.
    """
    checked = list(rows)
    for key, value in checked:
        if type(value) is not float or not math.isfinite(value):
            raise ValueError(f"the value {value!r:.40} is not a finite number")
        if type(key) is not bytes or (width and len(key) not in (width, width + 4)):
            raise ValueError(f"{key!r:.40} is not a coalition")
    return checked


def _from_json(text: object, kind: type[_T]) -> _T:
    content = json.loads(_text(text))
    if not isinstance(content, kind):
        raise ValueError(f"{text!r:.40} where a {kind.__name__} is expected")
    return content


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} where text is expected")
    return value


def _counter(value: object, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{value!r:.40} where a number of at least {least} is expected")
    return value
