"""The engine of a Dask cluster: the game is the result of a task, the chunks are tasks."""

from __future__ import annotations

import warnings
from concurrent.futures import CancelledError, Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.extras import extra
from fairshapley._basics.types import ByteArray
from fairshapley.errors import EngineError, InputError
from fairshapley.evaluation.engines.pool import PoolEngine, PoolSession

if TYPE_CHECKING:
    from distributed import Client


@dataclass(eq=False, repr=False)
class DaskEngine(PoolEngine):
    """Computes on a Dask cluster (needs distributed).

    A worker that dies is replaced by its nanny, and its chunks are computed again by the scheduler.
    fairshapley must be installed on the workers, in the same version.

    Parameters
    ----------
    cluster
        A `distributed.Client`, or the address of a scheduler: "tcp://host:port".
    timeout
        The seconds that a chunk may take, not counting the time it waits for a worker. A utility
        that takes longer is found, and named or skipped as `on_error` says; its worker is ended,
        and started again where it has a nanny. By default it is waited for.
    chunk_size
        Coalitions per chunk; by default it follows the measured speed.
    threads
        Threads of BLAS and OpenMP in each worker.
    in_flight
        The least that a round holds. Where utilities wait instead of computing, the number of
        the cluster's threads keeps all of them busy. It decides which coalitions are drawn.
    retries, backoff
        As of `ProcessEngine`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from distributed import Client
    >>> with Client("tcp://10.0.0.1:8786") as client:  # doctest: +SKIP
    ...     fs.estimate(fs.games.Airport([1.0, 2.0]), engine=client)
    """

    sole: ClassVar[bool] = False

    cluster: Client | str
    threads: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        cluster = self.cluster
        with extra("dask", "a Dask engine needs distributed"):
            import distributed
        if not isinstance(cluster, str | distributed.Client):
            raise InputError(
                "a Dask engine needs a distributed.Client or the address of a scheduler such as "
                f"'tcp://host:8786', not {cluster!r}"
            )
        if isinstance(cluster, distributed.Client) and cluster.asynchronous:
            raise InputError("the client is asynchronous: give a Client(asynchronous=False)")
        self._distributed: Any = distributed
        self._executor: Any = None
        self._address = cluster if isinstance(cluster, str) else None
        self._client: Any = None if isinstance(cluster, str) else cluster
        self.threads = checks.whole("threads", self.threads)

    def __repr__(self) -> str:
        return f"DaskEngine({self._address or self._client!r}, timeout={self.timeout})"

    def client(self) -> Any:
        """Return the client, connected where an address was given."""
        if self._client is None:
            try:
                self._client = self._distributed.Client(self._address, set_as_default=False)
            except (OSError, TimeoutError, ValueError) as error:
                raise EngineError(
                    f"no Dask scheduler answers at {self._address} ({error}): start one with "
                    "'dask scheduler', or correct the address"
                ) from error
        return self._client

    def executor(self, workers: int) -> Executor:
        """Return the cluster as an executor; it has its own number of workers."""
        if self._executor is None:
            self._executor = self.client().get_executor(pure=False)
        executor: Executor = self._executor
        return executor

    def places(self) -> tuple[int, str]:
        """Return the threads of all workers; raise an EngineError when the scheduler is gone."""
        client = self.client()
        where = str(getattr(client.scheduler, "address", "") or "")
        if client.status != "running":
            raise EngineError(f"the Dask scheduler {where} is lost (the client is {client.status})")
        try:
            threads = sum(client.nthreads().values())
        except (OSError, TimeoutError, RuntimeError) as error:
            raise EngineError(f"the Dask scheduler {where} does not answer ({error})") from error
        return threads, (
            f"the Dask cluster {where} has had no workers for {self.empty_seconds:.0f} s: start "
            "some with 'dask worker'"
        )

    def send(self, session: PoolSession, payload: ByteArray) -> Any:
        """Make the game the result of a task, which the scheduler repeats when it is lost."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")
                source = self.client().submit(np.asarray, payload, pure=False)
        except (OSError, TimeoutError, RuntimeError) as error:
            raise EngineError(
                f"the game could not be sent to the Dask cluster: {type(error).__name__}: {error}"
            ) from error
        session.release = source.release
        return source

    def lost(self, error: BaseException) -> str | None:
        """Return what the scheduler tells of workers that died; data may be lost with them."""
        if isinstance(error, self._distributed.KilledWorker):
            return "the Dask workers that computed it died"
        if isinstance(error, CancelledError | OSError | TimeoutError):
            return "the workers that held its data died"
        return None

    def close(self) -> None:
        """Close the client where an address was given; the cluster stays."""
        self._executor = None
        if self._address is not None and self._client is not None:
            self._client.close()
            self._client = None
