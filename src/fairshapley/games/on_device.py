"""Games that compute where their coalitions are: on a device of torch, without the host."""

from __future__ import annotations

from typing import Any, Protocol


class DeviceGame(Protocol):
    """The utilities of coalitions that are columns of a tensor."""

    n_players: int
    device: str
    """As torch names it"""
    block: int
    """How many coalitions fit the memory at a time"""

    def __call__(self, columns: Any, /) -> Any:
        """The utility of each column of a boolean tensor (players, m): a float64 tensor (m,)."""


def device_form(game: object) -> DeviceGame | None:
    """What a game gives as its form on a device; None where it has none.

    A subclass may compute other utilities than its parent: a form from a class above the one that
    has `__call__` does not count.
    """
    kinds = type(game).__mro__
    of_form, of_utilities = (
        next((kind for kind in kinds if name in vars(kind)), object)
        for name in ("on_device", "__call__")
    )
    if of_form is object or not issubclass(of_form, of_utilities):
        return None
    return game.on_device()  # type: ignore[attr-defined]
