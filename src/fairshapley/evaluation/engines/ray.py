"""The engine of a Ray cluster: the game lies in the object store, the chunks are tasks."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from contextlib import suppress
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
from fairshapley.evaluation.engines.remote import ClusterSession
from fairshapley.evaluation.engines.worker import Reply, Settings, run_chunk
from fairshapley.games.game import Game

LOOPBACK = "127.0.0.1"

_connected: dict[str, str | None] = {}
"""The address that this process connected to, for Ray knows only that it is connected"""


class RayEngine(CheckedEngine):
    """Computes on a Ray cluster (needs ray).

    fairshapley must be installed on the nodes, in the same version.

    Parameters
    ----------
    address
        The cluster, e.g. "ray://host:10001" or "auto". None takes the Ray that this process is
        connected to, else the one that the environment variable RAY_ADDRESS names, else starts one
        on this machine, which nobody outside can reach, and which stays until the process ends.
    timeout
        The seconds that a chunk may take, not counting the time it waits for a worker. A utility
        that takes longer is found, and named or skipped as `on_error` says; its process is ended.
        By default it is waited for.
    chunk_size
        Coalitions per chunk; by default it follows the measured speed.
    cpus, gpus
        What a chunk takes of the cluster; 0.1 CPUs are enough for utilities that wait. The threads
        of BLAS and OpenMP are as many as the CPUs; without `gpus` Ray hides GPUs from a utility.
    in_flight
        The least that a round holds. Where utilities wait instead of computing, as many as the
        cluster has places keep all of them busy. It decides which coalitions are drawn.

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.estimate(fs.games.Airport([1.0, 2.0]), engine="ray")  # doctest: +SKIP
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        timeout: float | None = None,
        chunk_size: int | None = None,
        cpus: float = 1,
        gpus: float = 0.0,
        in_flight: int = 1,
    ) -> None:
        super().__init__(chunk_size=chunk_size, timeout=timeout, in_flight=in_flight)
        with extra("ray", "a Ray engine needs ray"):
            import ray
        if address is not None and (not isinstance(address, str) or not address):
            raise InputError(
                f"address must be that of a Ray cluster such as 'ray://host:10001', not {address!r}"
            )
        self._ray: Any = ray
        self.address = address
        self.cpus = checks.real("cpus", cpus, above=0)
        self.gpus = checks.real("gpus", gpus, least=0)

    def __repr__(self) -> str:
        return f"RayEngine({self.address!r}, timeout={self.timeout})"

    def connect(self) -> Any:
        """Ray itself, connected."""
        if self._ray.is_initialized():
            if self.address is not None and self.address != _connected.get("address"):
                raise InputError(
                    f"this process is connected to a Ray already, not to {self.address}: use it "
                    "with engine='ray', or call ray.shutdown() first"
                )
        else:
            try:
                if self.address or os.environ.get("RAY_ADDRESS"):
                    self._ray.init(self.address)
                else:
                    self._start()
                _connected["address"] = self.address
            except Exception as error:
                raise EngineError(
                    f"no Ray cluster answers at {self.address or 'this machine'} "
                    f"({type(error).__name__}: {error}): start one with 'ray start --head', or "
                    "correct the address; 'ray://' also needs pip install 'ray[client]'"
                ) from error
        return self._ray

    def _start(self) -> None:
        """A Ray of our own that listens on the loopback interface alone.

        By default its processes listen on all interfaces, and whoever reaches them can run code.
        """
        constants: Any = importlib.import_module("ray._private.ray_constants")
        # Without this Ray turns 127.0.0.1 into the address of the machine; there is no option.
        before = constants.ENABLE_RAY_CLUSTER
        constants.ENABLE_RAY_CLUSTER = False
        try:
            self._ray.init("local", include_dashboard=False, _node_ip_address=LOOPBACK)
        finally:
            constants.ENABLE_RAY_CLUSTER = before
        address = self._ray.nodes()[0]["NodeManagerAddress"]
        if address != LOOPBACK:
            self._ray.shutdown()
            raise EngineError(
                f"Ray listens on {address}, open to the network: start it yourself with ray.init() "
                "if the network is safe"
            )

    def open(self, game: Game) -> RaySession:
        """Put the game into the object store."""
        return RaySession(self, game, self.connect())

    def close(self) -> None:
        """Leave Ray running: others may use it, and it ends with the process."""


class RaySession(ClusterSession):
    """A game in the object store of a cluster."""

    def __init__(self, engine: RayEngine, game: Game, ray: Any) -> None:
        settings = Settings(max(1, int(engine.cpus)), engine.timeout)
        super().__init__(game, ray.cloudpickle.dumps, settings)
        self._ray = ray
        self._engine = engine
        # The evaluator decides, for all engines, what is done about a worker that dies.
        self._task = ray.remote(run_chunk).options(
            max_retries=0, num_cpus=engine.cpus, num_gpus=engine.gpus
        )
        self._game = ray.put(self._payload)

    def _count(self) -> tuple[int, str]:
        """How many tasks the resources of the cluster allow at a time."""
        try:
            total = self._ray.cluster_resources()
        except Exception as error:
            raise EngineError(f"the Ray cluster is lost ({error})") from error
        places = total.get("CPU", 0.0) / self._engine.cpus
        if self._engine.gpus:
            places = min(places, total.get("GPU", 0.0) / self._engine.gpus)
        return int(places), (
            f"the Ray cluster has had no room for a task of {self._engine.cpus:g} CPUs and "
            f"{self._engine.gpus:g} GPUs for {self.empty_seconds:.0f} s: it has {total}"
        )

    def submit(self, masks: BoolArray, *, alone: bool = False) -> Ticket:
        """Hand in a chunk as a task."""
        try:
            return self._task.remote(*self._arguments(masks))
        except Exception as error:
            raise EngineError(f"a chunk could not be sent to Ray: {error}") from error

    def _done(self, tickets: Sequence[Ticket], seconds: float) -> list[Ticket]:
        done, rest = self._ray.wait(list(tickets), num_returns=1, timeout=seconds)
        if done and rest:
            more, _ = self._ray.wait(rest, num_returns=len(rest), timeout=0)
            done = [*done, *more]
        return list(done)

    def _reply(self, ticket: Ticket) -> Reply:
        errors = self._ray.exceptions
        try:
            return self._ray.get(ticket)
        except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError) as error:
            kind = type(error).__name__
            raise WorkerLostError(f"the Ray worker that computed it died ({kind})") from error
        except errors.ObjectLostError as error:
            self._game = self._ray.put(self._payload)
            raise WorkerLostError("the node that held its data died") from error

    def abort(self, tickets: Sequence[Ticket]) -> list[tuple[Ticket, Answer]]:
        """What is done, or will be in a moment; the rest is cancelled, with its processes."""
        with suppress(Exception):
            waited = list(tickets)
            done, rest = self._ray.wait(waited, num_returns=len(waited), timeout=LAST_MOMENT)
            for ticket in rest:
                self._ray.cancel(ticket, force=True)
            return [(ticket, self._answer(ticket)) for ticket in done]
        return []

    def close(self) -> None:
        """Release the game."""
        self._game = None
