"""The eight federations of the paper, and smaller ones to try the code.

The estimators, not the training, are the subject: rounds, images and the rounds that are valued are
cut where the table `FEDERATIONS` says less than the paper.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.paper.federation import Federation, FederationTable, load_table, train_table
from fairshapley.errors import InputError
from fairshapley_paper.experiment import Size
from fairshapley_paper.federated.data import SplitKind

_MNIST = Federation(
    name="mnist",
    dataset="mnist",
    split="iid",
    n_agents=10,
    rows_per_agent=600,
    test_rows=2000,
    rounds=60,
    valued_every=5,
    epochs=1,
    lr=0.25,
    decay=0.977,
    batch_size=32,
    optimizer="sgd",
)
_CIFAR10 = Federation(
    name="cifar10",
    dataset="cifar10",
    split="iid",
    n_agents=10,
    # The paper has 2000; the compact copy holds 4660 images, and whoever holds one class alone
    # needs 2.9 times its rows of that class.
    rows_per_agent=450,
    test_rows=800,
    rounds=100,
    valued_every=10,
    epochs=3,
    lr=0.015,
    decay=1.0,
    batch_size=128,
    optimizer="sgd",
)
_MOVIES = Federation(
    name="movie_reviews",
    dataset="mr",
    split="powerlaw",
    n_agents=5,
    rows_per_agent=None,
    test_rows=1000,
    rounds=100,
    valued_every=10,
    epochs=3,
    lr=5e-5,
    decay=1.0,
    batch_size=128,
    optimizer="adam",
)
_SST5 = dataclasses.replace(
    _MOVIES, name="sst5", dataset="sst5", test_rows=2000, lr=1e-4, batch_size=256
)

_SPLITS: tuple[SplitKind, ...] = ("iid", "powerlaw", "classimbalance")


def _splits(base: Federation, rows: dict[str, int | None]) -> list[Federation]:
    return [
        dataclasses.replace(
            base,
            name=f"{base.name}-{kind}",
            split=kind,
            rows_per_agent=rows.get(kind, base.rows_per_agent),
        )
        for kind in _SPLITS
    ]


FEDERATIONS: dict[str, Federation] = {
    federation.name: federation
    for federation in (
        *_splits(_MNIST, {}),
        *_splits(_CIFAR10, {"classimbalance": 150}),
        _MOVIES,
        _SST5,
    )
}
"""The federations at the full size, by name"""

# What differs from the full size: small networks, few agents, rows and rounds, and steps that are
# large enough to move such a network in a few rounds.
_SMALL: dict[str, dict[str, Any]] = {
    "mnist": {"lr": 0.25, "network": {"channels": (6, 8), "kernels": (5, 5), "hidden": 32}},
    "cifar10": {
        "lr": 3e-3,
        "optimizer": "adam",
        "network": {"channels": (6, 8, 8), "hidden": 32},
    },
    "mr": {"lr": 5e-3, "network": {"embedding": 16, "filters": 8}},
    "sst5": {"lr": 5e-3, "network": {"embedding": 16, "filters": 8}},
}
_CUT: dict[Size, dict[str, int]] = {
    "quick": {"n_agents": 6, "rows_per_agent": 80, "test_rows": 100, "rounds": 4},
    "tiny": {"n_agents": 4, "rows_per_agent": 40, "test_rows": 50, "rounds": 2},
}


def federation_of(name: str, size: Size = "full", seed: int = 0) -> Federation:
    """Return the configuration of a federation at one of the sizes.

    Examples
    --------
    >>> federation_of("mnist-iid").valued_rounds
    (4, 9, 14, 19, 24, 29, 34, 39, 44, 49, 54, 59)
    >>> federation_of("sst5", "quick").n_agents
    5
    """
    if name not in FEDERATIONS:
        raise InputError(f"there is no federation {name!r}: choose of {', '.join(FEDERATIONS)}")
    federation = dataclasses.replace(FEDERATIONS[name], seed=seed)
    if size == "full":
        return federation
    cut, small = _CUT[size], _SMALL[federation.dataset]
    return dataclasses.replace(
        federation,
        n_agents=min(cut["n_agents"], federation.n_agents),
        rows_per_agent=cut["rows_per_agent"],
        test_rows=cut["test_rows"],
        rounds=cut["rounds"],
        valued_every=2,
        lr=small["lr"],
        optimizer=small.get("optimizer", federation.optimizer),
        batch_size=16,
        network=tuple(sorted(small["network"].items())),
    )


def table_path(folder: Path, federation: Federation) -> Path:
    """Return where the table of a federation is kept."""
    return folder / f"{federation.name}.npz"


def find_table(
    federation: Federation,
    folder: Path,
    *,
    device: str | None = None,
    say: Callable[[str], None] | None = None,
) -> FederationTable:
    """Return the table of a federation from the folder, or trained, and then kept there."""
    path = table_path(folder, federation)
    if path.exists():
        return load_table(path, federation)
    table = train_table(federation, device=device, say=say)
    table.save(path)
    return table
