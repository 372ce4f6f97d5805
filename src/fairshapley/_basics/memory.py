"""How much memory a process may take."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from fairshapley.errors import InputError


def used_bytes() -> int:
    """The memory that this process takes now, or took at most; 0 where nobody says.

    Examples
    --------
    >>> used_bytes() >= 0
    True
    """
    with suppress(OSError, ValueError, IndexError):
        return 1024 * int(_status("VmRSS"))
    with suppress(ImportError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
    return 0


def limit_memory(most_bytes: int) -> None:
    """Let this process take so much memory; what asks for more gets a MemoryError.

    Processes that it starts may each take as much.
    """
    used = used_bytes()
    if most_bytes <= used:
        raise InputError(
            f"Python and its libraries take {used / 2**30:.2g} GiB already, the limit is "
            f"{most_bytes / 2**30:.2g} GiB: allow more"
        )
    try:
        import resource

        # What is reserved is more than what is used, and the limit speaks of the former.
        reserved = 1024 * int(_status("VmData"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = reserved + most_bytes - used
        resource.setrlimit(resource.RLIMIT_DATA, (soft if hard < 0 else min(soft, hard), hard))
    except (ImportError, OSError, ValueError, IndexError) as error:
        raise InputError(
            "this system has no limit of memory for a process: leave it out, or set one outside"
        ) from error


def _status(key: str) -> str:
    """A number that Linux gives of this process, in KiB."""
    text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return next(line for line in text.splitlines() if line.startswith(f"{key}:")).split()[1]
