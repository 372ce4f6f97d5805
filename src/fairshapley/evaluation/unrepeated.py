"""Coalitions of sizes that never come twice: they are computed without being looked up.

Of 100 players 10¹² coalitions or more have each of the sizes 9 … 91. When they are drawn at random,
one that was drawn before is as rare as an error of the machine, and to look each of a million up
costs more than all that can be saved. The few coalitions of the other sizes are remembered.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray, SizeArray
from fairshapley.evaluation.block import Tally
from fairshapley.evaluation.engines import Session
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.ledger import LARGEST_UTILITY, NEGLIGIBLE
from fairshapley.evaluation.pace import Pace
from fairshapley.evaluation.replicates import Replicates, packed_rows
from fairshapley.semivalues import log_binomial

# Of 10⁶ coalitions drawn at a size with so many, two are the same once in two runs; of those of a
# whole run, spread over all sizes, once in hundreds. Such a one is computed and counted twice.
MANY = 10**12


class Found(NamedTuple):
    """What became of some rows."""

    rows: IntArray
    """Those with a value"""
    values: FloatArray
    rest: IntArray
    """Those to be looked up"""
    failed: bool
    """Whether the rest holds rows whose values are no numbers, or an error"""


class Unrepeated:
    """Computes rows of sizes with very many coalitions.

    Parameters
    ----------
    n_players
        The number of players.
    tally, pace, guard, replicates
        Those of the evaluator.
    """

    def __init__(
        self,
        n_players: int,
        tally: Tally,
        pace: Pace,
        guard: InterruptGuard,
        replicates: Replicates | None,
    ) -> None:
        self._many: BoolArray = log_binomial(n_players, np.arange(n_players + 1.0)) > math.log(MANY)
        self.tally, self.pace, self.guard, self.replicates = tally, pace, guard, replicates

    @property
    def any(self) -> bool:
        """Whether there are such sizes."""
        return bool(self._many.any())

    def values(
        self, session: Session, masks: BoolArray, packed: ByteArray, sizes: SizeArray
    ) -> Found:
        """The utilities of the rows that need no look; all rows are left when something fails."""
        many = self._many[sizes]
        rows, rest = np.flatnonzero(many), np.flatnonzero(~many)
        if not len(rows):
            return Found(rows, np.empty(0), rest, failed=False)
        with self.guard.interruptible():
            chunk = masks if not len(rest) else masks[rows]
            [(_, answer)] = session.wait([session.submit(chunk)])
        found = answer.values
        if found is not None:
            values = found if found.ndim == 1 else np.ascontiguousarray(found[:, 0])
            absolute = np.abs(values)
            largest = float(absolute.max())
        if found is None or not largest <= LARGEST_UTILITY:  # so for NaN
            return Found(rows[:0], np.empty(0), np.arange(len(masks)), failed=True)
        self.pace.observe(len(rows), answer.seconds)
        self.tally.largest = max(self.tally.largest, largest)
        self.tally.computed += len(rows)
        self.tally.evaluations += len(rows)
        if self.replicates is not None and found.ndim == 2:
            keys = bits.packed_keys(packed if not len(rest) else packed[rows])
            self.replicates.add_packed(packed_rows(keys, found[:, 1:] - found[:, :1]))
        return Found(rows, np.where(absolute < NEGLIGIBLE, 0.0, values), rest, failed=False)
