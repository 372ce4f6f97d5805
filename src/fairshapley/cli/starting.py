"""Ctrl-C while nothing is at stake: the process ends at once, without a traceback.

Loading libraries takes a second, and an exception in the middle of it comes out as a traceback or
is lost in a library. There is nothing to put in order yet, so the signal ends the process itself.
Python's own first moments, before any of this is loaded, are out of reach.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

INTERRUPTED = 130


def hold() -> None:
    """Let Ctrl-C end the process at once; a handler that is not Python's own stays."""
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, _leave)


def release() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again: a run is about to begin.

    Examples
    --------
    >>> hold()
    >>> release()
    >>> signal.getsignal(signal.SIGINT) is _leave
    False
    """
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
