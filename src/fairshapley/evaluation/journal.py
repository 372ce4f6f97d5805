"""The journal: every utility ever paid for, in one SQLite file that survives ``kill -9``."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics.files import as_path, file_digest
from fairshapley.errors import InputError, JournalError

RunStatus = Literal["running", "finished", "interrupted", "failed"]

APPLICATION_ID = 0x4653484A  # "FSHJ": fairshapley journal
SCHEMA_VERSION = 4
CACHE_KIB = 32_768  # rows are kept in order: with the default of 2 MB each would read a page

# What SQLite's primary result codes mean for a journal, and what to do about each.
DAMAGED = "is damaged, cut short or overwritten ({}): restore a copy of it, or give another file"
UNWRITABLE = (
    "cannot be written ({}): allow writing to the file and its folder, work on a copy elsewhere, "
    "or only read it with Journal(path, readonly=True)"
)
REMEDIES = {
    sqlite3.SQLITE_NOTADB: "is not a journal, nor any SQLite file ({}): give another file",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_BUSY: "is locked by another process ({}): wait for it, or give another file",
    sqlite3.SQLITE_READONLY: UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: UNWRITABLE,
    sqlite3.SQLITE_FULL: "has run out of disk space ({}); what was journalled before is kept. "
    "Free some space, then run again with the same journal",
    sqlite3.SQLITE_IOERR: "could not be read or written ({}); what was journalled before is kept. "
    "Check the disk and its free space, then run again with the same journal",
}


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

# The keys are one blob of pieces of `width` bytes: one short statement for any number, faster
# than lists `IN (?, ?, …)` of any length and than a temporary table, and 4 times a SELECT per key.
STARTS = """
    WITH RECURSIVE start(i) AS (
        VALUES (1) UNION ALL SELECT i + :width FROM start WHERE i + :width <= length(:keys))"""
FIND = f"""{STARTS}
    SELECT coalition, {{0}} FROM start CROSS JOIN evaluations
    ON game = :game AND coalition = substr(:keys, i, :width) WHERE {{0}} IS NOT NULL"""  # noqa: S608

KNOWN = "FROM evaluations WHERE game = ? AND utility IS NOT NULL"

RUNS = """
    SELECT runs.id, game, fingerprint, n_players, configuration, limits, seed, versions, origin,
        started, updated, status, evaluations, result
    FROM runs JOIN games ON games.id = game"""


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


class Journal:
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

    # A check takes 0.12 s per 10⁶ rows (32 MB): a larger file is not read.
    _checked_bytes: ClassVar[int] = 64 << 20

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        shared: bool = False,
        readonly: bool = False,
        create: bool = True,
        timeout: float = 5.0,
    ) -> None:
        self.path = as_path(path, "journal")
        self.shared = shared
        self.readonly = readonly
        self._check_path("readonly=True" if readonly else "" if create else "create=False")
        with self._explained():
            if not readonly:
                self._make_file()
            self._db = self._connect("mode=ro" if readonly else "mode=rw", timeout)
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _check_path(self, makes_none: str) -> None:
        """Raise an error where SQLite would only say that it cannot open the file."""
        problem = None
        try:
            if self.path.is_dir():
                problem = "is a directory: give a file in it"
            elif not self.path.parent.is_dir():
                problem = "would lie in a directory that does not exist: make the directory first"
            elif makes_none and not self.path.exists():
                problem = f"does not exist, and {makes_none} makes none: check the path"
            elif makes_none and self.path.stat().st_size == 0 and not self.has_log():
                problem = "is empty: give another file"
        except OSError as error:
            problem = f"cannot be reached ({error.strerror}): check the permissions on the way"
        if problem is not None:
            raise JournalError(f"the journal {self.path} {problem}")

    def _make_file(self) -> None:
        """Make an empty file that its owner alone may read; SQLite gives its logs the same mode.

        A file that is there already must be writable: its log, which is another file, may be.
        """
        try:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            self.path.open("r+b").close()
        except OSError as error:
            raise JournalError(
                f"the journal {self.path} {UNWRITABLE.format(error.strerror)}"
            ) from error

    def _connect(self, mode: str, timeout: float) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,  # it may be handed on, as notebooks and servers do
        )
        if mode != "mode=ro":
            return db
        try:
            db.execute("PRAGMA schema_version").fetchone()
        except Exception as error:
            db.close()
            # Even a reader of a WAL file makes files beside it. Where it cannot, the file is read
            # as it is, unless a log lies beside it without which it is not complete.
            denied = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in denied or self.has_log():
                raise
            return self._connect("mode=ro&immutable=1", timeout)
        return db

    def _prepare(self) -> None:
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._check_whole()
        if self._is_empty() and self.readonly:
            raise JournalError(f"the journal {self.path} is empty: give another file")
        if self.readonly:
            return
        with suppress(sqlite3.OperationalError):  # some file systems cannot: the default stays
            if self._db.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                # Now every commit survives the death of the process without an fsync of its own.
                self._db.execute("PRAGMA synchronous = NORMAL")
        # The lock finds out now, not after a costly batch, that writing is denied. Without need
        # nothing is written: the bytes of the file stay what a result says they were.
        with self._transaction():
            if self._is_empty():
                for statement in SCHEMA.split(";"):  # executescript would commit before it
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _is_empty(self) -> bool:
        """Return whether the file is new; raise a JournalError when it is another file."""
        application = self._scalar("PRAGMA application_id")
        version = self._scalar("PRAGMA user_version")
        if application == 0 and self._scalar("SELECT count(*) FROM sqlite_master") == 0:
            return True
        if application != APPLICATION_ID:
            raise JournalError(
                f"the file {self.path} is an SQLite database of another program, not a journal: "
                "give another file"
            )
        if version != SCHEMA_VERSION:
            age = "a newer" if version > SCHEMA_VERSION else "an older"
            raise JournalError(
                f"the journal {self.path} was written by {age} fairshapley (schema {version}; this "
                f"one reads schema {SCHEMA_VERSION}): continue it with the version that wrote it, "
                "or give another file, for which all utilities are computed again"
            )
        return False

    def _check_whole(self) -> None:
        """Find a file that was cut short or overwritten now, not in the middle of a run."""
        expected = self._scalar("PRAGMA page_count") * self._scalar("PRAGMA page_size")
        size = self.path.stat().st_size
        finding = "ok"
        if 0 < size < 512:  # no SQLite file is that short, yet SQLite takes one byte for none
            finding = f"{size} bytes are left"
        elif size < expected and not self.has_log():
            finding = f"{size} of {expected} bytes are left"
        elif expected <= self._checked_bytes:
            finding = str(self._scalar("PRAGMA quick_check(1)"))
        if finding != "ok":
            raise self._damaged(finding)

    def has_log(self) -> bool:
        """Return whether SQLite left transactions beside the file, which then may be incomplete."""
        logs = (Path(f"{self.path}{suffix}") for suffix in ("-wal", "-journal"))
        return any(log.exists() and log.stat().st_size > 0 for log in logs)

    def digest(self) -> str | None:
        """Return the SHA-256 of the file; None where it is unreadable, or incomplete without a log.

        A log stays while another process uses the file.
        """
        try:
            if not self.readonly:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return None if self.has_log() else file_digest(self.path)
        except (sqlite3.Error, InputError):  # no reason to lose a run that is done
            return None

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _all(self, query: str, *arguments: object, **named: object) -> list[Any]:
        with self._explained():
            return self._db.execute(query, named or arguments).fetchall()

    def _scalar(self, query: str, *arguments: object) -> Any:
        return self._all(query, *arguments)[0][0]

    def _write(self, statement: str, *arguments: object) -> sqlite3.Cursor:
        with self._transaction():
            return self._db.execute(statement, arguments)

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        with self._explained():
            self._roll_back()  # what could not be rolled back when it failed
            try:
                self._db.execute(begin)
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        if self._db.in_transaction:  # after some errors SQLite has rolled back already
            self._db.execute("ROLLBACK")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors into a JournalError that names the file and the remedy."""
        try:
            yield
        except UnicodeDecodeError as error:  # a damaged name, also in SQLite's own messages
            raise self._damaged(f"a text is not UTF-8: {error}") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            remedy = REMEDIES.get(
                code & 0xFF, "cannot be used ({}): open it again, or give another"
            )
            raise JournalError(f"the journal {self.path} {remedy.format(error)}") from error

    def open_game(self, fingerprint: str, n_players: int) -> int:
        """Return the id of the game, which is added if the journal does not hold it yet."""
        games = dict(self._all("SELECT fingerprint, n_players FROM games"))
        known = games.get(fingerprint)
        if known not in (None, n_players):
            raise JournalError(
                f"the journal {self.path} holds this game with {known} players, not "
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
        """Return the utilities of those `keys` that have one."""
        return self._utilities(self._found("utility", game, keys))

    def replicates(self, game: int, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the replicates of those `keys` that have some."""
        return dict(self._found("replicates", game, keys))

    def _found(self, column: str, game: int, keys: Sequence[bytes]) -> list[Any]:
        if not keys:
            return []
        query = FIND.format(column)
        return self._all(query, game=game, keys=b"".join(keys), width=len(keys[0]))

    def _utilities(self, rows: Sequence[Any]) -> dict[bytes, float]:
        """Return coalitions with their utilities; raise an error when these make no sense."""
        for key, utility in rows:
            if type(key) is not bytes or type(utility) is not float or math.isinf(utility):
                finding = f"coalition {key!r:.40} with utility {utility!r:.40}"
                raise self._damaged(f"table evaluations: {finding}")
        return dict(rows)

    def _damaged(self, finding: object) -> JournalError:
        return JournalError(f"the journal {self.path} {DAMAGED.format(finding)}")

    def count(self, game: int) -> int:
        """Return how many coalitions of the game have a utility."""
        return int(self._scalar(f"SELECT count(*) {KNOWN}", game))

    def sample(self, game: int, k: int, rng: np.random.Generator) -> list[tuple[bytes, float]]:
        """Draw up to `k` different coalitions with utilities, each as likely as any other."""
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
        """Return the coalitions that failed and have no utility since, with the last message."""
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

    def end_run(
        self, run: int, *, status: RunStatus, evaluations: int, result: Mapping[str, object]
    ) -> None:
        """Record how a run ended."""
        self._write(
            "UPDATE runs SET updated = ?, status = ?, evaluations = ?, result = ? WHERE id = ?",
            *(_now(), status, evaluations, _to_json(result), run),
        )

    def runs(self) -> list[RunRecord]:
        """Return the runs of all games, oldest first."""
        return self._runs("ORDER BY runs.id")

    def find_run(self, game: int, configuration: Mapping[str, object]) -> RunRecord | None:
        """Return the newest run of the game with this configuration."""
        which = "WHERE game = ? AND configuration = ? ORDER BY runs.id DESC LIMIT 1"
        return next(iter(self._runs(which, game, _to_json(configuration))), None)

    def _runs(self, which: str, *arguments: object) -> list[RunRecord]:
        rows = self._all(f"{RUNS} {which}", *arguments)
        try:
            return [_decoded(RunRecord(*row)) for row in rows]
        except (TypeError, ValueError, RecursionError) as error:
            raise self._damaged(f"table runs: {error}") from error


def _to_json(content: object) -> str:
    """Return JSON in one form, so that equal configurations are equal texts."""
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
    """Return a run with its texts as documents; raise ValueError for other texts."""
    names = ["configuration", "limits", "versions", "origin", *(["result"] if run.result else [])]
    found = {name: json.loads(getattr(run, name)) for name in names}
    if wrong := [name for name, content in found.items() if not isinstance(content, dict)]:
        raise ValueError(f"{wrong[0]} is no JSON object")
    return replace(run, **found, seed=int(run.seed), evaluations=int(run.evaluations))
