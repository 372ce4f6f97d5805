"""The conditional expectation by neighbourhoods, as in the paper's feature attribution (P4).

v(S) = mean over the explained rows x of the mean prediction among the background rows that lie
near x in every feature of S. Which rows are near is one bit each, for every player, explained row
and background row; a coalition is the AND of its players' bits.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.features.expectation import Expectation
from fairshapley.games.features.players import Players
from fairshapley.games.features.tables import Table

RelativeTo: TypeAlias = Literal["value", "range", "std"]

# 1.1 is within ±10 % of 1.0, although 1.1 − 1.0 > 0.1 in floating point: the edge belongs to the
# neighbourhood, up to the rounding of numbers of nine digits.
_EDGE = 1 + 1e-9


class ConditionalExpectation(Expectation):
    """Utilities of all outputs for some explained rows.

    The predictions are all that is needed of the model. A row without a neighbour has itself as
    the only one: this happens only where the row is not in the background.

    Parameters
    ----------
    explained, background
        The rows to explain, and those among which neighbours are found.
    explained_predictions, background_predictions
        Their predictions, (rows, outputs).
    players
        Who owns which columns.
    tolerance, relative_to
        How far a neighbour may be: see `FeatureGame`.
    """

    # Bytes of neighbour bits handled at a time; the partial sums they select are 8 times as large.
    _block_bytes: ClassVar[int] = 1 << 19
    # Rows and background rows compared at a time: 2**22 differences are 32 MiB.
    _compared: ClassVar[int] = 1 << 22

    def __init__(
        self,
        explained: Table,
        background: Table,
        explained_predictions: FloatArray,
        background_predictions: FloatArray,
        players: Players,
        tolerance: float,
        relative_to: RelativeTo,
    ) -> None:
        self.explained_predictions = explained_predictions
        self.background_predictions = background_predictions
        self.n_explained, self.n_outputs = explained_predictions.shape
        pool = explained.followed_by(background)
        bits = [self._bits(pool, at, tolerance, relative_to) for at in range(len(pool.labels))]
        self._near = np.stack(
            [np.bitwise_and.reduce([bits[at] for at in columns]) for columns in players.columns]
        )
        """The neighbours in what a player knows, (players, explained rows, words)"""
        # The bits of all background rows, without those that fill up the last word.
        everyone = np.ones((1, len(background)), dtype=bool)
        self._everyone = _pack(everyone).ravel()

    def _bits(
        self, pool: Table, at: int, tolerance: float, relative_to: RelativeTo
    ) -> NDArray[np.uint64]:
        """Which background rows are near in one column, (explained rows, words)."""
        coordinates, is_number = pool.coordinates(at)
        if np.isinf(coordinates).any():
            raise InputError(
                f"column {pool.labels[at]!r} is infinite somewhere: neighbourhoods need finite "
                "numbers; NaN is accepted and is near NaN alone"
            )
        mine, theirs = coordinates[: self.n_explained, None], coordinates[self.n_explained :]
        with np.errstate(over="ignore"):
            width = _width(mine, theirs, relative_to) * (tolerance * is_number * _EDGE)
        if relative_to != "value" and np.isinf(width).any():
            raise InputError(
                f"the spread of column {pool.labels[at]!r} is more than a float holds: divide the "
                "column by a constant"
            )
        blocks = []
        for start in range(0, self.n_explained, max(1, self._compared // len(theirs))):
            rows = slice(start, start + max(1, self._compared // len(theirs)))
            with np.errstate(over="ignore"):  # an infinite difference is not near
                near = np.abs(theirs - mine[rows]) <= width[rows]
            # Missing is near missing.
            blocks.append(_pack(near | (np.isnan(mine[rows]) & np.isnan(theirs))))
        return np.concatenate(blocks)

    def each(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The utilities of some of the explained rows, (coalitions, rows, outputs)."""
        return self._of_rows(coalitions).transpose(1, 2, 0)[:, rows]

    def _of_rows(self, coalitions: BoolArray) -> FloatArray:
        """The utilities of all explained rows, (outputs, coalitions, rows)."""
        per_row = 8 * len(self._everyone)
        rows_at_once = max(1, min(self.n_explained, self._block_bytes // per_row))
        at_once = max(1, self._block_bytes // (rows_at_once * per_row))
        sums = _byte_sums(self.background_predictions, len(self._everyone))
        means = np.empty((self.n_outputs, len(coalitions), self.n_explained))
        for start in range(0, self.n_explained, rows_at_once):
            rows = slice(start, start + rows_at_once)
            for at in range(0, len(coalitions), at_once):
                some = slice(at, at + at_once)
                means[:, some, rows] = self._means(coalitions[some], rows, sums)
        return means

    def _means(self, coalitions: BoolArray, rows: slice, sums: FloatArray) -> FloatArray:
        """The mean prediction of the neighbours, (outputs, coalitions, rows)."""
        near = self._near[:, rows]
        shape = (len(coalitions), *near.shape[1:])
        common = np.broadcast_to(self._everyone, shape).copy()
        for player, bits in enumerate(near):
            common[coalitions[:, player]] &= bits
        counts = np.bitwise_count(common).sum(axis=-1, dtype=np.int64)
        words: ByteArray = common.view(np.uint8)
        index = words + 256 * np.arange(words.shape[-1])
        totals = np.stack([table.take(index).sum(axis=-1) for table in sums])
        own = self.explained_predictions[rows].T[:, None, :]
        return np.where(counts > 0, totals / np.maximum(counts, 1), own)


def _width(mine: FloatArray, theirs: FloatArray, relative_to: RelativeTo) -> FloatArray:
    """What a tolerance of 1 allows, for each explained row."""
    if relative_to == "value":
        return np.abs(mine)
    known = theirs[~np.isnan(theirs)]
    if not len(known):
        return np.zeros(mine.shape)
    return np.full(mine.shape, np.ptp(known) if relative_to == "range" else np.std(known))


def _pack(near: BoolArray) -> NDArray[np.uint64]:
    """The bits of each row as 64-bit words, filled up with zeros."""
    packed = np.packbits(near, axis=1)
    words = np.zeros((len(packed), -(-packed.shape[1] // 8)), dtype=np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words


def _byte_sums(predictions: FloatArray, n_words: int) -> FloatArray:
    """For each output, place of a byte and content of it, the sum of what the bits select.

    With them the sum over the neighbours takes one look-up for eight rows.
    """
    padded = np.zeros((predictions.shape[1], 64 * n_words))
    padded[:, : len(predictions)] = predictions.T
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(bool)
    eights = padded.reshape(predictions.shape[1], 8 * n_words, 1, 8)
    sums = np.zeros((predictions.shape[1], 8 * n_words, 256))
    for place in range(8):  # one after the other: all at once would take eight times the memory
        sums += np.where(bits[:, place], eights[..., place], 0.0)
    return sums.reshape(predictions.shape[1], -1)
