"""Coroutines from plain code, also where an event loop runs already, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns.

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
