"""The constant prediction that no rows are worth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer

from fairshapley.errors import InputError
from fairshapley.games import DataGame

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] + RNG.normal(size=60) > 0.9).astype(int)
Z = np.exp(X[:, 0] + 0.3 * RNG.normal(size=60))
NOBODY = np.zeros((1, 20), dtype=bool)


def game(model, y, metric):
    return DataGame(model, (X[:20], y[:20]), (X[20:], y[20:]), metric)


@pytest.mark.parametrize(
    ("model", "targets", "name"),
    [
        *((LogisticRegression(), Y, name) for name in ("neg_brier_score", "roc_auc", "f1")),
        *((Ridge(), Z, name) for name in ("neg_mean_poisson_deviance", "neg_max_error")),
    ],
)
def test_a_scorer_judges_the_frequencies_of_the_classes_or_the_mean(model, targets, name):
    score, rows, answers = get_scorer(name), X[20:], targets[20:]
    dummy = DummyRegressor() if isinstance(model, Ridge) else DummyClassifier(strategy="prior")
    expected = score(dummy.fit(rows, answers), rows, answers)
    scorer = lambda model, X, y: score(model, X, y)  # noqa: E731, N803 - none of our metrics
    assert game(model, targets, scorer)(NOBODY)[0] == pytest.approx(expected)


def test_a_scorer_without_a_number_for_a_constant_asks_for_the_empty_value():
    with pytest.raises(InputError, match="give empty_value"):
        game(Ridge(), Z, lambda model, X, y: model.coef_.sum())  # noqa: N803


def test_players_do_not_change_what_nobody_is_worth():
    """Nor is a class that only training rows have a constant answer worth giving."""
    plain = DataGame(LogisticRegression(), (X[:20], Y[:20]), (X[20:], Y[20:]))
    flipped = DataGame(LogisticRegression(), (X[:20], 1 - Y[:20]), (X[20:], Y[20:]))
    assert plain(NOBODY)[0] == flipped(NOBODY)[0] == 1 - Y[20:].mean()
    assert plain.constant_value == plain.empty_value
    given = DataGame(LogisticRegression(), (X[:20], Y[:20]), (X[20:], Y[20:]), empty_value=0.5)
    assert (given(NOBODY)[0], given.constant_value) == (0.5, plain.constant_value)
