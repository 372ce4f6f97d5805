"""Values that need no sampling: linear models, and trees by shap's algorithm.

Trees with few features are enumerated instead, which is exact in double precision.
Both are taken only where their values add up to the prediction of every row, less the mean
prediction over the background; a model that is no such thing after all is sampled.
"""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.explanations.sampling import EXACT_PLAYERS
from fairshapley.games.features import FeatureGame

# Of the largest prediction: double precision for linear models, single for shap's trees, whose
# features and thresholds are in single precision.
LINEAR, TREES = 1e-9, 1e-5
# What predict says of these is the sum or the mean of their leaves: shap's interventional values
# are exact. For the probabilities of boosting they are not.
MARGINS = ("GradientBoostingClassifier", "HistGradientBoostingClassifier")
FORESTS = ("RandomForest", "ExtraTrees", "DecisionTree")
BOOSTING = ("GradientBoosting", "HistGradientBoosting", "XGB", "LGBM", "CatBoost")


def closed_form(
    game: FeatureGame, rows: IntArray, outputs: tuple[int, ...]
) -> tuple[FloatArray, FloatArray, str] | None:
    """Return v(∅) and v(N) of rows of X, their exact values, and how; None without a closed form.

    Arrays are (2, rows, outputs) and (rows, players, outputs).
    """
    function, n_players = game.predictor.function, game.n_players
    model = getattr(function, "__self__", None)
    if game.kind not in ("marginal", "mean") or model is None:
        return None
    found: FloatArray | None = None
    if _is_linear(model):
        found, how, share = _linear(game, rows), "the closed form of a linear model", LINEAR
    elif n_players > EXACT_PLAYERS and _has_leaves(model, function.__name__):
        found, share = _trees(game, model, rows), TREES
        how = "shap's TreeExplainer, in single precision"
    if found is None or found.shape != (len(rows), n_players, game.n_outputs):
        return None
    ends = np.stack([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
    known = game.expectation(rows).each(ends, np.arange(len(rows)))
    off = np.abs(found.sum(axis=1) - (known[1] - known[0])).max()
    if not off <= share * np.abs(known).max():
        return None
    return known[:, :, outputs], found[:, :, outputs], how


def _is_linear(model: Any) -> bool:
    """Return whether a model has coefficients, behind nothing but scalers."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    scaled = all(type(step).__name__.endswith("Scaler") for step in steps[:-1])
    return scaled and hasattr(steps[-1], "coef_")


def _linear(game: FeatureGame, rows: IntArray) -> FloatArray:
    """Return what each player alone changes in the mean row."""
    expectation = game.against_average(rows)
    masks = np.eye(game.n_players, dtype=bool)
    places = np.arange(len(rows))
    empty = expectation.each(np.zeros((1, game.n_players), dtype=bool), places)
    return (expectation.each(masks, places) - empty).transpose(1, 0, 2)


def _has_leaves(model: Any, method: str) -> bool:
    # A regressor of catboost has classes too, but none in them.
    name, classifies = type(model).__name__, len(getattr(model, "classes_", ())) > 0
    if method == "predict_proba":
        return name.startswith(FORESTS)
    if method == "decision_function":
        return name in MARGINS
    return name.startswith(FORESTS + BOOSTING) and not classifies


def _trees(game: FeatureGame, model: Any, rows: IntArray) -> FloatArray | None:
    """Return interventional TreeSHAP values; None where shap cannot read the model."""
    columns = range(len(game.data.labels))
    if game.n_players != len(columns):
        return None  # a group is not the sum of its columns
    if not all(game.data.is_number(at) for at in columns):
        return None  # shap does not read how trees split categories
    if importlib.util.find_spec("shap") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's own, about numpy and matplotlib
        try:
            import shap

            explainer = shap.TreeExplainer(
                model, data=game.background, feature_perturbation="interventional"
            )
            found = explainer.shap_values(game.data.handed(rows), check_additivity=False)
        except Exception:
            return None
    values = np.asarray(found, dtype=np.float64)
    return values[:, :, None] if values.ndim == 2 else values
