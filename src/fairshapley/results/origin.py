"""Where a run comes from: when it ended, the command line that started it, the files it read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from fairshapley._basics.files import file_digest


class InputFile(NamedTuple):
    """A file that a run read: an entry of `Result.run.inputs`."""

    name: str
    """Its path, as given"""
    sha256: str
    """The SHA-256 of its content, 64 hexadecimal digits"""
    size: int
    """Its size in bytes"""


class Origin(NamedTuple):
    """What is known of a run before it starts, and is kept in its result."""

    command: str = ""
    inputs: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()


# The command line is known far from where results are made, and no caller of Python has one.
_ORIGIN: ContextVar[Origin] = ContextVar("origin", default=Origin())  # noqa: B039 - a tuple


@contextmanager
def recorded(**known: Any) -> Iterator[None]:
    """Mark results made within by this `command`, these `inputs` or these `notes`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> with recorded(command="fairshapley demo"):
    ...     fs.exact(fs.games.TableGame([0, 1])).run.command
    'fairshapley demo'
    """
    token = _ORIGIN.set(_ORIGIN.get()._replace(**known))
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def current_origin() -> Origin:
    """Return what is known of the runs that start now."""
    return _ORIGIN.get()


def origin_fields(notes: Sequence[str] = ()) -> dict[str, Any]:
    """Return the fields of a result on its origin, with `notes` after those known before."""
    known = _ORIGIN.get()
    return {"created": now(), **known._asdict(), "notes": (*known.notes, *notes)}


def now() -> str:
    """Return the date and time in UTC, as in ISO 8601, to the second.

    Examples
    --------
    >>> len(now()), now()[-1]
    (20, 'Z')
    """
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def input_file(path: str | os.PathLike[str]) -> InputFile:
    """Return the name, hash and size of a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "empty.csv").write_bytes(b"")
    ...     input_file(Path(folder) / "empty.csv")[1:]
    ('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0)
    """
    file = Path(path)
    return InputFile(str(file), file_digest(file), file.stat().st_size)
