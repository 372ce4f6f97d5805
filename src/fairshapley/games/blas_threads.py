"""One thread for products of small matrices, where more threads only wait for each other."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# scikit-learn depends on it.
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

# Below so many rows several threads gain little, and lose much on a machine that is busy: with two
# threads on two busy cores factors of 500 rows took hundreds of times as long.
_SMALL_ROWS = 2048

# Many threads may be inside at once. The first sets the limit and the last takes it off, so that
# none restores the limit of another.
_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread_if_small(n_rows: int) -> Iterator[None]:
    """Let BLAS use one thread within, if the matrices have few rows.

    The bits of a product then do not depend on the number of threads either.

    Examples
    --------
    >>> with one_thread_if_small(100):
    ...     pass
    """
    global _inside, _limit
    if n_rows > _SMALL_ROWS:
        yield
        return
    with _lock:
        if _inside == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()


@functools.cache
def _controller() -> Any:
    """The libraries that are loaded; to look for them takes milliseconds."""
    return ThreadpoolController()
