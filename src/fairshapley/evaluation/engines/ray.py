"""The engine of a Ray cluster: the game lies in the object store, the chunks are tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from fairshapley._basics import checks
from fairshapley._basics.extras import extra
from fairshapley._basics.types import ByteArray
from fairshapley.errors import EngineError, FairShapleyError, InputError
from fairshapley.evaluation.engines.engine import PackedGame, Ticket
from fairshapley.evaluation.engines.pool import PoolEngine, PoolSession

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class RayEngine(PoolEngine):
    """Computes on a Ray cluster (needs ray).

    fairshapley must be installed on the nodes, in the same version.

    Parameters
    ----------
    address
        The cluster, e.g. "ray://host:10001" or "auto". None takes the Ray that this process is
        connected to, or the one that the environment variable RAY_ADDRESS names, or one that runs
        on this machine.
    timeout
        The seconds that a chunk may take, not counting the time it waits for a worker. A utility
        that takes longer is found, and named or skipped as `on_error` says; its process is ended.
        By default it is waited for.
    chunk_size
        Coalitions per chunk; by default it follows the measured speed.
    cpus, gpus
        What a chunk takes of the cluster; 0.1 CPUs are enough for utilities that wait. There is
        one thread of BLAS and OpenMP for each CPU; without `gpus` Ray hides GPUs from a utility.
    in_flight
        The least that a round holds. Where utilities wait instead of computing, the number of
        the cluster's places keeps all of them busy. It decides which coalitions are drawn.
    retries, backoff
        As of `ProcessEngine`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.estimate(fs.games.Airport([1.0, 2.0]), engine="ray")  # doctest: +SKIP
    """

    address: str | None = None
    cpus: float = field(default=1, kw_only=True)
    gpus: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        with extra("ray", "a Ray engine needs ray"):
            import ray
        address = self.address
        if address is not None and (not isinstance(address, str) or not address):
            raise InputError(
                f"address must be that of a Ray cluster such as 'ray://host:10001', not {address!r}"
            )
        self._ray: Any = ray
        self.cpus = checks.real("cpus", self.cpus, above=0)
        self.gpus = checks.real("gpus", self.gpus, least=0)
        self.threads = max(1, int(self.cpus))
        self._executor: Executor | None = None
        self._ours = False
        """Whether the connection was made here"""

    def __repr__(self) -> str:
        return f"RayEngine({self.address!r}, timeout={self.timeout})"

    def connect(self) -> Any:
        """Connect to Ray; none is started, for its processes run code of whoever asks."""
        if not self._ray.is_initialized():
            address = self.address or os.environ.get("RAY_ADDRESS") or "auto"
            try:
                self._ray.init(address)
            except Exception as error:
                raise EngineError(
                    f"no Ray cluster answers at {address} ({type(error).__name__}: {error}): call "
                    "ray.init() or run 'ray start --head' first, or correct the address; 'ray://' "
                    "also needs pip install 'ray[client]'; one machine needs no Ray: 'processes'"
                ) from error
            self._ours = True
        elif self.address is not None and not self._ours:
            raise InputError(
                f"this process is connected to a Ray already, not to {self.address}: use it with "
                "engine='ray', or call ray.shutdown() first"
            )
        return self._ray

    def executor(self, workers: int) -> Executor:
        """Return Ray as an executor."""
        if self._executor is None:
            self._executor = RayExecutor(self._ray, self.cpus, self.gpus)
        return self._executor

    def places(self) -> tuple[int, str]:
        """Return how many tasks the resources of the cluster allow at a time."""
        try:
            total = self.connect().cluster_resources()
        except FairShapleyError:
            raise
        except Exception as error:
            raise EngineError(f"the Ray cluster is lost ({error})") from error
        places = total.get("CPU", 0.0) / self.cpus
        if self.gpus:
            places = min(places, total.get("GPU", 0.0) / self.gpus)
        return int(places), (
            f"the Ray cluster has had no room for a task of {self.cpus:g} CPUs and "
            f"{self.gpus:g} GPUs for {self.empty_seconds:.0f} s: it has {total}"
        )

    def dumps(self, game: PackedGame) -> bytes:
        """Return the game as bytes, by Ray's own cloudpickle."""
        data: bytes = self._ray.cloudpickle.dumps(game)
        return data

    def send(self, session: PoolSession, payload: ByteArray) -> Any:
        """Put the game into the object store."""
        return self._ray.put(payload)

    def lost(self, error: BaseException) -> str | None:
        """Return how the worker died; the evaluator decides what is done about it."""
        errors = self._ray.exceptions
        if isinstance(
            error, errors.WorkerCrashedError | errors.OutOfMemoryError | errors.NodeDiedError
        ):
            return f"the Ray worker that computed it died ({type(error).__name__})"
        return None

    def stop(self, tickets: Sequence[Ticket]) -> None:
        """Cancel tasks, with their processes."""
        for ticket in tickets:
            with suppress(Exception):
                self._ray.cancel(ticket.object_ref, force=True)

    def close(self) -> None:
        """End a connection that was made here; the cluster stays."""
        if self._ours:
            self._ray.shutdown()
            self._ours = False


class RayExecutor(Executor):
    """Tasks of Ray as futures; `cancel` leaves them alone, `RayEngine.stop` ends them."""

    def __init__(self, ray: Any, cpus: float, gpus: float) -> None:
        self._as_task = cache(ray.remote(max_retries=0, num_cpus=cpus, num_gpus=gpus))

    def submit(self, function: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:
        """Call a function in a worker."""
        future: Future[T] = self._as_task(function).remote(*given, **named).future()
        future.set_running_or_notify_cancel()
        return future
