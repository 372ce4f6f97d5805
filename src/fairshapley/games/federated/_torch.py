"""torch is an extra: imported where it is used, with an error that names the extra."""

from __future__ import annotations

from typing import Any

from fairshapley.errors import InputError, MissingExtraError


def import_torch(what: str) -> Any:
    """The module torch, or a MissingExtraError that says what needs it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError(
            f"{what} needs torch: pip install 'fairshapley[torch]'; updates of a federated run "
            "made elsewhere are valued without it, see FederatedGame.from_updates"
        ) from None
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
