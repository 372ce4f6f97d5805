"""Files that are written whole, for their owner alone; files that are read up to a limit."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairshapley.errors import InputError

# The help of the command line shows these too.
DEFAULT_MAX_ROWS = 20_000
"""The most rows of a table that are read without asking"""
MAX_BYTES = 2**30
"""The most bytes of a table, unpacked; it takes two to three times as much memory"""


def as_path(given: Any, name: str = "path") -> Path:
    """The path of a file, or an InputError for what cannot be one.

    Examples
    --------
    >>> as_path(5)
    Traceback (most recent call last):
    ...
    fairshapley.errors.InputError: path must be the path of a file, not 5
    """
    if isinstance(given, str | os.PathLike):
        with suppress(TypeError):  # a path of bytes
            if "\0" not in str(found := Path(given)):
                return found
    raise InputError(f"{name} must be the path of a file, not {given!r:.60}")


def write_whole(target: Path, content: bytes) -> None:
    """Write a file: the old one or the new one is there, never a part.

    The content goes to a scratch file with a random name in the same folder, which then takes the
    place of the target. A target that is a link is refused: following it would overwrite a file
    that somebody else chose, and replacing it would undo what its owner arranged. Only the owner
    may read what is written, because values and reports name people and what they get.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", b"all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    check_replaceable(target)
    # The name is known before there is a file, so that none is left whatever fails.
    scratch = target.with_name(f".fairshapley-{secrets.token_hex(8)}.part")
    try:
        # "x" creates the file anew (O_EXCL), so that it never follows a link.
        with open(scratch, "xb", opener=_for_its_owner) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(target)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write {target}: {reason}") from error
    finally:
        with suppress(OSError, ValueError):
            scratch.unlink()  # still there only when something went wrong


def _for_its_owner(path: str, flags: int) -> int:
    """Open a file that nobody else may read."""
    return os.open(path, flags, 0o600)


def make_folder(folder: Path) -> None:
    """Make a folder where there is none, or raise an InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error


def check_replaceable(target: Path) -> None:
    """An InputError unless the target is a plain file that may be written, or is not there."""
    if not target.name:
        raise InputError(f"cannot write {str(target)!r}: give the name of a file")
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write {target}: {reason}") from error
    if stat.S_ISLNK(mode):
        raise InputError(f"cannot write {target}: it is a link; give the file that it leads to")
    if stat.S_ISDIR(mode):
        raise InputError(f"cannot write {target}: it is a folder; give the name of a file")
    if not stat.S_ISREG(mode):
        # Replacing /dev/null by a file would harm the whole machine.
        raise InputError(f"cannot write {target}: it is a device or a pipe; give a file")
    if not os.access(target, os.W_OK):
        raise InputError(f"cannot write {target}: it is read-only; allow writing, or give another")


def same_place(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, also by links, and also where there is none yet.

    Examples
    --------
    >>> same_place(Path("a/../b.csv"), Path("b.csv"))
    True
    """
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, ValueError, RuntimeError):  # not there; a loop of links
        return False
