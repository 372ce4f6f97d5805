"""Ctrl-C, or an event of the caller, that stops a run without tearing its state.

While the guard is active the signal raises KeyboardInterrupt only inside a utility; anywhere else
it is remembered, and acted on at the next `check`. A second Ctrl-C raises wherever it arrives,
and is passed on to the caller.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from fairshapley.errors import InputError


class Event(Protocol):
    """An event of `threading`, `asyncio` or `multiprocessing`."""

    def is_set(self) -> bool:
        """Return whether it happened."""


class InterruptGuard:
    """Replaces Python's own handler of SIGINT for the time of a run, in the main thread only.

    Parameters
    ----------
    cancel
        An event that stops the run as Ctrl-C does, once it is set.
    """

    def __init__(self, cancel: Event | None = None) -> None:
        if cancel is not None and not callable(getattr(cancel, "is_set", None)):
            message = "must be an event, such as threading.Event()"
            raise InputError(message, parameter="cancel", received=cancel)
        self.cancel = cancel
        self._presses = 0
        self._interruptible = False
        self._active = False

    def __enter__(self) -> InterruptGuard:
        # Any other handler (an embedding program's, that of a run around this one) is respected.
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            signal.signal(signal.SIGINT, self._handle)
            self._active = True
        return self

    def __exit__(self, *exception: object) -> None:
        if self._active:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._active = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._presses += 1
        if self._interruptible or self._presses > 1:
            raise KeyboardInterrupt

    @property
    def cancelled(self) -> bool:
        """Whether the event of the caller is set."""
        return self.cancel is not None and self.cancel.is_set()

    @property
    def asked_once(self) -> bool:
        """Whether it was this guard that was asked to stop, and only once."""
        return self._presses == 1

    def check(self) -> None:
        """Raise KeyboardInterrupt when Ctrl-C was pressed in the run, or the event is set."""
        if self._presses or self.cancelled:
            raise KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Mark a utility's own code: there the signal raises at once.

        A utility may catch the interrupt and return something; that is not a utility, so the check
        comes again afterwards.
        """
        self.check()
        self._interruptible = True
        try:
            yield
        finally:
            self._interruptible = False
        self.check()
