"""An SQLite file as a journal needs it: opened with care, whole, and with errors that help."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from fairshapley._basics.files import as_path, file_digest
from fairshapley.errors import InputError, JournalError

APPLICATION_ID = 0x4653484A  # "FSHJ": fairshapley journal
SCHEMA_VERSION = 4
CACHE_KIB = 32_768  # rows are kept in order: with the default of 2 MB each would read a page
CHECKED_BYTES = 64 << 20  # quick_check takes 0.12 s per 10⁶ rows (32 MB): a larger file is not read

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


class JournalFile:
    """The file of a journal: connection, checks and transactions, but no tables.

    Parameters
    ----------
    path
        The file; if it does not exist it is made, and only its owner may read it.
    shared
        Whether it may hold several games.
    readonly, create
        Only read; make the file if it does not exist.
    timeout
        The seconds to wait for another process that is writing.
    """

    _checked_bytes: ClassVar[int] = CHECKED_BYTES
    _schema: ClassVar[str]
    """The statements that make the tables of a new file, separated by semicolons"""

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
        """The mistakes of which SQLite would only say that it cannot open the file."""
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
        except sqlite3.OperationalError as error:
            db.close()
            # Even a reader of a WAL file makes files beside it. Where it cannot, the file is read
            # as it is, unless a log lies beside it without which it is not complete.
            denied = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            if error.sqlite_errorcode & 0xFF not in denied or self.has_log():
                raise
            return self._connect("mode=ro&immutable=1", timeout)
        except BaseException:
            db.close()
            raise
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
                for statement in self._schema.split(";"):  # executescript would commit before it
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _is_empty(self) -> bool:
        """Whether the file is new; a JournalError when it is not a journal that can be read."""
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
            raise JournalError(f"the journal {self.path} {DAMAGED.format(finding)}")

    def has_log(self) -> bool:
        """Whether SQLite left transactions beside the file, which then need not be complete."""
        logs = (Path(f"{self.path}{suffix}") for suffix in ("-wal", "-journal"))
        return any(log.exists() and log.stat().st_size > 0 for log in logs)

    def digest(self) -> str | None:
        """The SHA-256 of the file; None where it cannot be read, or is not complete without a log.

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

    def _all(self, query: str, *arguments: object) -> list[Any]:
        with self._explained():
            return self._db.execute(query, arguments).fetchall()

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
            finding = f"a text is not UTF-8: {error}"
            raise JournalError(f"the journal {self.path} {DAMAGED.format(finding)}") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            remedy = REMEDIES.get(
                code & 0xFF, "cannot be used ({}): open it again, or give another"
            )
            raise JournalError(f"the journal {self.path} {remedy.format(error)}") from error
