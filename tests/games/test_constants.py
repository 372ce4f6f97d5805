"""The best constant prediction: no other scores better, and it is what no rows are worth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, make_scorer, mean_pinball_loss

from fairshapley.games import DataGame
from fairshapley.games.data.fitting import best_constant
from fairshapley.games.data.rows import Rows

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] + RNG.normal(size=60) > 0.9).astype(int)
Z = np.exp(X[:, 0] + 0.3 * RNG.normal(size=60))
NOBODY = np.zeros((1, 20), dtype=bool)
CLASS_SCORERS = (
    "accuracy",
    "balanced_accuracy",
    "f1",
    "neg_log_loss",
    "neg_brier_score",
    "roc_auc",
)
NUMBER_SCORERS = (
    *("r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error"),
    *("neg_median_absolute_error", "neg_mean_poisson_deviance", "neg_mean_gamma_deviance"),
    *("neg_max_error", "neg_mean_squared_log_error", "neg_mean_absolute_percentage_error"),
)


def on(scorer, test):
    return lambda model: scorer(model, test.X, test.y)


def constant_scores(score, targets, models):
    rows = np.zeros((len(targets), 1))
    return [score(model.fit(rows, targets), rows, targets) for model in models]


@pytest.mark.parametrize("name", CLASS_SCORERS)
def test_no_constant_answer_is_better_for_classes(name):
    """Each class, the prior, and probabilities between."""
    test = Rows(X[20:], Y[20:])
    found = best_constant(on(get_scorer(name), test), test, "classifier", np.array([0, 1]))[0]
    models = [DummyClassifier(strategy="constant", constant=one) for one in (0, 1)]
    models.append(DummyClassifier(strategy="prior"))
    assert found == pytest.approx(max(constant_scores(get_scorer(name), test.y, models)))
    if name in ("neg_log_loss", "neg_brier_score"):
        share = test.y.mean()
        others = [get_scorer(name)(steady(p), test.X, test.y) for p in (share - 0.1, share + 0.1)]
        assert found > max(others)


def steady(probability):
    """A model with the same probability of class 1 for every row."""
    weights = [1 - probability, probability]
    return DummyClassifier().fit(np.zeros((2, 1)), [0, 1], sample_weight=weights)


@pytest.mark.parametrize("name", NUMBER_SCORERS)
def test_no_constant_answer_is_better_for_numbers(name):
    test = Rows(X[20:], Z[20:])
    found = best_constant(on(get_scorer(name), test), test, "regressor", None)[0]
    grid = np.linspace(Z[20:].min(), Z[20:].max(), 400)
    models = [DummyRegressor(strategy="constant", constant=one) for one in grid]
    scores = constant_scores(get_scorer(name), test.y, models)
    assert found >= max(scores) - 1e-6 * abs(max(scores))
    game = DataGame(Ridge(), (X[:20], Z[:20]), (X[20:], Z[20:]), name)
    assert game(NOBODY)[0] == pytest.approx(found, abs=1e-9)


def test_a_function_of_one_s_own_has_its_best_constant():
    upper = make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False)
    test = Rows(X[20:], Z[20:])
    found = best_constant(on(upper, test), test, "regressor", None)[0]
    quantile = float(np.quantile(Z[20:], 0.9, method="inverted_cdf"))
    assert found == pytest.approx(-mean_pinball_loss(test.y, np.full(40, quantile), alpha=0.9))
    assert best_constant(lambda model: model.coef_.sum(), test, "regressor", None) is None
    assert best_constant(on(upper, test), test, "other", None) is None


def test_players_do_not_change_what_nobody_is_worth():
    """Nor is a class that only training rows have a constant answer worth giving."""
    game = DataGame(LogisticRegression(), (X[:20], Y[:20]), (X[20:], Y[20:]))
    flipped = DataGame(LogisticRegression(), (X[:20], 1 - Y[:20]), (X[20:], Y[20:]))
    assert game(NOBODY)[0] == flipped(NOBODY)[0] == 1 - Y[20:].mean()
    assert game.constant_value == game.empty_value
    given = DataGame(LogisticRegression(), (X[:20], Y[:20]), (X[20:], Y[20:]), empty_value=0.5)
    assert (given(NOBODY)[0], given.constant_value) == (0.5, game.constant_value)
