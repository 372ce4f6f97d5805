"""The embedded example: what the training points of a classifier are worth."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.games.game import FunctionGame
from fairshapley.games.identical import identical_rows


def breast_cancer_game(n_players: int = 30, n_test: int = 100, seed: int = 0) -> FunctionGame:
    """Training points of scikit-learn's breast cancer data, valued by test accuracy.

    The players are `n_players` random points; one more point of each class is always there, so
    that every coalition can be fitted. Features are standardised with the players' mean and
    standard deviation, and the learner is the paper's logistic regression (liblinear, C = 0.05).

    Examples
    --------
    >>> game = breast_cancer_game(n_players=5)
    >>> bool(game(np.ones((1, 5), dtype=bool))[0] > 0.8)
    True
    """
    features, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    base = np.array([order[labels[order] == label][0] for label in (0, 1)])
    rest = order[~np.isin(order, base)]
    players, test = rest[:n_players], rest[n_players : n_players + n_test]
    mean, std = features[players].mean(axis=0), features[players].std(axis=0)
    scaled = (features - mean) / np.where(std > 0, std, 1.0)
    accuracy = _Accuracy(scaled, labels.astype(np.int64), players, base, test)
    names = [f"row {row} ({'benign' if labels[row] else 'malignant'})" for row in players]
    return FunctionGame(
        accuracy,
        n_players,
        player_names=names,
        value_range=(0.0, 1.0),
        identical_players=identical_rows(features[players], labels[players]),
        unit=f"accuracy on {len(test)} test rows",
    )


class _Accuracy:
    """Fit on the base points and a coalition, score on the test points."""

    def __init__(
        self,
        features: FloatArray,
        labels: IntArray,
        players: IntArray,
        base: IntArray,
        test: IntArray,
    ) -> None:
        self.features = features
        self.labels = labels
        self.players = players
        self.base = base
        self.test = test

    def __call__(self, coalition: tuple[int, ...]) -> float:
        rows = np.concatenate([self.base, self.players[list(coalition)]])
        model = LogisticRegression(solver="liblinear", C=0.05)
        model.fit(self.features[rows], self.labels[rows])
        return float(model.score(self.features[self.test], self.labels[self.test]))
