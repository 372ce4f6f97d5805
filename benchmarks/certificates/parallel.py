"""One function on many arguments, in processes of one thread each."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def in_processes(
    function: Callable[[Argument], Answer], arguments: Sequence[Argument], workers: int
) -> Iterator[Answer]:
    """Yield the answers as they come; one worker computes them in this process, in order."""
    if workers == 1:
        yield from map(function, arguments)
        return
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read by the processes when they start
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(function, arguments)
