"""Virtual environments for the peers, and the processes that run in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.wire import receive, send

HERE = Path(__file__).parent
# As ours run: times compare, and the last bits do not depend on the number of cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ENVIRONMENTS = Path(__file__).parents[2] / ".benchmarks" / "environments"


class PeerError(RuntimeError):
    """A peer could not give an answer; the text is the peer's own."""


@dataclass(frozen=True)
class Peer:
    """A library, what it is installed from, and the script that runs it."""

    name: str
    requirements: tuple[str, ...]
    worker: str
    needs: str = ""
    """The version of Python that it needs, where that is not the benchmark's own: "3.12\""""
    alone: tuple[str, ...] = ()
    """What is installed without what it asks for, since that is old or not used"""

    def python(self) -> Path:
        """Return the interpreter of the peer's environment, which is made on first use."""
        folder = ENVIRONMENTS / (*self.alone, *self.requirements)[0].replace("==", "-")
        stamp = folder / "installed"
        wanted = "\n".join((*self.requirements, *self.alone))
        if not stamp.exists() or stamp.read_text() != wanted:
            print(f"making an environment for {self.name} …", file=sys.stderr, flush=True)
            # pyenv's own name for a version; any other python ignores it.
            choice = {"PYENV_VERSION": self.needs} if self.needs else {}
            make = [self._interpreter(), "-m", "venv", "--clear", str(folder)]
            subprocess.run(make, check=True, env={**os.environ, **choice})
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, *self.requirements], check=True)
            if self.alone:
                subprocess.run([*pip, "--no-deps", *self.alone], check=True)
            stamp.write_text(wanted)
        return folder / "bin" / "python"

    def _interpreter(self) -> str:
        if not self.needs:
            return sys.executable
        found = shutil.which(f"python{self.needs}")
        if found is None:
            raise PeerError(
                f"{self.name} needs Python {self.needs}: put python{self.needs} on PATH"
            )
        return found


# The version that the kept results of the efficiency benchmark are of.
SHAPIQ_1_4 = Peer("shapiq", ("shapiq==1.4.1", "lightgbm==4.7.0"), "shapiq_worker.py")
SHAPIQ = Peer(
    "shapiq",
    ("shapiq==1.8.0", "shapiq[shapleig]==1.8.0", "lightgbm==4.7.0", "xgboost-cpu==3.4.1"),
    "shapiq_worker.py",
    needs="3.12",
)
PYDVL = Peer("pydvl", ("pyDVL==0.10.0", "numpy<2", "cvxpy"), "pydvl_worker.py")


class PeerProcess:
    """A peer that runs: tasks go in, values come out, and the game is answered in between.

    It starts with the first task.
    """

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.process: subprocess.Popen[bytes] | None = None

    def solve(
        self,
        game: Callable[[NDArray[np.bool_]], NDArray[np.float64]],
        *,
        name: str,
        n_players: int,
        method: str,
        budget: int,
        seed: int,
    ) -> dict[str, Any]:
        """Return values, seconds and distinct evaluations of one run."""
        task = {
            "game": name,
            "n_players": n_players,
            "method": method,
            "budget": budget,
            "seed": seed,
        }
        sink, source = self._streams()
        send(sink, b"T", json.dumps(task).encode())
        while True:
            kind, payload = receive(source)
            if kind == b"Q":
                rows = np.frombuffer(payload, dtype=np.uint8).reshape(-1, -(-n_players // 8))
                masks = np.unpackbits(rows, axis=1, bitorder="little", count=n_players)
                values = game(masks.view(np.bool_))
                send(sink, b"V", np.asarray(values, dtype="<f8").tobytes())
            elif kind == b"R":
                answer: dict[str, Any] = json.loads(payload)
                return answer
            else:
                raise PeerError(payload.decode() or "the peer's process has ended")

    def close(self) -> None:
        """End the process."""
        if self.process is None:
            return
        self._streams()[0].close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _streams(self) -> tuple[IO[bytes], IO[bytes]]:
        if self.process is None:
            self.process = subprocess.Popen(
                [str(self.peer.python()), "-W", "ignore", str(HERE / self.peer.worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=HERE,
                env={**os.environ, **ONE_THREAD},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout
