"""What a run keeps of its course: its minimum fidelity as it grew, and utilities by coalition size.

Checkpoints are placed by the number of evaluations, never by the clock, so that one worker, many
workers and a continued run record the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray, SizeArray
from fairshapley.estimators.moments import Means, sums_by_size
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.scores import fidelity, lower_fidelity
from fairshapley.results.records import Checkpoint, SizeBin

# While the evaluations double, at most two checkpoints are kept.
FINEST = 2**0.5
# A profile of more sizes than this is kept in bins of several sizes each.
MOST_BINS = 101
# Rounds are folded in together, once they hold this many coalitions: one by one costs more.
FOLD_ROWS = 8192
# The same on a device, where they take 16 bytes each.
FOLD_THERE = 1 << 21


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
        self._present: list[tuple[Any, Any]] = []
        """Sizes and utilities that wait on a device"""
        width = -(-(n_players + 1) // MOST_BINS)
        self._bin = (np.arange(n_players + 1) // width).astype(np.intp)
        self._edges = np.append(np.arange(0, n_players + 1, width), n_players + 1)
        self._sizes, self._utilities = (Means(len(self._edges) - 1) for _ in range(2))

    def add(self, sizes: SizeArray, values: FloatArray) -> None:
        """Take the utilities of a round; NaN, an evaluation skipped, is left out."""
        if not isinstance(values, np.ndarray):
            self._present.append((sizes, values))
            if sum(len(part) for _, part in self._present) >= FOLD_THERE:
                self._fold_there()
            return
        self._waiting.append((sizes, values))
        self._rows += len(values)
        if self._rows >= FOLD_ROWS:
            self._fold()

    def _fold(self) -> None:
        """Add up what waits, in slices, so that a large round needs no large copies."""
        if not self._waiting:
            return
        sizes = np.concatenate([part for part, _ in self._waiting])
        values = np.concatenate([part for _, part in self._waiting])
        self._waiting, self._rows = [], 0
        for start in range(0, len(values), 2**18):
            size, value = sizes[start : start + 2**18], values[start : start + 2**18]
            known = ~np.isnan(value)
            if not known.all():
                size, value = size[known], value[known]
            self._sizes.add_at(self._bin[size], size.astype(np.float64))
            self._utilities.add_at(self._bin[size], value)

    def _fold_there(self) -> None:
        """Add up what is on a device; only sums for each size leave it."""
        import torch

        sizes, values = (torch.cat(parts) for parts in zip(*self._present, strict=True))
        self._present = []
        middle = float(values.mean())
        found = sums_by_size(sizes, values - middle, len(self._bin)).cpu().numpy()
        counts, sums, squares = (
            np.bincount(self._bin, weights=one, minlength=len(self._edges) - 1) for one in found
        )
        at = np.flatnonzero(counts)
        means = sums[at] / counts[at]
        deviations = np.maximum(squares[at] - counts[at] * means**2, 0.0)
        counts = counts.astype(np.int64)
        self._utilities.merge_at(at, counts[at], means + middle, deviations)
        each = np.arange(len(self._bin), dtype=np.float64)
        self._sizes.add_at(self._bin, each, found[0])

    def due(self, evaluations: int) -> bool:
        """Whether a checkpoint is due after this many evaluations."""
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
        """The fields of a result: its history and its profile."""
        self._fold()
        if self._present:
            self._fold_there()
        return {"history": tuple(self._checkpoints), "profile": tuple(self._profile())}

    def _profile(self) -> list[SizeBin]:
        told, found = self._utilities, []
        for place in np.flatnonzero(told.counts):
            count, mean, squares = (
                float(table[place]) for table in (told.counts, told.means, told.squares)
            )
            first, last = int(self._edges[place]), int(self._edges[place + 1]) - 1
            size, spread = float(self._sizes.means[place]), math.sqrt(squares / count)
            found.append(SizeBin(first, last, int(count), size, mean, spread))
        return found
