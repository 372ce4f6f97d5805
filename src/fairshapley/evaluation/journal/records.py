"""The journal: every utility ever paid for, in one SQLite file that survives ``kill -9``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, TypeVar, get_args

from fairshapley.errors import JournalError
from fairshapley.evaluation.journal.columns import BATCH_TABLES, SUMS_TABLE, ColumnFile

_T = TypeVar("_T")
RunStatus = Literal["running", "finished", "interrupted", "failed"]

SCHEMA = f"""
    CREATE TABLE games (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE,
        n_players INTEGER NOT NULL, player_names TEXT);
    CREATE TABLE failures (game INTEGER NOT NULL, coalition BLOB NOT NULL, message TEXT NOT NULL,
        PRIMARY KEY (game, coalition)) WITHOUT ROWID;
    CREATE TABLE runs (id INTEGER PRIMARY KEY, game INTEGER NOT NULL, configuration TEXT NOT NULL,
        limits TEXT NOT NULL, seed TEXT NOT NULL, versions TEXT NOT NULL, started TEXT NOT NULL,
        updated TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
        evaluations INTEGER NOT NULL, result TEXT);
    {BATCH_TABLES};
    {SUMS_TABLE}"""

# The keys are one blob ?2 of pieces of ?3 bytes: one short statement for any number of keys, faster
# than lists `IN (?, ?, …)` of any length and than a temporary table, and 4 times a SELECT per key.
REPLICATES_OF = """
    WITH RECURSIVE start(i) AS (
        VALUES (1) UNION ALL SELECT i + ?3 FROM start WHERE i + ?3 <= length(?2))
    SELECT coalition, changes FROM start CROSS JOIN replicates
    ON game = ?1 AND coalition = substr(?2, i, ?3)"""

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


class Journal(ColumnFile):
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

    _schema: ClassVar[str] = SCHEMA

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

    def append_replicates(self, game: int, rows: Mapping[bytes, bytes]) -> None:
        """Keep what the utilities of coalitions change by without each group of test rows."""
        with self._transaction():
            self._db.executemany(
                "INSERT OR IGNORE INTO replicates VALUES (?, ?, ?)",
                [(game, key, changes) for key, changes in rows.items()],
            )

    def replicates(self, game: int, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What `append_replicates` kept of some coalitions."""
        if not keys or not self._has("replicates"):
            return {}
        with self._sound("replicates"):
            return dict(self._all(REPLICATES_OF, game, b"".join(keys), len(keys[0])))

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
        return self._runs(" WHERE ?1 IS NULL OR game = ?1 ORDER BY runs.id", game)

    def _runs(self, which: str, *arguments: object) -> list[RunRecord]:
        rows = self._all(RUNS + which, *arguments)
        with self._sound("runs"):
            return [_run_record(row) for row in rows]

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
