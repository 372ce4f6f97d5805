"""Rounds that stay on a device: the game's utilities of a draw, without a way over the host.

Nothing is looked up, remembered or journalled for them: among so many players two random
coalitions of a middle size are never the same, and the few that are cost less than a look. So a
coalition that is drawn twice counts twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fairshapley.draws.device import DeviceDraw, Tensor, host_rows
from fairshapley.errors import FairShapleyError, GameError
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.ledger import LARGEST_UTILITY, Tally, failure, reason_of
from fairshapley.games.abilities import DeviceGame

NOTE = (
    "draws and sums stayed on {device}: a coalition that was drawn twice was computed, and "
    "counted, twice"
)


class OnDevice:
    """Evaluates draws where their coalitions are.

    Parameters
    ----------
    game
        The game's form on the device.
    tally, guard
        Those of the evaluator.
    """

    def __init__(self, game: DeviceGame, tally: Tally, guard: InterruptGuard) -> None:
        self.game = game
        self.tally = tally
        self.guard = guard

    def values(
        self, draw: DeviceDraw, deadline: float, after_chunk: Callable[[], None] | None
    ) -> Tensor | None:
        """The utilities of all coalitions of a draw; None when the time is over before the end."""
        import torch

        parts = []
        step = self.game.block
        for start in range(0, len(draw), step):
            if time.monotonic() > deadline:
                return None
            columns = draw.columns(start, min(len(draw), start + step))
            with self.guard.interruptible():
                try:
                    parts.append(self.game(columns))
                except (FairShapleyError, MemoryError):
                    raise
                except Exception as error:
                    raise GameError(
                        f"the game failed on {self.game.device}: {reason_of(error)}"
                    ) from error
            if after_chunk is not None:
                after_chunk()
        values = parts[0] if len(parts) == 1 else torch.cat(parts)
        lowest, highest = torch.stack(torch.aminmax(values)).tolist()
        largest = max(-lowest, highest)
        if not largest <= LARGEST_UTILITY:  # so for NaN
            at = int((~(values.abs() <= LARGEST_UTILITY)).nonzero()[0, 0])
            mask = host_rows(draw.columns(at, at + 1))[0]
            raise failure(mask, f"it returned {float(values[at])}")
        self.tally.largest = max(self.tally.largest, largest)
        self.tally.evaluations += len(values)
        self.tally.computed += len(values)
        return values
