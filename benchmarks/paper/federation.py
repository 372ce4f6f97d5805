"""A federation of the paper: what is trained, how, and the table of utilities that it leaves.

Training takes minutes, the table of a federation a few kilobytes. So a federation is trained once
per split, the test rows that each coalition's model got right are kept by round, and all trials of
all estimators look them up. A file says which configuration it was made with, and is refused for
any other.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairshapley._basics.extras import import_torch
from fairshapley._basics.files import write_whole
from fairshapley._basics.types import IntArray
from fairshapley.draws import AllCoalitions
from fairshapley.errors import InputError
from fairshapley_paper.federated.data import SplitKind

if TYPE_CHECKING:
    from benchmarks.paper.federation_data import Ready

_ARRAYS = ("correct", "rounds", "tested", "fingerprint", "description")


@dataclass(frozen=True, kw_only=True)
class Federation:
    """The configuration of one federation."""

    name: str
    dataset: Literal["mnist", "cifar10", "mr", "sst5"]
    split: SplitKind
    n_agents: int
    rows_per_agent: int | None
    """None takes all rows"""
    test_rows: int | None
    rounds: int
    valued_every: int
    """The distance between rounds that are valued; the last round is one of them"""
    epochs: int
    lr: float
    decay: float
    batch_size: int
    optimizer: Literal["sgd", "adam"]
    network: tuple[tuple[str, Any], ...] = ()
    """Options of the network that differ from the paper's"""
    seed: int = 0
    version: int = 1
    """The version of preparation and training: a new one when they give other tables"""

    @property
    def valued_rounds(self) -> tuple[int, ...]:
        """The numbers of the rounds that are valued, from 0."""
        return tuple(range(self.valued_every - 1, self.rounds, self.valued_every))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the configuration."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class FederationTable:
    """What a federation's training left: how many test rows each coalition's model gets right."""

    correct: IntArray
    """(valued rounds, 2**n); the index of a coalition is its bit mask, ∅ is the server's model"""
    rounds: IntArray
    """The numbers of the valued rounds"""
    tested: int
    """Test rows"""
    fingerprint: str
    """The fingerprint of the configuration"""
    description: str
    """The configuration, the data's checksum, the machine and the time, for people"""

    def save(self, path: Path) -> None:
        """Write an npz file, without pickles."""
        path.parent.mkdir(parents=True, exist_ok=True)
        narrow = self.correct.astype(np.uint16)
        if (narrow != self.correct).any():
            raise InputError("a table holds at most 65 535 test rows: take fewer")
        content = io.BytesIO()
        np.savez_compressed(
            content,
            correct=narrow,
            rounds=self.rounds,
            tested=self.tested,
            fingerprint=self.fingerprint,
            description=self.description,
        )
        write_whole(path, content.getvalue())


def load_table(path: Path, federation: Federation) -> FederationTable:
    """Return the table in a file, or an InputError where it is not that of this federation."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in _ARRAYS}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} is not a table of a federation ({error}): delete it to train anew"
        ) from None
    if str(arrays["fingerprint"]) != federation.fingerprint:
        raise InputError(
            f"{path} was made with another configuration of {federation.name}: delete it to train "
            "anew, or give another folder"
        )
    shape = (len(federation.valued_rounds), 1 << federation.n_agents)
    tested = int(arrays["tested"])
    correct = arrays["correct"].astype(np.int64)
    whole = correct.shape == shape and arrays["rounds"].tolist() == list(federation.valued_rounds)
    if not whole or correct.max(initial=0) > tested or (correct[:, -1:] == 0).any():
        raise InputError(f"{path} is damaged: delete it to train anew")
    return FederationTable(
        correct,
        arrays["rounds"].astype(np.int64),
        tested,
        federation.fingerprint,
        str(arrays["description"]),
    )


def train_table(
    federation: Federation,
    *,
    device: str | None = None,
    say: Callable[[str], None] | None = None,
) -> FederationTable:
    """Train a federation and evaluate all coalitions of the rounds that are valued.

    Parameters
    ----------
    federation
        What to train.
    device
        "cpu" unless given; "cuda" where there is one.
    say
        Is told how far it is, a line for each valued round.
    """
    from benchmarks.paper.federation_data import prepare

    started = time.perf_counter()
    with _threads(federation):
        ready = prepare(federation)
        correct = np.stack(list(_valued_rounds(federation, ready, device, say)))
    tested = len(ready.test[1])
    seconds = time.perf_counter() - started
    return FederationTable(
        correct,
        np.array(federation.valued_rounds),
        tested,
        federation.fingerprint,
        _describe(federation, ready, device, seconds),
    )


def _valued_rounds(
    federation: Federation, ready: Ready, device: str | None, say: Callable[[str], None] | None
) -> Iterator[IntArray]:
    """Yield how many test rows all coalitions get right, round by round."""
    from fairshapley.games.federated import ModelUtility, RoundGame
    from fairshapley_paper.federated.training import train

    utility = ModelUtility(ready.model, ready.test, device=device)
    coalitions = AllCoalitions(federation.n_agents).masks(0, 1 << federation.n_agents)
    wanted = set(federation.valued_rounds)
    for record in train(
        ready.model,
        ready.agents,
        rounds=federation.rounds,
        epochs=federation.epochs,
        lr=federation.lr,
        decay=federation.decay,
        batch_size=federation.batch_size,
        optimizer=federation.optimizer,
        seed=federation.seed,
        device=device,
    ):
        if record.number not in wanted:
            continue
        accuracies = RoundGame(record, utility, empty="server")(coalitions)
        if say is not None:
            say(
                f"{federation.name}: round {record.number + 1} of {federation.rounds}, "
                f"accuracy {accuracies[-1]:.3f}"
            )
        yield np.rint(accuracies * len(ready.test[1])).astype(np.int64)


@contextmanager
def _threads(federation: Federation) -> Iterator[None]:
    """Yield one thread for small networks, which more of them only slow down."""
    torch = import_torch("a federation without its table")
    before = torch.get_num_threads()
    torch.set_num_threads(1 if federation.network else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _describe(federation: Federation, ready: Ready, device: str | None, seconds: float) -> str:
    torch = import_torch("a federation without its table")
    where = torch.cuda.get_device_name() if (device or "cpu").startswith("cuda") else "CPU"
    return (
        f"{json.dumps(dataclasses.asdict(federation))}; agents' rows {ready.sizes.tolist()}; "
        f"{len(ready.test[1])} test rows; data sha256 {ready.checksum}; torch {torch.__version__} "
        f"on {where}, {seconds:.0f} s"
    )
