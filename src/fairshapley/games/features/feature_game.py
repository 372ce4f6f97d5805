"""The features of a model's rows as players (P4 of the paper)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.text import several
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError
from fairshapley.games.features.arguments import (
    Groups,
    Rows,
    check_output,
    check_rows,
    choose_background,
    make_players,
    one_hot_groups,
)
from fairshapley.games.features.expectation import (
    Expectation,
    MarginalExpectation,
    ModulePredict,
    Predictor,
    as_function,
)
from fairshapley.games.features.tables import as_table
from fairshapley.games.game import check_coalitions, members

Absence: TypeAlias = Callable[[Any, BoolArray], Any]
GameKind: TypeAlias = Literal["marginal", "mean"] | Absence
# A probability that a model has summed up may exceed 1 by its rounding, in single precision by
# some 1e-7, no more.
_ROUNDING = 1e-6


class FeatureGame:
    """The features of rows as players: v(S) is the expected prediction when S is known.

    With one row, the values of the features share out the prediction for it minus the mean
    prediction over the background. With several rows, utilities (and so values) are the means
    over them, as in the paper's experiments; `fairshapley.explain` gives each row values of its
    own.

    Parameters
    ----------
    predict
        A function of a 2-d array or DataFrame that gives a number, or one for each output, for
        every row (``model.predict_proba``); a fitted scikit-learn model, of which the first of
        predict_proba, decision_function and predict is taken; or a torch module. It must always
        give the same answer for a row, whatever the rows beside it.
    X
        The rows, as a 2-d array or a DataFrame; predict is handed the same kind, with the same
        dtypes and columns. A sparse matrix is made dense.
    kind
        What stands in for absent features. "marginal" (interventional): the background rows,
        v(S) = mean over background rows z of predict(x_S, z_rest). "mean": one row, of the means
        of the background and the most frequent texts and categories. A function of rows and of
        masks of columns, both of one length: what to predict for each.
    rows
        Which rows of X to explain: a position for one row; positions, a slice or a boolean mask
        for the mean over some; None for the mean over all.
    output
        Which output of predict: its number (the column of the predictions) or its name (the class
        as text). Not needed where there is one output.
    groups
        Columns that are one player, such as the one-hots of a category:
        ``{"colour": ["red", "blue"]}`` or a list of lists of columns, by name or position. Columns
        in no group are players of their own. "one-hot" finds columns of 0 and 1, or booleans,
        whose names begin alike (colour_red, colour_blue) and of which at most one is 1 in every
        row; a warning names columns that begin alike and are not grouped.
    background
        Rows like the rows of X, or how many to draw from X without replacement. By default 100
        (all where there are fewer), for "mean" all of X.
    feature_names, output_names
        Names for the columns of an array, and for the outputs (by default the model's classes).
    value_range
        The lowest and the highest possible prediction, where known: (0, 1) for probabilities. It
        is taken for granted of predict_proba.
    max_rows
        The most rows to hand to predict at a time; by default up to 32 MiB, and at most 65 536.
    seed
        The seed of the draw of background rows; None for a fresh one.

    Notes
    -----
    A marginal game predicts m·rows·background rows for m coalitions, stacked in calls of up to
    `max_rows`. Where predict answers a row with the same bits in any batch (trees, neighbours), so
    does the game. Linear algebra libraries round according to the shape of a batch: such
    utilities differ by some units in the last place of the largest prediction, unless `max_rows`
    is at most the number of background rows, when every coalition is predicted in calls of its own.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 4.0]])
    >>> game = FeatureGame(lambda X: 3 * X[:, 0] - X[:, 1], X, rows=1)
    >>> game(np.array([[False, False], [True, False], [True, True]]))
    array([1., 4., 2.])
    >>> game.player_names
    ('x0', 'x1')
    """

    shape: ClassVar[Literal["columns"]] = "columns"

    def __init__(
        self,
        predict: Any,
        X: Any,  # noqa: N803 - as everywhere in machine learning
        *,
        kind: GameKind = "marginal",
        rows: Rows = None,
        output: int | str | None = None,
        groups: Groups | str | None = None,
        background: Any = None,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        value_range: tuple[float, float] | None = None,
        max_rows: int | None = None,
        seed: int | None = 0,
    ) -> None:
        if not callable(kind):
            checks.choice("kind", kind, ("marginal", "mean"))
        function = as_function(predict)
        data = as_table(X, "X", feature_names)
        if isinstance(function, ModulePredict):
            data = data.as_array("a torch module")
        if isinstance(groups, str) and groups == "one-hot":
            groups = one_hot_groups(data)
        self._players = make_players(data.labels, groups)
        self.data = data
        self._background, self._origin = choose_background(data, background, kind, seed)
        most = None if max_rows is None else checks.whole("max_rows", max_rows)
        self.predictor = Predictor(function, self._background, most)
        self.output_names = self.predictor.output_names(output_names)
        self.n_outputs = len(self.output_names)
        self.kind: GameKind = kind
        self.output = check_output(output, self.output_names)
        self.n_rows, self.n_players = len(data), len(self._players.names)
        self.counts = np.full(self.n_rows, self.n_players)
        self.player_names = self._players.names
        if value_range is None and getattr(function, "__name__", "") == "predict_proba":
            value_range = (0.0, 1.0)
        self.value_range = None if value_range is None else checks.utility_range(value_range)
        self._choose_rows(rows)

    def _choose_rows(self, rows: Rows) -> None:
        positions = check_rows(rows, self.n_rows)
        self.rows = tuple(positions.tolist())
        self._expectation = self.expectation(positions)

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands in for absent features, in a sentence."""
        kind = "by a function" if callable(self.kind) else f"by kind={self.kind!r}"
        background = several(len(self._background), "background row")
        return (f"absent features were replaced {kind}, with {background}{self._origin}",)

    @property
    def background(self) -> Any:
        """The background rows, as predict would be handed them."""
        return self._background.handed(np.arange(len(self._background)))

    def shown(self, rows: IntArray) -> NDArray[Any]:
        """Return what the players show in some rows of X."""
        return self._players.data(self.data.take(rows))

    def for_rows(self, rows: Rows) -> FeatureGame:
        """Return the same game for other rows of X, with the same background.

        Examples
        --------
        >>> game = FeatureGame(lambda X: X[:, 0], [[1.0], [2.0]])
        >>> game.for_rows(1)(np.array([[True]]))
        array([2.])
        """
        other = copy.copy(self)
        other._choose_rows(rows)
        return other

    def expectation(self, rows: IntArray) -> Expectation:
        """Return the utilities of some rows of X, each for itself."""
        absence = self.kind if callable(self.kind) else None
        explained = self.data.take(rows)
        return MarginalExpectation(
            self.predictor, explained, self._background, self._players, absence
        )

    def against_average(self, rows: IntArray) -> Expectation:
        """Return the utilities of some rows of X against one row, the average of the background."""
        other = copy.copy(self)
        other._background, other.kind = self._background.average(), "mean"
        return other.expectation(rows)

    def __fingerprint_state__(self) -> tuple[object, ...]:
        """What the utilities depend on: neither names nor ranges, nor rows that play no part."""
        return self._expectation, self.output

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        masks = check_coalitions(coalitions, self.n_players)
        return self._within_range(masks, self._expectation.values(masks)[:, self.output])

    def _within_range(self, masks: BoolArray, values: FloatArray) -> FloatArray:
        """Return the utilities, without the rounding that leads out of the range."""
        if self.value_range is None:
            return values.copy()
        lowest, highest = self.value_range
        slack = _ROUNDING * (highest - lowest)
        outside = np.flatnonzero((values < lowest - slack) | (values > highest + slack))
        if len(outside):
            raise GameError(
                f"the mean prediction {values[outside[0]]:g} is outside the value_range "
                f"({lowest:g}, {highest:g}): give the range of the predictions as value_range",
                members(masks[outside[0]]),
            )
        return np.clip(values, lowest, highest)
