"""The engine of local processes, on loky: fresh interpreters that survive each other's death."""

from __future__ import annotations

import importlib
import os
import re
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from fairshapley._basics import checks
from fairshapley._basics.extras import extra
from fairshapley._basics.types import ByteArray
from fairshapley.errors import EngineError
from fairshapley.evaluation.engines.engine import BACKOFF, RETRIES, Ticket
from fairshapley.evaluation.engines.pool import PoolEngine, PoolSession

# What numerical libraries read when they are loaded; threadpoolctl limits those loaded before.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

# Utilities that wait for something else gain from more processes than cores, though not from
# thousands, each of which takes some 100 MB.
PROCESSES_PER_CORE = 8
LEAST_LIMIT = 32
# How long a process may outlive a driver that was killed.
ORPHAN_SECONDS = 1.0


class ProcessEngine(PoolEngine):
    """Computes in processes of this machine (needs loky).

    The processes start at the first evaluation and stay for further runs until `close`; a
    ``with`` statement closes. The game is written to a temporary file once, and each process reads
    it once; a chunk carries one bit per player and coalition.

    Parameters
    ----------
    workers
        The number of processes; by default the cores that this process may use. At most 8 for each
        core, or 32 where that is more. No more are started than a game has coalitions.
    timeout
        The seconds that a chunk may take. A utility that takes longer is found, and named or
        skipped as `on_error` says; its process is ended. By default it is waited for.
    chunk_size
        Coalitions per chunk; by default it follows the measured speed.
    threads
        Threads of BLAS and OpenMP in each process; by default the cores shared out evenly.
    in_flight
        The least that a round holds. Where utilities wait, the number of processes keeps all of
        them busy. It decides which coalitions are drawn.
    retries, backoff
        How often a call is made again after a time-out, a broken connection or the answer of a
        busy service, and the seconds to wait before.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(8, seed=0)
    >>> with ProcessEngine(2) as engine:  # doctest: +SKIP
    ...     fs.estimate(game, engine=engine)
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        timeout: float | None = None,
        chunk_size: int | None = None,
        threads: int | None = None,
        in_flight: int = 1,
        retries: int = RETRIES,
        backoff: float = BACKOFF,
    ) -> None:
        super().__init__(
            chunk_size=chunk_size, timeout=timeout, in_flight=in_flight,
            retries=retries, backoff=backoff,
        )  # fmt: skip
        with extra("processes", "engine='processes' needs loky", "or use engine='serial'"):
            import loky  # type: ignore[import-untyped]
        self._loky = loky
        cores = loky.cpu_count()
        most = max(LEAST_LIMIT, PROCESSES_PER_CORE * cores)
        remedy = f"give at most {PROCESSES_PER_CORE} for each core: more would wait for each other"
        self.workers = (
            cores if workers is None else checks.whole("workers", workers, most=most, remedy=remedy)
        )
        even = max(1, cores // self.workers)
        self.threads = even if threads is None else checks.whole("threads", threads)
        self._pool: Any = None
        self._size = 0

    def __repr__(self) -> str:
        return f"ProcessEngine(workers={self.workers}, timeout={self.timeout})"

    def places(self) -> tuple[int, str]:
        """Return the number of processes."""
        return self.workers, ""

    def executor(self, workers: int) -> Executor:
        """Return a pool of this size, started where there is another or none."""
        if workers != self._size:
            self.stop()
        if self._pool is None:
            self._size = workers
            self._pool = self._loky.ProcessPoolExecutor(
                workers,
                initializer=_follow_driver,
                initargs=(os.getpid(),),
                env=dict.fromkeys(THREAD_VARIABLES, str(self.threads)),
            )
        pool: Executor = self._pool
        return pool

    def send(self, session: PoolSession, payload: ByteArray) -> str:
        """Write the game to a file that only this user can read."""
        file = Path(tempfile.gettempdir()) / f"{session.name}.pickle"
        # loky's tracker removes the file when this process is killed and cannot. Both are told
        # before there is a file, so that none is left whatever fails.
        tracker: Any = importlib.import_module("loky.backend.resource_tracker")
        tracker.register(str(file), "file")
        session.release = weakref.finalize(session, _remove, str(file), tracker)
        try:
            file.touch(mode=0o600, exist_ok=False)
            file.write_bytes(payload.data)
        except OSError as error:
            session.release()
            raise EngineError(
                f"the game ({len(payload):,} bytes) cannot be written to {file}: "
                f"{error.strerror}. Make room there, or set TMPDIR to another folder"
            ) from error
        return str(file)

    def lost(self, error: BaseException) -> str | None:
        """Return how the process died: its pool is broken as a whole, and takes no chunk."""
        if not isinstance(error, BrokenProcessPool):
            return None
        # ``{SIGKILL(-9)}`` is often a lack of memory.
        codes = re.findall(r"\{[^}]+\}", str(error))
        return " ".join(["the process that computed it died", *codes[:1]])

    def restart(self) -> None:
        """End all processes; new ones start with the next chunk."""
        self.stop()

    def stop(self, tickets: Sequence[Ticket] = (), *, wait: bool = False) -> None:
        """End the processes and take new ones next time."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, kill_workers=True)
            self._pool = None

    def close(self) -> None:
        """End the processes."""
        self.stop(wait=True)


def _follow_driver(driver: int) -> None:
    """Make a process depend on the driver, and on it alone."""
    # Ctrl-C reaches every process of a terminal: the driver decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(driver,), daemon=True).start()


def _follow(driver: int) -> None:
    """End this process when the driver was killed: nobody would ever ask it anything."""
    while os.getppid() == driver:
        time.sleep(ORPHAN_SECONDS)
    os._exit(1)


def _remove(path: str, tracker: Any) -> None:
    Path(path).unlink(missing_ok=True)
    tracker.unregister(path, "file")
