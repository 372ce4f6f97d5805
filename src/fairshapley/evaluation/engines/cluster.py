"""What sessions on clusters share: a look now and then at how many workers there are."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import ClassVar

from fairshapley.errors import EngineError

# How often to look whether the cluster is still there, and how long it may be without a worker
# (some may be about to start) before that is an error.
LOOK_SECONDS = 1.0
EMPTY_SECONDS = 60.0


class ClusterSession(ABC):
    """Counts workers that come and go."""

    empty_seconds: ClassVar[float] = EMPTY_SECONDS

    def __init__(self) -> None:
        self._workers = 0
        self._looked = -LOOK_SECONDS
        self._seen = time.monotonic()

    @property
    def workers(self) -> int:
        """How many chunks the cluster computes at a time; it may grow and shrink."""
        if time.monotonic() > self._looked + LOOK_SECONDS:
            with suppress(EngineError):  # raised where chunks are handed in and waited for
                self._look()
        return max(1, self._workers)

    @abstractmethod
    def _count(self) -> tuple[int, str]:
        """How many workers there are, and what is missing while there are none.

        An EngineError when the cluster is gone.
        """

    def _look(self) -> None:
        """Count the workers; an EngineError when there have been none for long."""
        self._workers, missing = self._count()
        self._looked = time.monotonic()
        if self._workers:
            self._seen = self._looked
        elif self._looked > self._seen + self.empty_seconds:
            raise EngineError(missing)
