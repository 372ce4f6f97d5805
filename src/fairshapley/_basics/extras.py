"""Optional packages: imported where they are used, with advice where they are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from fairshapley.errors import InputError, MissingExtraError


@contextmanager
def extra(name: str, what: str, instead: str = "") -> Iterator[None]:
    """Imports that an extra of this package brings; a MissingExtraError when they fail.

    Parameters
    ----------
    name
        The extra.
    what
        What needs which package.
    instead
        What works without it.

    Examples
    --------
    >>> with extra("report", "plot needs matplotlib"):
    ...     import no_such_package
    Traceback (most recent call last):
    fairshapley.errors.MissingExtraError: plot needs matplotlib: pip install ...
    """
    try:
        yield
    except ImportError:
        advice = f"{what}: {_installed_by(name)}"
        raise MissingExtraError(f"{advice}; {instead}" if instead else advice) from None


def import_torch(what: str) -> Any:
    """Return the module torch, or raise a MissingExtraError that says what needs it."""
    with extra("torch", f"{what} needs torch", "data games and federated games run without it"):
        import torch
    return torch


def torch_device(device: object, dtype: str = "float64") -> Any:
    """Return a device of torch that computes with this type here, or raise InputError."""
    torch = import_torch(f"device={device!r}")
    try:
        place = torch.device("cpu" if device is None else device)
        torch.zeros(1, dtype=getattr(torch, dtype), device=place)
    except Exception as error:  # torch raises what the driver of the device says
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"{device!r} cannot be used here for {dtype} ({reason})",
            parameter="device",
            remedy="give 'cpu', 'cuda' or 'cuda:1', or leave it out",
        ) from None
    return place


def _installed_by(name: str) -> str:
    """Return the command that installs what an extra brings.

    It names the packages, not the extra of this one: it is right wherever this package came from.
    """
    try:
        required = metadata.requires("fairshapley") or ()
    except metadata.PackageNotFoundError:
        required = ()
    packages = [
        f"'{entry.partition(';')[0].strip()}'"
        for entry in required
        if re.search(rf"extra == ['\"]{name}['\"]", entry)
    ]
    if not packages:
        return f"in a clone, pip install '.[{name}]'"
    return f"pip install {' '.join(packages)}"
