"""torch is an extra: imported where it is used, with an error that names the extra."""

from __future__ import annotations

from typing import Any

from fairshapley._basics.extras import extra
from fairshapley.errors import InputError


def import_torch(what: str) -> Any:
    """The module torch, or a MissingExtraError that says what needs it."""
    instead = "FederatedGame.from_updates values the updates of a run made elsewhere without it"
    with extra("torch", f"{what} needs torch", instead):
        import torch
    return torch


def check_device(device: object) -> Any:
    """The torch device that can compute in double precision here, or an InputError."""
    torch = import_torch("a device")
    try:
        found = torch.device("cpu" if device is None else device)
        torch.zeros(1, dtype=torch.float64, device=found)
    except Exception as error:  # torch raises what the driver of the device says
        raise InputError(
            f"the device {device!r} cannot be used here ({error}): take 'cpu', or 'cuda' on a "
            "machine with a GPU and a torch that was built for it"
        ) from None
    return found
