"""The utilities of explained rows, and what stands in for features that are absent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError
from fairshapley.games.features.players import Players
from fairshapley.games.features.predictor import Predictor
from fairshapley.games.features.tables import Table

# Means kept at a time, one per coalition, explained row and output: 2**20 doubles are 8 MiB.
_MEANS = 1 << 20


class Expectation(ABC):
    """Utilities of all outputs for some explained rows, which have the same players."""

    n_explained: int
    n_outputs: int

    @abstractmethod
    def each(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The utilities of some of the explained rows, (coalitions, rows, outputs)."""

    def blocks(self, coalitions: BoolArray) -> Iterator[FloatArray]:
        """The utilities of all explained rows, for as many coalitions at a time as memory holds."""
        rows = np.arange(self.n_explained)
        step = max(1, _MEANS // (self.n_explained * self.n_outputs))
        for start in range(0, len(coalitions), step):
            yield self.each(coalitions[start : start + step], rows)

    def values(self, coalitions: BoolArray) -> FloatArray:
        """The utilities, (coalitions, outputs): means over the explained rows."""
        means = [_mean(each.transpose(2, 0, 1)).T for each in self.blocks(coalitions)]
        return np.concatenate([np.empty((0, self.n_outputs)), *means])


class MixedExpectation(Expectation):
    """Means of the predictions of mixtures, in which something stands in for what is absent.

    A *unit* is one coalition with one explained row: as many mixtures as there are background
    rows. Units share calls of predict as far as its rows allow; a unit with more rows than that
    is cut, at the same places whatever the coalitions beside it.

    Parameters
    ----------
    predictor
        The prediction function.
    n_explained, n_background
        The rows to explain, and the mixtures of each with a coalition.
    weights
        What each of these mixtures counts, in all 1; by default all count the same.
    """

    def __init__(
        self,
        predictor: Predictor,
        n_explained: int,
        n_background: int,
        weights: FloatArray | None = None,
    ) -> None:
        self.predictor, self.weights = predictor, weights
        self.n_explained, self.n_background = n_explained, n_background
        self.n_outputs = predictor.n_outputs

    @abstractmethod
    def mixed(self, coalitions: BoolArray, rows: IntArray, others: slice) -> Any:
        """What to predict for pairs of a coalition and a row: the mixtures of a pair together."""

    def each(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The utilities of some of the explained rows, (coalitions, rows, outputs)."""
        units = len(coalitions) * len(rows)
        means = np.empty((self.n_outputs, units))
        at_once = max(1, self.predictor.max_rows // self.n_background)
        for start in range(0, units, at_once):
            unit = np.arange(start, min(units, start + at_once))
            coalition, row = np.divmod(unit, len(rows))
            means[:, unit] = self._unit_means(coalitions[coalition], rows[row])
        return means.reshape(self.n_outputs, len(coalitions), len(rows)).transpose(1, 2, 0)

    def _unit_means(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """The mean prediction of each unit, (outputs, units)."""
        step = self.predictor.max_rows
        pieces = [
            self.predictor(self.mixed(coalitions, rows, slice(at, at + step)))
            for at in range(0, self.n_background, step)
        ]
        # With more than one piece there is one unit, so that pieces follow each other.
        predictions = np.concatenate(pieces).T
        shape = self.n_outputs, len(rows), self.n_background
        return _mean(predictions.reshape(shape), self.weights)


def _mean(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The mean over the last axis, with the same bits whatever the other axes hold."""
    whole = np.ascontiguousarray(values)
    with np.errstate(invalid="ignore"):  # infinite predictions of both signs: NaN, reported later
        mean: FloatArray = whole.mean(-1) if weights is None else (whole * weights).sum(axis=-1)
    return mean


class MarginalExpectation(MixedExpectation):
    """Absent features as they are in background rows.

    Parameters
    ----------
    predictor
        The prediction function.
    explained, background
        The rows to explain, and those that stand in for absent features.
    players
        Who owns which columns.
    """

    def __init__(
        self, predictor: Predictor, explained: Table, background: Table, players: Players
    ) -> None:
        super().__init__(predictor, len(explained), len(background), background.weights)
        self.rows = explained.followed_by(background, predictor.place)
        self.players = players

    def mixed(self, coalitions: BoolArray, rows: IntArray, others: slice) -> Any:
        """The rows with background rows where a feature is absent."""
        background = self.n_explained + np.arange(self.n_background)[others]
        return self._filled(coalitions[:, self.players.owners], rows, background)

    def _filled(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        return self.rows.mixed(masks, rows, others)


class CustomExpectation(MarginalExpectation):
    """Absent features by a function of one's own: (rows, masks of columns) to rows to predict."""

    def __init__(
        self,
        predictor: Predictor,
        explained: Table,
        background: Table,
        players: Players,
        absence: Callable[[Any, BoolArray], Any],
    ) -> None:
        super().__init__(predictor, explained, background.take(np.array([0])), players)
        self.absence = absence

    def _filled(self, masks: BoolArray, rows: IntArray, others: IntArray) -> Any:
        filled = self.absence(self.rows.handed(rows), masks)
        if len(filled) != len(masks):
            raise GameError(
                f"kind= gave {len(filled)} rows for {len(masks)} pairs of a row and a mask: it "
                "must give one row for each"
            )
        return filled
