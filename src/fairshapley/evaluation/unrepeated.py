"""Coalitions of sizes that never come twice: they are computed without being looked up.

Of 100 players 10¹² coalitions or more have each of the sizes 9 … 91. When they are drawn at random,
one that was drawn before is as rare as an error of the machine, and to look each of a million up
costs more than all that can be saved. The few coalitions of the other sizes are remembered.
"""

from __future__ import annotations

import math

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray, SizeArray
from fairshapley.evaluation.block import Tally
from fairshapley.evaluation.cache import Cache
from fairshapley.evaluation.engines import Session
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.ledger import LARGEST_UTILITY, NEGLIGIBLE
from fairshapley.evaluation.pace import Pace
from fairshapley.evaluation.replicates import Replicates, packed_rows
from fairshapley.semivalues import log_binomial

# Of 10⁶ coalitions drawn at a size with so many, two are the same once in two runs; of those of a
# whole run, spread over all sizes, once in hundreds. Such a one is computed and counted twice.
MANY = 10**12


class Unrepeated:
    """Computes rows of which few are looked up: those of sizes with few coalitions.

    Parameters
    ----------
    cache, tally, pace, guard, replicates
        Those of the evaluator.
    """

    def __init__(
        self,
        cache: Cache,
        tally: Tally,
        pace: Pace,
        guard: InterruptGuard,
        replicates: Replicates | None,
    ) -> None:
        sizes = np.arange(cache.n_players + 1.0)
        self._many: BoolArray = log_binomial(cache.n_players, sizes) > math.log(MANY)
        self.cache = cache
        self.tally, self.pace, self.guard, self.replicates = tally, pace, guard, replicates

    @property
    def any(self) -> bool:
        """Whether there are such sizes."""
        return bool(self._many.any())

    def values(
        self, session: Session, masks: BoolArray, packed: ByteArray, sizes: SizeArray
    ) -> FloatArray | None:
        """The utilities of some rows; None when one fails, or is no number that can be squared."""
        many = self._many[sizes]
        asked, rest = np.flatnonzero(many), np.flatnonzero(~many)
        keys = bits.packed_keys(packed[rest])
        known = dict(zip(keys, self.cache.get_many(keys), strict=True))
        places = dict(zip(reversed(keys), reversed(rest.tolist()), strict=True))  # the first ones
        new = [key for key, value in known.items() if value is None]
        # In the order of the draw, as ever: a product of matrices has other last bits in another.
        rows = np.sort(np.concatenate([asked, np.array([places[key] for key in new], np.intp)]))
        accepted = self._computed(session, masks, packed, rows) if len(rows) else np.empty(0)
        if accepted is None:
            return None
        values = np.empty(len(masks))
        values[rows] = accepted
        fresh = {key: float(values[places[key]]) for key in new}
        self.cache.update(fresh)
        known.update(fresh)
        self.tally.evaluations += len(rows)
        self.tally.cache_hits += len(rest) - len(new)
        values[rest] = [known[key] for key in keys]
        return values

    def _computed(
        self, session: Session, masks: BoolArray, packed: ByteArray, rows: IntArray
    ) -> FloatArray | None:
        """The utilities of these rows, as the run takes them."""
        with self.guard.interruptible():
            [(_, answer)] = session.wait([session.submit(masks[rows])])
        found = answer.values
        if found is None:
            return None
        values = found if found.ndim == 1 else np.ascontiguousarray(found[:, 0])
        absolute = np.abs(values)
        largest = float(absolute.max())
        if not largest <= LARGEST_UTILITY:  # so for NaN
            return None
        self.pace.observe(len(rows), answer.seconds)
        self.tally.largest = max(self.tally.largest, largest)
        self.tally.computed += len(rows)
        if self.replicates is not None and found.ndim == 2:
            keys = bits.packed_keys(packed[rows])
            self.replicates.add_packed(packed_rows(keys, found[:, 1:] - found[:, :1]))
        accepted: FloatArray = np.where(absolute < NEGLIGIBLE, 0.0, values)
        return accepted
