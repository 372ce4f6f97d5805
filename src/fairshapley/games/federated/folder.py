"""The updates of a federated run in a folder of files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.files import MAX_BYTES
from fairshapley.errors import InputError

WeightArrays = dict[str, NDArray[np.generic]]


class FolderOfUpdates(NamedTuple):
    """What `FederatedGame.from_updates` takes."""

    rounds: list[dict[str, WeightArrays]]
    server: WeightArrays | None
    """The weights before the first round, from server.npz"""
    examples: dict[str, float] | None
    """The number of training examples of each agent, from examples.json"""


def read_updates(folder: Path, *, max_bytes: int = MAX_BYTES) -> FolderOfUpdates:
    """Read ROUND/AGENT.npz, one file of named arrays for each update, rounds by name.

    Beside the rounds may lie server.npz, the weights before the first of them, and examples.json,
    an object with the number of training examples of each agent. A file that unpacks to more than
    `max_bytes` raises an InputError.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give one that holds ROUND/AGENT.npz files")
    parts = sorted(path for path in folder.iterdir() if path.is_dir())
    rounds = [
        {file.stem: _arrays(file, max_bytes) for file in sorted(part.glob("*.npz"))}
        for part in parts
    ]
    empty = [part for part, updates in zip(parts, rounds, strict=True) if not updates]
    if empty or not rounds:
        raise InputError(
            f"{empty[0] if empty else folder} has no updates: a round is a folder with a file "
            "AGENT.npz for each agent, such as round-01/ann.npz"
        )
    server, counts = folder / "server.npz", folder / "examples.json"
    return FolderOfUpdates(
        rounds,
        _arrays(server, max_bytes) if server.exists() else None,
        _examples(counts) if counts.exists() else None,
    )


def _arrays(file: Path, max_bytes: int) -> WeightArrays:
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > max_bytes:
            raise InputError(
                f"{file} unpacks to {size / 2**20:,.0f} MiB, more than the "
                f"{max_bytes / 2**20:,.0f} MiB that are read: save the weights as float32, or only "
                "the layers that are trained"
            )
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except InputError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot read {file} ({type(error).__name__}): write it with numpy.savez(file, "
            "**weights), numbers only"
        ) from None


def _examples(file: Path) -> dict[str, float]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {str(agent): float(count) for agent, count in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        raise InputError(
            f'cannot read {file}: it must be an object such as {{"ann": 600, "bob": 400}}'
        ) from None
