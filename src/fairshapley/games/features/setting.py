"""What the feature games of one model and one data set share."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.features.conditional import ConditionalExpectation, RelativeTo
from fairshapley.games.features.marginal import (
    CustomExpectation,
    GaussianExpectation,
    MarginalExpectation,
)
from fairshapley.games.features.players import Players
from fairshapley.games.features.predictor import Predictor
from fairshapley.games.features.tables import ArrayTable, FrameTable, Table, as_table
from fairshapley.randomness import root_seed, side_generator

Absence: TypeAlias = Callable[[Any, BoolArray], Any]
GameKind: TypeAlias = Literal["marginal", "mean", "gaussian", "conditional"] | Absence

KINDS = ("marginal", "mean", "gaussian", "conditional")
# The mean of 100 predictions is off by a tenth of their standard deviation, for every coalition
# alike; shap's explainers take as many by default.
DEFAULT_BACKGROUND = 100
# The paper's neighbourhoods: within ±10 %.
DEFAULT_TOLERANCE = 0.1


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """How far the neighbours of a row may be, and the predictions of the background rows."""

    tolerance: float
    relative_to: RelativeTo
    predictions: FloatArray


@dataclass(frozen=True, eq=False)
class FeatureSetting:
    """All but which rows are explained, and which output."""

    predictor: Predictor
    data: Table
    background: Table
    players: Players
    near: Neighbourhood | None
    """For conditional expectations"""
    kind: GameKind

    def expectation(self, rows: IntArray) -> MarginalExpectation | ConditionalExpectation:
        """The utilities for some rows of the data."""
        explained = self.data.take(rows)
        if self.near is None:
            parts = self.predictor, explained, self.background, self.players
            if callable(self.kind):
                return CustomExpectation(*parts, self.kind)
            gaussian = self.kind == "gaussian"
            return (GaussianExpectation if gaussian else MarginalExpectation)(*parts)
        whole = self.background is self.data
        predictions = self.near.predictions
        return ConditionalExpectation(
            explained,
            self.background,
            predictions[rows] if whole else finite_predictions(self.predictor, explained, "X"),
            predictions,
            self.players,
            self.near.tolerance,
            self.near.relative_to,
        )


def check_kind(kind: GameKind, tolerance: float | None, relative_to: str | None) -> None:
    """An InputError for an unknown kind, or for options of another one."""
    if not callable(kind) and kind not in KINDS:
        raise InputError(f"kind must be {', '.join(map(repr, KINDS))} or a function, not {kind!r}")
    if kind != "conditional" and (tolerance is not None or relative_to is not None):
        raise InputError(
            "tolerance and relative_to are about neighbourhoods: give kind='conditional', or "
            "leave them out"
        )
    if relative_to not in (None, "value", "range", "std"):
        raise InputError(f"relative_to must be 'value', 'range' or 'std', not {relative_to!r}")
    if tolerance is not None:
        checks.real("tolerance", tolerance, above=0, hint=": give one such as 0.1")


def finite_predictions(predictor: Predictor, table: Table, what: str) -> FloatArray:
    """The predictions of all rows, or an InputError that names the first one without."""
    predictions = predictor.of_table(table)
    bad = np.flatnonzero(~np.isfinite(predictions).all(axis=1))
    if len(bad):
        raise InputError(
            f"predict returned NaN or an infinite number for row {bad[0]} of {what}: it must be "
            "finite for every row"
        )
    return predictions


def choose_background(data: Table, background: Any, kind: GameKind, seed: int | None) -> Table:
    """The background rows: given, or a number of rows of the data, drawn without replacement."""
    if background is None:
        size = len(data) if kind == "conditional" else min(DEFAULT_BACKGROUND, len(data))
    elif isinstance(background, str) or not hasattr(background, "__len__"):
        size = _check_size(background, len(data))
    else:
        table = _given_background(data, background)
        return table.average() if kind == "mean" else table
    if kind == "mean" and background is None:
        return data.average()
    if size == len(data):
        return data
    rng = side_generator(root_seed(seed), "background")
    chosen = data.take(np.sort(rng.choice(len(data), size, replace=False)))
    return chosen.average() if kind == "mean" else chosen


def _check_size(background: Any, n_rows: int) -> int:
    try:
        size = operator.index(background)
    except TypeError:
        raise InputError(
            f"background must be a number of rows, or rows like those of X, not {background!r}"
        ) from None
    if isinstance(background, bool) or not 1 <= size <= n_rows:
        raise InputError(
            f"background={background!r} rows cannot be drawn from the {n_rows} rows of X: give "
            f"1 to {n_rows}"
        )
    return size


def _given_background(data: Table, background: Any) -> Table:
    """The background rows of a user, with the columns of the data in their order."""
    table = as_table(background, "background", None)
    one = np.array([0])
    if isinstance(table, FrameTable) and set(table.labels) == set(data.labels):
        table = FrameTable(table.frame[list(data.labels)])
        if isinstance(data, ArrayTable):  # the numbers of a frame, for a torch module
            table = table.as_array()
    elif isinstance(table, FrameTable) and isinstance(data, FrameTable):
        wrong = sorted(map(repr, set(table.labels) ^ set(data.labels)))
        raise InputError(
            f"background and X must have the same columns; in one alone are {', '.join(wrong[:8])}"
        )
    elif type(table) is type(data) and len(table.labels) != len(data.labels):
        raise InputError(
            f"background has {len(table.labels)} columns and X has {len(data.labels)}: give the "
            "same columns"
        )
    data.take(one).followed_by(table.take(one))  # refuses what does not fit together
    return table
