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
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairshapley._basics import checks
from fairshapley._basics.extras import extra
from fairshapley._basics.types import BoolArray
from fairshapley.errors import EngineError, InputError
from fairshapley.evaluation.engines.engine import (
    LAST_MOMENT,
    Answer,
    CheckedEngine,
    Ticket,
    WorkerLostError,
)
from fairshapley.evaluation.engines.remote import RemoteSession
from fairshapley.evaluation.engines.worker import Reply, Settings, run_chunk
from fairshapley.games.game import Game

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


class ProcessEngine(CheckedEngine):
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
        The least that a round holds. Where utilities wait, as many as there are processes keep all
        of them busy. It decides which coalitions are drawn.

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
    ) -> None:
        super().__init__(chunk_size=chunk_size, timeout=timeout, in_flight=in_flight)
        with extra("processes", "engine='processes' needs loky", "or use engine='serial'"):
            import loky  # type: ignore[import-untyped]
        self._loky = loky
        cores = loky.cpu_count()
        self.workers = cores if workers is None else checks.whole("workers", workers)
        most = max(LEAST_LIMIT, PROCESSES_PER_CORE * cores)
        if self.workers > most:
            raise InputError(
                f"workers must be at most {most:,} on this machine, {PROCESSES_PER_CORE} for each "
                f"core, not {self.workers:,}: more would only wait for each other"
            )
        even = max(1, cores // self.workers)
        self.threads = even if threads is None else checks.whole("threads", threads)
        self._pool: Any = None
        self._size = 0

    def __repr__(self) -> str:
        return f"ProcessEngine(workers={self.workers}, timeout={self.timeout})"

    def open(self, game: Game) -> ProcessSession:
        """Write the game where the processes find it."""
        return ProcessSession(self, game)

    def pool(self, size: int) -> Any:
        """So many processes, started where there are others or none."""
        if size != self._size:
            self.forget_pool()
        if self._pool is None:
            self._size = size
            self._pool = self._loky.ProcessPoolExecutor(
                size,
                initializer=_settle_in,
                initargs=(os.getpid(),),
                env=dict.fromkeys(THREAD_VARIABLES, str(self.threads)),
            )
        return self._pool

    def forget_pool(self, pool: Any = None) -> None:
        """End the processes and take new ones next time; a pool that was replaced is let be."""
        if self._pool is not None and pool in (None, self._pool):
            self._pool.shutdown(wait=False, kill_workers=True)
            self._pool = None

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None


@dataclass(frozen=True, eq=False)
class _Submitted:
    """A chunk, and the processes that have it."""

    future: Future[Reply]
    pool: Any


class ProcessSession(RemoteSession):
    """A game in the processes of an engine."""

    def __init__(self, engine: ProcessEngine, game: Game) -> None:
        import cloudpickle  # type: ignore[import-untyped]

        super().__init__(game, cloudpickle.dumps, Settings(engine.threads, engine.timeout))
        self._engine = engine
        file = Path(tempfile.gettempdir()) / f"{self._name}.pickle"
        self._game = str(file)
        # loky's tracker removes the file when this process is killed and cannot. Both are told
        # before there is a file, so that none is left whatever fails.
        tracker: Any = importlib.import_module("loky.backend.resource_tracker")
        tracker.register(self._game, "file")
        self._remove = weakref.finalize(self, _remove, self._game, tracker)
        try:
            file.touch(mode=0o600, exist_ok=False)
            file.write_bytes(self._payload.data)
        except OSError as error:
            self._remove()
            raise EngineError(
                f"the game ({len(self._payload):,} bytes) cannot be written to {file}: "
                f"{error.strerror}. Make room there, or set TMPDIR to another folder"
            ) from error

    @property
    def workers(self) -> int:
        """The number of processes, no more than there are coalitions."""
        return min(self._engine.workers, 1 << min(self._n_players, 30))

    def submit(self, masks: BoolArray, *, alone: bool = False) -> Ticket:
        """Hand a chunk to the processes, to new ones when these have died."""
        # A chunk that may end its process does not take those of all cores with it.
        size = 1 if alone else self.workers
        for _ in range(3):
            try:
                pool = self._engine.pool(size)
                future = pool.submit(run_chunk, *self._arguments(masks))
            except (OSError, RuntimeError) as error:  # a pool that broke, or no more processes
                self._engine.forget_pool()
                broken = error
            else:
                return _Submitted(future, pool)
        raise EngineError(f"no worker processes can be started: {broken}") from broken

    def wait(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """Wait for at least one chunk."""
        done, _ = wait([ticket.future for ticket in tickets], return_when=FIRST_COMPLETED)
        return [(ticket, self._answer(ticket)) for ticket in tickets if ticket.future in done]

    def _reply(self, ticket: Ticket) -> Reply:
        try:
            return ticket.future.result()
        except BrokenProcessPool as error:
            self._engine.forget_pool(ticket.pool)
            raise WorkerLostError(f"the process that computed it died{_codes(error)}") from error

    def renew(self) -> None:
        """End all processes; new ones start with the next chunk."""
        self._engine.forget_pool()

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """What is done, or will be in a moment; a process that computes longer is ended."""
        begun = [ticket for ticket in tickets if not ticket.future.cancel()]
        done, rest = wait([ticket.future for ticket in begun], timeout=LAST_MOMENT)
        if rest:
            self._engine.forget_pool()
        whole = [ticket for ticket in begun if ticket.future in done]
        return [(ticket, self._answer(ticket)) for ticket in whole if not ticket.future.exception()]

    def close(self) -> None:
        """Remove the file of the game."""
        self._remove()


def _settle_in(driver: int) -> None:
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


def _codes(error: BrokenProcessPool) -> str:
    """How the processes ended, as far as loky says: ``{SIGKILL(-9)}`` is often a lack of memory."""
    found = re.search(r"\{[^}]+\}", str(error))
    return f" {found.group()}" if found else ""
