"""A pool of processes that is none: chunks are computed at once, and fail as those of loky do."""

import contextlib
import errno
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.faults.oracle import Fault, Points


def _died() -> Exception:
    return BrokenProcessPool("a process ended: {SIGKILL(-9)}")


def _no_process() -> Exception:
    return OSError(errno.EAGAIN, "Resource temporarily unavailable")


# Whether the chunk was handed in, whether it was computed, and what is heard of it.
KINDS: dict[str, tuple[bool, bool, Callable[[], Exception]]] = {
    "died before": (True, False, _died),
    "died after": (True, True, _died),
    "not pickled": (True, False, lambda: pickle.PicklingError("cannot pickle it")),
    "not sent": (True, True, lambda: OSError(errno.EPIPE, "Broken pipe")),
    "broken": (False, False, _died),
    "shut down": (False, False, lambda: RuntimeError("cannot schedule new futures")),
    "no process": (False, False, _no_process),
    "no memory": (False, False, MemoryError),
}


class Pool:
    """In the place of loky's ProcessPoolExecutor."""

    points: ClassVar[Points] = Points()
    kind: ClassVar[str] = "no process"

    def __init__(self, *given: Any, **options: Any) -> None:
        self.broken = False
        if self.points.fails("start"):
            raise _no_process()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        if self.broken:
            raise _died()
        future: Future[Any] = Future()
        handed_in, computed, error = KINDS[self.kind]
        fails = self.points.fails("submit")
        if fails and not handed_in:
            raise error()
        future.set_running_or_notify_cancel()
        if not fails or computed:
            try:
                answer = function(*arguments)
            except Exception as failure:
                future.set_exception(failure)
                return future
        if fails:
            self.broken = self.kind.startswith("died")
            future.set_exception(error())
        else:
            future.set_result(answer)
        return future

    def shutdown(self, **options: Any) -> None:
        """Nothing runs."""


def failing_pool(kind: str) -> Fault:
    """A pool whose start or one of whose chunks fails, or a disk without room for the game."""

    @contextlib.contextmanager
    def fault(points: Points) -> Iterator[None]:
        def full(original: Callable[..., Any]) -> Callable[..., Any]:
            def write(path: Path, *given: Any, **options: Any) -> Any:
                if path.suffix == ".pickle" and points.fails("file"):
                    raise OSError(errno.ENOSPC, "No space left on device")
                return original(path, *given, **options)

            return write

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pool, "points", points)
            patch.setattr(Pool, "kind", kind)
            for name in ("touch", "write_bytes"):
                patch.setattr(Path, name, full(getattr(Path, name)))
            yield

    return fault
