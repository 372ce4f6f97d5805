"""Writing a file as a whole: there is the old one or the new one, never a part."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fairshapley.errors import InputError


def write_whole(target: Path, content: bytes) -> None:
    """Write a file by way of one beside it, so that a full disk leaves what was there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", b"all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    if not target.name:
        raise InputError(f"cannot write {str(target)!r}: give the name of a file")
    scratch = target.with_name(target.name + ".part")
    try:
        scratch.write_bytes(content)
        scratch.replace(target)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write {target}: {reason}") from error
    finally:
        with suppress(OSError, ValueError):
            scratch.unlink()  # still there only when something went wrong
