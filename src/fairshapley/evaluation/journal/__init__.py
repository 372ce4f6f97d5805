"""The journal: every utility ever paid for, in one SQLite file that survives ``kill -9``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairshapley.errors import JournalError
from fairshapley.evaluation.journal.file import DAMAGED, JournalFile

RunStatus = Literal["running", "finished", "interrupted", "failed"]

# A coalition has a utility or the reason why it failed. Replicates are what the utility changes by
# without each group of test rows, as float32; only games that score on test rows have any.
SCHEMA = """
    CREATE TABLE games (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE,
        n_players INTEGER NOT NULL);
    CREATE TABLE evaluations (game INTEGER NOT NULL, coalition BLOB NOT NULL, utility REAL,
        replicates BLOB, failure TEXT, PRIMARY KEY (game, coalition)) WITHOUT ROWID;
    CREATE TABLE runs (id INTEGER PRIMARY KEY, game INTEGER NOT NULL, configuration TEXT NOT NULL,
        limits TEXT NOT NULL, seed TEXT NOT NULL, versions TEXT NOT NULL, origin TEXT NOT NULL,
        started TEXT NOT NULL, updated TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
        evaluations INTEGER NOT NULL, result TEXT)"""

# The first utility of a coalition stays.
APPEND = """
    INSERT INTO evaluations (game, coalition, utility, replicates) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET utility = coalesce(utility, excluded.utility),
        replicates = coalesce(replicates, excluded.replicates)"""

# The keys are one blob ?2 of pieces of ?3 bytes: one short statement for any number of keys, faster
# than lists `IN (?, ?, …)` of any length and than a temporary table, and 4 times a SELECT per key.
FIND = """
    WITH RECURSIVE start(i) AS (
        VALUES (1) UNION ALL SELECT i + ?3 FROM start WHERE i + ?3 <= length(?2))
    SELECT coalition, {0} FROM start CROSS JOIN evaluations
    ON game = ?1 AND coalition = substr(?2, i, ?3) WHERE {0} IS NOT NULL"""

KNOWN = "FROM evaluations WHERE game = ? AND utility IS NOT NULL"

RUNS = """
    SELECT runs.id, game, fingerprint, n_players, configuration, limits, seed, versions, origin,
        started, updated, status, evaluations, result
    FROM runs JOIN games ON games.id = game"""


class GameRecord(NamedTuple):
    """A game of the journal."""

    id: int
    fingerprint: str
    n_players: int


@dataclass(frozen=True)
class RunRecord:
    """A run of the journal; one that was killed is still "running"."""

    id: int
    game: int
    fingerprint: str
    n_players: int
    configuration: dict[str, Any]
    limits: dict[str, Any]
    seed: int
    versions: dict[str, str]
    origin: dict[str, Any]
    """The names of the players, the unit, the input files and the command line"""
    started: str
    updated: str
    status: RunStatus
    evaluations: int
    result: dict[str, Any] | None


class Journal(JournalFile):
    r"""The utilities and the runs of a game, kept in one SQLite file.

    Coalitions are the rows of ``np.packbits(masks, axis=1, bitorder="little")`` as bytes. What
    `append` has written when it returns survives the death of the process; a power failure may take
    the last batches and leaves the file sound. One thread at a time uses a journal; other processes
    may read and write it meanwhile. The files ``-wal`` and ``-shm`` beside it belong to it: they
    are there while it is open, stay after a kill or a reader, and go when a writer next closes it.

    Parameters
    ----------
    path
        The file; it is made if it does not exist.
    shared
        Let the file hold several games. Without it a second game is an error, which catches the
        journal of yesterday's data.
    readonly
        Only read. Works on read-only media too.
    create
        Make the file if it does not exist; with False a file that is missing or empty is an error.
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

    _schema: ClassVar[str] = SCHEMA

    @contextmanager
    def _sound(self, table: str) -> Iterator[None]:
        """Say that the journal is damaged when what a table holds makes no sense."""
        try:
            yield
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            finding = f"table {table}: {error}"
            raise JournalError(f"the journal {self.path} {DAMAGED.format(finding)}") from error

    def open_game(self, fingerprint: str, n_players: int) -> int:
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
                "code, or a function whose closure or globals change with use)",
                remedy=(
                    "use another file",
                    "give the function a {key}",
                    "keep several games in one file with Journal(path, {shared:True})",
                ),
            )
        if known is None:
            self._write(
                "INSERT OR IGNORE INTO games (fingerprint, n_players) VALUES (?, ?)",
                *(fingerprint, n_players),
            )
        return int(self._scalar("SELECT id FROM games WHERE fingerprint = ?", fingerprint))

    def games(self) -> list[GameRecord]:
        """The games of the journal, oldest first."""
        rows = self._all("SELECT id, fingerprint, n_players FROM games ORDER BY id")
        return [GameRecord(*row) for row in rows]

    def append(
        self,
        game: int,
        keys: Sequence[bytes],
        utilities: ArrayLike,
        replicates: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Write utilities in one transaction; a coalition that has a utility keeps it."""
        values = np.asarray(utilities, dtype=np.float64)
        if len(keys) != len(values) or not np.isfinite(values).all():
            raise JournalError(
                f"the journal {self.path} takes a finite utility for each coalition, not "
                f"{len(values)} utilities {values!r:.40} for {len(keys)}"
            )
        changes = map((replicates or {}).get, keys)
        rows = [
            (game, key, value, change)
            for key, value, change in zip(keys, values.tolist(), changes, strict=True)
        ]
        if rows:
            with self._transaction():
                self._db.executemany(APPEND, rows)

    def lookup(self, game: int, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The utilities of those `keys` that have one."""
        return self._utilities(self._found("utility", game, keys))

    def replicates(self, game: int, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The replicates of those `keys` that have some."""
        return dict(self._found("replicates", game, keys))

    def _found(self, column: str, game: int, keys: Sequence[bytes]) -> list[Any]:
        if not keys:
            return []
        return self._all(FIND.format(column), game, b"".join(keys), len(keys[0]))

    def _utilities(self, rows: Sequence[Any]) -> dict[bytes, float]:
        """Coalitions with their utilities, or an error when these make no sense."""
        with self._sound("evaluations"):
            for key, utility in rows:
                if type(key) is not bytes or type(utility) is not float or math.isinf(utility):
                    raise ValueError(f"coalition {key!r:.40} with utility {utility!r:.40}")
        return dict(rows)

    def count(self, game: int) -> int:
        """How many coalitions of the game have a utility."""
        return int(self._scalar(f"SELECT count(*) {KNOWN}", game))

    def sample(self, game: int, k: int, rng: np.random.Generator) -> list[tuple[bytes, float]]:
        """Up to `k` different coalitions with utilities, each as likely as any other."""
        with self._transaction("BEGIN"):
            count = self.count(game)
            drawn = set(rng.choice(count, size=min(k, count), replace=False).tolist())
            rows = self._db.execute(f"SELECT coalition, utility {KNOWN}", (game,))
            found = [row for place, row in enumerate(rows) if place in drawn]
        return list(self._utilities(found).items())

    def append_failure(self, game: int, key: bytes, message: str) -> None:
        """Record that the utility of a coalition failed."""
        text = message.encode(errors="backslashreplace").decode()  # SQLite takes no lone surrogates
        self._write(
            "INSERT INTO evaluations (game, coalition, failure) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET failure = excluded.failure",
            *(game, key, text),
        )

    def bill(
        self, game: int, run: str, paid: float = 0.0, answered: float = 0.0
    ) -> tuple[float, float]:
        """Add to what a run has paid, and to what of it was answered; return both sums.

        It is written before a call: what a run that is killed has paid is not forgotten.
        """
        if paid or answered:
            self._write(
                "CREATE TABLE IF NOT EXISTS bills (game INTEGER NOT NULL, run TEXT NOT NULL, "
                "paid REAL NOT NULL, answered REAL NOT NULL, PRIMARY KEY (game, run))"
            )
            self._write(
                "INSERT INTO bills VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET paid = paid + excluded.paid, answered = answered + excluded.answered",
                *(game, run, paid, answered),
            )
        elif not self._all("SELECT 1 FROM sqlite_master WHERE name = 'bills'"):
            return 0.0, 0.0
        query = "SELECT paid, answered FROM bills WHERE game = ? AND run = ?"
        rows = self._all(query, game, run)
        return (float(rows[0][0]), float(rows[0][1])) if rows else (0.0, 0.0)

    def failures(self, game: int) -> dict[bytes, str]:
        """The coalitions that failed and have no utility since, with the last message."""
        query = "SELECT coalition, failure FROM evaluations WHERE game = ? AND utility IS NULL"
        return dict(self._all(query, game))

    def start_run(
        self,
        game: int,
        configuration: Mapping[str, object],
        limits: Mapping[str, object],
        seed: int,
        versions: Mapping[str, str],
        origin: Mapping[str, object] | None = None,
    ) -> int:
        """Record a run as "running" and return its id.

        The configuration and the seed say what a run computes, the limits how far it goes, the
        origin for whom and from which files.
        """
        described = (versions, origin or {})
        texts = (_to_json(configuration), _to_json(limits), str(seed), *map(_to_json, described))
        cursor = self._write(
            "INSERT INTO runs (game, configuration, limits, seed, versions, origin, started, "
            "updated, status, evaluations) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', 0)",
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
        return self._runs(" WHERE ?1 IS NULL OR game = ?1 ORDER BY runs.id", game)

    def _runs(self, which: str, *arguments: object) -> list[RunRecord]:
        rows = self._all(RUNS + which, *arguments)
        with self._sound("runs"):
            return [_decoded(RunRecord(*row)) for row in rows]

    def find_run(
        self, game: int, configuration: Mapping[str, object], seed: int | None = None
    ) -> RunRecord | None:
        """The newest run of the game with this configuration, and with the seed if it is given."""
        which = (
            " WHERE game = ?1 AND configuration = ?2 AND (?3 IS NULL OR seed = ?3) "
            "ORDER BY runs.id DESC LIMIT 1"
        )
        text = None if seed is None else str(seed)
        return next(iter(self._runs(which, game, _to_json(configuration), text)), None)


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


def _decoded(run: RunRecord) -> RunRecord:
    """Return a run with its texts as documents; raise ValueError where they are none."""
    names = ["configuration", "limits", "versions", "origin", *(["result"] if run.result else [])]
    found = {name: json.loads(getattr(run, name)) for name in names}
    if wrong := [name for name, content in found.items() if not isinstance(content, dict)]:
        raise ValueError(f"{wrong[0]} is no JSON object")
    return replace(run, **found, seed=int(run.seed), evaluations=int(run.evaluations))
