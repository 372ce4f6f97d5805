"""The engine of a Dask cluster: the game is scattered once, the chunks are tasks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fairshapley._basics import checks
from fairshapley._basics.extras import extra
from fairshapley._basics.types import BoolArray
from fairshapley.errors import EngineError, InputError
from fairshapley.evaluation.engines.engine import Answer, CheckedEngine, Ticket, WorkerLostError
from fairshapley.evaluation.engines.remote import LOOK_SECONDS, ClusterSession
from fairshapley.evaluation.engines.worker import Reply, Settings, run_chunk
from fairshapley.games.game import Game

if TYPE_CHECKING:
    from distributed import Client

# Client and scheduler take some 5 ms of a core for a chunk, which on a single machine the workers
# go without.
WORTHWHILE_SECONDS = 0.1


class DaskEngine(CheckedEngine):
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
        The least that a round holds. Where utilities wait instead of computing, as many as the
        cluster has threads keep all of them busy. It decides which coalitions are drawn.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from distributed import Client
    >>> with Client("tcp://10.0.0.1:8786") as client:  # doctest: +SKIP
    ...     fs.estimate(fs.games.Airport([1.0, 2.0]), engine=client)
    """

    def __init__(
        self,
        cluster: Client | str,
        *,
        timeout: float | None = None,
        chunk_size: int | None = None,
        threads: int = 1,
        in_flight: int = 1,
    ) -> None:
        super().__init__(chunk_size=chunk_size, timeout=timeout, in_flight=in_flight)
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
        self.worthwhile = WORTHWHILE_SECONDS
        self._address = cluster if isinstance(cluster, str) else None
        self._client: Any = None if isinstance(cluster, str) else cluster
        self.threads = checks.whole("threads", threads)

    def __repr__(self) -> str:
        return f"DaskEngine({self._address or self._client!r}, timeout={self.timeout})"

    def client(self) -> Any:
        """The client, connected where an address was given."""
        if self._client is None:
            try:
                self._client = self._distributed.Client(self._address, set_as_default=False)
            except (OSError, TimeoutError, ValueError) as error:
                raise EngineError(
                    f"no Dask scheduler answers at {self._address} ({error}): start one with "
                    "'dask scheduler', or correct the address"
                ) from error
        return self._client

    def open(self, game: Game) -> DaskSession:
        """Scatter the game to the workers."""
        return DaskSession(self, game)

    def close(self) -> None:
        """Close the client where an address was given; the cluster stays."""
        if self._address is not None and self._client is not None:
            self._client.close()
            self._client = None


class DaskSession(ClusterSession):
    """A game on the workers of a cluster."""

    def __init__(self, engine: DaskEngine, game: Game) -> None:
        import cloudpickle  # type: ignore[import-untyped]

        super().__init__(
            game, cloudpickle.dumps, Settings(engine.threads, engine.timeout, sole=False)
        )
        self._client = engine.client()
        self._distributed = engine._distributed
        self._submitted = 0
        self._replies: dict[Ticket, Reply] = {}
        self._await_workers()
        self._game = self._scatter()

    def _count(self) -> tuple[int, str]:
        """The threads of all workers; an EngineError when the scheduler is gone."""
        if self._client.status != "running":
            raise EngineError(
                f"the connection to the Dask scheduler {self._where()} is lost (the client is "
                f"{self._client.status})"
            )
        try:
            threads = sum(self._client.nthreads().values())
        except (OSError, TimeoutError, RuntimeError) as error:
            raise EngineError(
                f"the Dask scheduler {self._where()} does not answer ({error})"
            ) from error
        return threads, (
            f"the Dask cluster {self._where()} has had no workers for {self.empty_seconds:.0f} s: "
            "start some with 'dask worker'"
        )

    def _where(self) -> str:
        return str(getattr(self._client.scheduler, "address", "") or "")

    def _await_workers(self) -> None:
        self._look()
        while not self._workers:
            time.sleep(LOOK_SECONDS / 10)
            self._look()

    def _scatter(self) -> Any:
        """One copy for every worker there is; one that comes later fetches it from another."""
        try:
            return self._client.scatter(self._payload, broadcast=True, hash=False)
        except (OSError, TimeoutError, RuntimeError, CancelledError) as error:
            raise EngineError(
                f"the game could not be sent to the Dask cluster {self._where()}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def submit(self, masks: BoolArray, *, alone: bool = False) -> Ticket:
        """Hand a chunk to the scheduler."""
        if self._game.status != "finished":
            # All workers that had a copy are gone.
            self._await_workers()
            self._game = self._scatter()
        self._submitted += 1
        try:
            return self._client.submit(
                run_chunk,
                *self._arguments(masks),
                key=f"{self._name}-{self._submitted}",
                pure=False,
            )
        except Exception as error:
            self._look()
            raise EngineError(
                f"a chunk could not be sent to the Dask scheduler {self._where()}: {error}"
            ) from error

    def _done(self, tickets: Sequence[Ticket], seconds: float) -> list[Ticket]:
        futures: Any = tickets
        # Cancelled futures are seen by their status below.
        with suppress(TimeoutError, CancelledError), self._client.as_current():
            self._distributed.wait(futures, timeout=seconds, return_when="FIRST_COMPLETED")
        done = [future for future in futures if future.status != "pending"]
        finished = [future for future in done if future.status == "finished"]
        with suppress(Exception):  # fetched together, or else one by one
            replies = self._client.gather(finished)
            self._replies = dict(zip(finished, replies, strict=True))
        return done

    def _reply(self, ticket: Ticket) -> Reply:
        try:
            if ticket.status == "lost":
                raise CancelledError
            fetched = self._replies.pop(ticket, None)
            reply: Reply = ticket.result() if fetched is None else fetched
        except self._distributed.KilledWorker as error:
            raise WorkerLostError("the Dask workers that computed it died") from error
        except (CancelledError, OSError, TimeoutError) as error:
            self._look()
            raise WorkerLostError("the workers that held its data died") from error
        if reply.failure is not None:
            # The scheduler would compute it again when its worker ends itself.
            ticket.release()
        return reply

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """What is done; the rest is cancelled, though a worker finishes what it has begun."""
        futures: Any = tickets
        done = [future for future in futures if future.status == "finished"]
        answers = []
        for future in done:
            with suppress(Exception):
                answers.append((future, self._answer(future)))
        with suppress(Exception):
            self._client.cancel([future for future in futures if future not in done])
        return answers

    def close(self) -> None:
        """Release the game on the workers."""
        with suppress(Exception):
            self._game.release()
