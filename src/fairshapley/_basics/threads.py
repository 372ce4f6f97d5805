"""One thread for products of small matrices; coroutines from plain code.

More threads than one only wait for each other there. So do the threads of a driver whose processes
keep all cores busy: on two cores with other work a certified run took twice as long.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

# Below this many rows several threads gain little, and lose much on a busy machine: with two
# threads on two busy cores, factors of 500 rows took hundreds of times as long.
SMALL_ROWS = 2048

# Many threads may be inside at once. The first sets the limit and the last takes it off, so that
# none restores the limit of another.
_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread within; a decorator as well.

    The bits of a product then do not depend on the number of threads either.

    Examples
    --------
    >>> import numpy as np
    >>> @one_thread()
    ... def product(left, right):
    ...     return left @ right
    >>> product(np.eye(2), np.ones(2))
    array([1., 1.])
    """
    global _inside, _limit
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


def one_thread_if_small(n_rows: int) -> AbstractContextManager[None]:
    """Let BLAS use one thread within, if the matrices have few rows.

    Examples
    --------
    >>> with one_thread_if_small(100):
    ...     pass
    """
    return one_thread() if n_rows <= SMALL_ROWS else nullcontext()


def allowed_threads() -> int:
    """Return how many threads BLAS may use here, by its settings or ours; 1 within `one_thread`.

    Examples
    --------
    >>> with one_thread():
    ...     allowed_threads()
    1
    """
    used = [
        library["num_threads"] for library in _controller().info() if library["user_api"] == "blas"
    ]
    return min(used, default=1)


@functools.cache
def _controller() -> Any:
    """Return the libraries that are loaded; to look for them takes milliseconds."""
    return ThreadpoolController()


T = TypeVar("T")


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns.

    Examples
    --------
    >>> async def one():
    ...     return 1
    >>> run_coroutine(one())
    1
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as helper:
        return helper.submit(asyncio.run, coroutine).result()
