"""Files that are written whole, for their owner alone, and the digests of what they hold.

A digest tells a file that was changed by accident from the one that was written. It does not stop
a forger, who can compute it anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairshapley.errors import InputError

# The help of the command line shows these too.
DEFAULT_MAX_ROWS = 20_000
"""The most rows of a table that are read without asking"""
MAX_BYTES = 2**30
"""The most bytes of a CSV file or of updates, unpacked; a table takes two to three times as much"""


def as_path(given: Any, name: str = "path") -> Path:
    """Return the path of a file; raise InputError for what cannot be a path.

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
        # "x" creates the file anew (O_EXCL), so that it never follows a link; nobody else may read.
        with open(scratch, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(target)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error
    finally:
        with suppress(OSError, ValueError):
            scratch.unlink()  # still there only when something went wrong


def _unwritable(target: Path, error: Exception) -> InputError:
    return InputError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}")


def make_folder(folder: Path) -> None:
    """Make a folder where there is none, or raise an InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder}: {error.strerror}; choose another"
        ) from error


def check_replaceable(target: Path) -> None:
    """Raise InputError unless the target is a plain file that may be written, or is not there."""
    if not target.name:
        raise InputError(f"cannot write {str(target)!r}: give the name of a file")
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error
    # Replacing /dev/null by a file would harm the whole machine.
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFREG: ""}
    kind = kinds.get(stat.S_IFMT(mode), "a device or a pipe")
    if not kind and not os.access(target, os.W_OK):
        kind = "read-only"
    if kind:
        raise InputError(f"cannot write {target}: it is {kind}; give the name of another file")


def same_place(first: Path, second: Path) -> bool:
    """Whether two paths lead to the same file, also by links, and also where there is none yet.

    Examples
    --------
    >>> same_place(Path("a/../b.csv"), Path("b.csv"))
    True
    """
    try:
        return first.resolve() == second.resolve() or first.samefile(second)
    except (OSError, ValueError, RuntimeError):  # not there; a loop of links
        return False


_NO_DIGEST = "0" * 64
_META = '<meta name="fairshapley-{}" content="{}">'
_META_READ = re.compile(r'<meta name="fairshapley-(\w+)" content="([0-9a-f]{64})">')


def content_digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain data: equal data have equal digests, in any order of their keys.

    Floats are written so that no bit of them is lost; what JSON cannot hold is described.

    Examples
    --------
    >>> content_digest({"b": 0.1, "a": 1}) == content_digest({"a": 1, "b": 0.1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the bytes of a file."""
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {os.fspath(path)}: {error.strerror}") from error


def page_marks(result: str) -> str:
    """Return the lines for the head of a page: its result's digest, and room for its own."""
    return "\n".join([_META.format("result", result), _META.format("page", _NO_DIGEST)])


def with_page_digest(page: str) -> str:
    """Return the page with its own digest in its head: that of the page with zeros in its place.

    Examples
    --------
    >>> page = with_page_digest(page_marks(64 * "a"))
    >>> page_is_whole(page), page_is_whole(page.replace("a", "b"))
    (True, False)
    """
    digest = hashlib.sha256(page.encode("utf-8")).hexdigest()
    return page.replace(_META.format("page", _NO_DIGEST), _META.format("page", digest), 1)


def read_marks(page: str) -> dict[str, str]:
    """Return what `page_marks` and `with_page_digest` wrote, by name; the first of each."""
    marks: dict[str, str] = {}
    for name, mark in _META_READ.findall(page):
        marks.setdefault(name, mark)
    return marks


def page_is_whole(page: str) -> bool:
    """Return whether a page has a digest, and is what it was when the digest was put in."""
    mark = read_marks(page).get("page")
    if mark is None:
        return False
    blank = page.replace(_META.format("page", mark), _META.format("page", _NO_DIGEST), 1)
    return hashlib.sha256(blank.encode("utf-8")).hexdigest() == mark
