"""Features as players of the model's success: how much worse it predicts without them (SAGE)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.games.features.feature_game import FeatureGame
from fairshapley.games.game import check_coalitions

Loss = Literal["squared", "log"] | Callable[[Any, FloatArray], ArrayLike]

# A probability of 0 has an infinite loss: it counts as this.
LEAST = 1e-12


class FeatureLossGame:
    """v(S) is minus the mean loss of the predictions to be expected when S is known.

    The values share out what all features together take off the loss of the mean prediction:
    the global importance of Covert, Lundberg & Lee (2020), exact for these rows and background.

    Parameters
    ----------
    game
        The model with its rows and background; all outputs of `game` are used.
    y
        The targets of the rows of X that `game` explains: numbers, or names of its outputs.
    loss
        "squared" for one output of numbers, "log" for probabilities of classes, or a function of
        y and predictions (rows, outputs) that gives the loss of each row.

    Examples
    --------
    >>> rows = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 6.0]])
    >>> game = FeatureGame(lambda x: x[:, 0], rows)
    >>> import fairshapley as fs
    >>> fs.exact(FeatureLossGame(game, rows[:, 0])).values.round(3)
    array([2.667, 0.   ])
    """

    unit = "minus the mean loss"

    def __init__(self, game: FeatureGame, y: ArrayLike, loss: Loss = "squared") -> None:
        self.n_players, self.player_names = game.n_players, game.player_names
        targets = np.asarray(y)
        if targets.shape != (len(game.rows),):
            raise InputError(
                f"y has the shape {targets.shape}, the game explains {len(game.rows)} rows"
            )
        if not callable(loss):
            checks.choice("loss", loss, ("squared", "log"))
        if loss == "log":
            known = {name: at for at, name in enumerate(game.output_names)}
            if missing := {str(one) for one in targets.tolist()} - set(known):
                raise InputError(f"y holds {sorted(missing)[0]!r}, which is no output of the model")
            targets = np.array([known[str(one)] for one in targets.tolist()])
        elif loss == "squared" and game.n_outputs > 1:
            raise InputError("loss='squared' is for one output: use loss='log', or a function")
        self._targets, self._loss = targets, loss
        self._rows = np.arange(len(game.rows))
        self._expectation = game.expectation(np.array(game.rows))

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row of `coalitions`."""
        masks = check_coalitions(coalitions, self.n_players)
        values = [
            -float(np.asarray(self._losses(predictions)).mean())
            for block in self._expectation.blocks(masks)
            for predictions in block
        ]
        return np.array(values, dtype=np.float64)

    def _losses(self, predictions: FloatArray) -> Any:
        if callable(self._loss):
            return self._loss(self._targets, predictions)
        if self._loss == "log":
            return -np.log(np.maximum(predictions[self._rows, self._targets], LEAST))
        return np.square(predictions[:, 0] - self._targets)
