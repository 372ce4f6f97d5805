"""The embedded example: what the training points of a classifier are worth."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from fairshapley.games.data.data_game import DataGame


def breast_cancer_game(n_players: int = 30, n_test: int = 100, seed: int = 0) -> DataGame:
    """Training points of scikit-learn's breast cancer data, valued by test accuracy.

    The players are `n_players` random points; one more point of each class is always there, so
    that every coalition can be fitted. Features are standardised with the players' mean and
    standard deviation, and the learner is the paper's logistic regression (liblinear, C = 0.05).

    Examples
    --------
    >>> game = breast_cancer_game(n_players=5)
    >>> game.vectorised, bool(game(np.ones((1, 5), dtype=bool))[0] > 0.8)
    (True, True)
    """
    features, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    base = np.array([order[labels[order] == label][0] for label in (0, 1)])
    rest = order[~np.isin(order, base)]
    players, test = rest[:n_players], rest[n_players : n_players + n_test]
    mean, std = features[players].mean(axis=0), features[players].std(axis=0)
    scaled = (features - mean) / np.where(std > 0, std, 1.0)
    return DataGame(
        LogisticRegression(solver="liblinear", C=0.05),
        (scaled[players], labels[players]),
        (scaled[test], labels[test]),
        base=(scaled[base], labels[base]),
        player_names=[f"row {row} ({'benign' if labels[row] else 'malignant'})" for row in players],
    )
