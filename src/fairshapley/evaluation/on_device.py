"""Rounds that stay on a device: the game's utilities of a draw, without a way over the host.

Nothing is looked up, remembered or journalled for them: among many players two random
coalitions of a middle size are never the same, and the few that are cost less than a look. So a
coalition that is drawn twice counts twice.
"""

from __future__ import annotations

from collections.abc import Callable

from fairshapley.draws.device import DeviceDraw, Tensor, host_rows
from fairshapley.errors import FairShapleyError, GameError
from fairshapley.evaluation.failures import LARGEST_UTILITY, failure, reason_of
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.games.abilities import DeviceGame

EXACT_NOTE = "utilities and sums stayed on {device}"
NOTE = (
    "draws and sums stayed on {device}: a coalition that was drawn twice was computed, and "
    "counted, twice"
)


def evaluate_on_device(
    game: DeviceGame, draw: DeviceDraw, guard: InterruptGuard, between: Callable[[], None]
) -> tuple[Tensor, float]:
    """Return the utilities of all coalitions of a draw, and the size of the largest.

    Parameters
    ----------
    game
        The form of the game on the device.
    draw
        The coalitions, which are there too.
    guard
        Lets Ctrl-C through while the game computes.
    between
        Called before every block of coalitions; what it raises ends the round.
    """
    import torch

    parts = []
    for start in range(0, len(draw), game.block):
        between()
        columns = draw.columns(start, min(len(draw), start + game.block))
        with guard.interruptible():
            try:
                parts.append(game(columns))
            except (FairShapleyError, MemoryError):
                raise
            except Exception as error:
                raise GameError(f"the game failed on {game.device}: {reason_of(error)}") from error
    values = parts[0] if len(parts) == 1 else torch.cat(parts)
    lowest, highest = torch.stack(torch.aminmax(values)).tolist()
    largest = max(-lowest, highest)
    if not largest <= LARGEST_UTILITY:  # so for NaN
        at = int((~(values.abs() <= LARGEST_UTILITY)).nonzero()[0, 0])
        mask = host_rows(draw.columns(at, at + 1))[0]
        raise failure(mask, f"it returned {float(values[at])}")
    return values, largest
