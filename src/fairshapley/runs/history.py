"""What a run keeps of its course: its minimum fidelity as it grew, and utilities by coalition size.

Checkpoints are placed by the number of evaluations, never by the clock, so that one worker, many
workers and a continued run record the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import ByteArray, FloatArray, FloatMatrix, SizeArray
from fairshapley.draws import Draw
from fairshapley.estimators import Problem
from fairshapley.estimators.moments import Means
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.guarantees import fidelity, lower_fidelity
from fairshapley.fairness.unseen import find_unseen
from fairshapley.results.records import Checkpoint, SizeBin
from fairshapley.semivalues import Semivalue

# While the evaluations double, at most two checkpoints are kept.
FINEST = 2**0.5
# A profile of more sizes than this is kept in bins of several sizes each.
MOST_BINS = 101
# Rounds are folded in together, once they hold this many coalitions: one by one costs more.
FOLD_ROWS = 8192

# Coalitions that are looked at for what others may hide.
MOST_LOOKED_AT = 20_000
# Nor more than 16 MiB of masks, above 838 players.
LOOKED_AT_ENTRIES = 1 << 24


class Recorder:
    """Keeps the history and the profile of a run.

    Parameters
    ----------
    n_players
        The players whose presence matters; sizes go from 0 to this number.
    growth
        The factor by which evaluations grow from one checkpoint to the next; if it is infinite,
        the end is the only one.
    """

    def __init__(self, n_players: int, growth: float) -> None:
        self._growth = growth
        # Before there are two evaluations for each player, estimates say very little.
        self._seen, self._next = 0, 2.0 * n_players if growth < math.inf else math.inf
        self._checkpoints: list[Checkpoint] = []
        self._waiting: list[tuple[SizeArray, FloatArray]] = []
        self._rows = 0
        width = -(-(n_players + 1) // MOST_BINS)
        self._bin = (np.arange(n_players + 1) // width).astype(np.intp)
        self._edges = np.append(np.arange(0, n_players + 1, width), n_players + 1)
        self._sizes, self._utilities = (Means(len(self._edges) - 1) for _ in range(2))

    def add(self, sizes: SizeArray, values: FloatArray) -> None:
        """Take the utilities of a round; NaN, an evaluation skipped, is left out.

        Utilities on a device stay there, and the run has no profile.
        """
        if isinstance(values, np.ndarray):
            self._waiting.append((sizes, values))
            self._rows += len(values)
        if self._rows >= FOLD_ROWS:
            self._fold()

    def _fold(self) -> None:
        """Add up what waits, in slices, so that a large round needs no large copies."""
        if not self._waiting:
            return
        sizes, values = map(np.concatenate, zip(*self._waiting, strict=True))
        self._waiting, self._rows = [], 0
        for start in range(0, len(values), 2**18):
            size, value = sizes[start : start + 2**18], values[start : start + 2**18]
            known = ~np.isnan(value)
            self._sizes.add_at(self._bin[size[known]], size[known].astype(np.float64))
            self._utilities.add_at(self._bin[size[known]], value[known])

    def due(self, evaluations: int) -> bool:
        """Return whether a checkpoint is due after this many evaluations."""
        return evaluations >= self._next

    def keep(self, evaluations: int, evidence: Evidence, xi: float, *, last: bool = False) -> None:
        """Keep a checkpoint, unless there was one shortly before or a variance is not known yet.

        What a rule of fairness looks at comes here too: it costs nothing more.
        """
        if not last and evaluations < self._seen * FINEST:
            return
        self._seen, self._next = evaluations, evaluations * self._growth
        lowest = float(fidelity(evidence.values, evidence.variances, xi).min())
        if math.isnan(lowest):
            return
        low = float(lower_fidelity(evidence.values, evidence.variances, xi).min())
        kept = self._checkpoints
        if kept and kept[-1].evaluations == evaluations:
            # Rounds that ask for known coalitions only: the estimate changed, the cost did not.
            kept.pop()
        kept.append(Checkpoint(evaluations, lowest, low))

    def records(self) -> dict[str, Any]:
        """Return the fields of a result: its history and its profile."""
        self._fold()
        told, bins = self._utilities, []
        for place in np.flatnonzero(told.counts).tolist():
            count, spread = int(told.counts[place]), float(told.squares[place])
            first, last = int(self._edges[place]), int(self._edges[place + 1]) - 1
            mean, deviation = float(told.means[place]), math.sqrt(spread / count)
            size = float(self._sizes.means[place])
            bins.append(SizeBin(first, last, count, size, mean, deviation))
        return {"history": tuple(self._checkpoints), "profile": tuple(bins)}


class FirstCoalitions:
    """The first coalitions of a run with their utilities, which show what others may hide."""

    def __init__(self, n_players: int, n_active: int) -> None:
        self._most, self._n_active = min(MOST_LOOKED_AT, LOOKED_AT_ENTRIES // n_players), n_active
        self._parts: list[tuple[ByteArray, FloatArray]] = []
        self._told = 0

    def add(self, draw: Draw, values: Any) -> None:
        """Keep the coalitions of a round, as long as there is room."""
        start, stop = self._told, min(self._most, self._told + len(draw))
        self._told += len(draw)
        if start < stop:
            masks = draw.masks(0, stop - start)[:, : self._n_active]
            told = values if isinstance(values, np.ndarray) else values.cpu().numpy()
            self._parts.append((bits.pack(masks), told[: stop - start]))

    def unseen(
        self,
        problem: Problem | None,
        values: FloatArray,
        semivalue: Semivalue,
        evaluations: int,
        width: float | None,
    ) -> FloatMatrix | None:
        """Return what the coalitions that were not drawn may hide; None where nothing is known."""
        if problem is None or not self._parts or self._n_active < 2 or np.isnan(values).any():
            return None
        packed, told = map(np.concatenate, zip(*self._parts, strict=True))
        packed, first = np.unique(packed, axis=0, return_index=True)
        masks, utilities = bits.unpack(packed, self._n_active), told[first]
        sizes = masks.sum(axis=1)
        inner = (sizes > 0) & (sizes < self._n_active) & ~np.isnan(utilities)
        if not inner.any():
            return None
        return find_unseen(
            masks[inner],
            utilities[inner],
            (problem.empty, problem.full),
            values[: self._n_active],
            semivalue.weights(self._n_active),
            thinning=max(1.0, evaluations / len(packed)),
            width=width,
        )
