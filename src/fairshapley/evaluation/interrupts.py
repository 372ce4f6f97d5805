"""Ctrl-C that stops a run without tearing its state.

While the guard is active the signal raises KeyboardInterrupt only inside a utility; anywhere else
it is remembered and acted upon at the next safe point. A second Ctrl-C always raises.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class InterruptGuard:
    """Replaces the handler of SIGINT for the time of a run, in the main thread only."""

    def __init__(self) -> None:
        self.requested = False
        self._interruptible = False
        self._previous: object = None
        self._active = False

    def __enter__(self) -> InterruptGuard:
        # A handler that is not Python's own (an embedding program, an ignored signal) is respected.
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self._previous = signal.signal(signal.SIGINT, self._handle)
            self._active = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._active:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._active = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again = self.requested
        self.requested = True
        if self._interruptible or again:
            raise KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Mark a utility's own code: there the signal raises at once."""
        if self.requested:
            raise KeyboardInterrupt
        self._interruptible = True
        try:
            yield
        finally:
            self._interruptible = False
