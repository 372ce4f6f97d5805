"""The probability of each class for each row, by models that have not seen the row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray, IntArray

FOLDS = 5
"""Models are fitted to four fifths of the rows; a class needs as many rows"""
PENALTIES = (0.01, 0.1, 1.0)
NEIGHBOURS = (10, 25)
# Every row is out of the bag of 37 % of the trees.
TREES, TREES_OF_MANY = 100, 50
MANY_ROWS = 5000
# Of a tree: more rows make it larger and hardly better.
MOST_IN_BAG = 10_000
# No model is so sure that a row cannot be of a class.
LEAST = 1e-3
STEPS = 200


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What models say about rows that they have not seen."""

    chances: FloatArray
    """(rows, classes): the probability that a row is labelled so"""
    weights: dict[str, float]
    """How much each model counts"""
    neighbours: IntArray
    """(rows, k): the nearest other rows, the nearest first"""
    distances: FloatArray
    """(rows, k): how far they are"""


def held_out(
    points: FloatArray,
    codes: IntArray,
    rng: np.random.Generator,
    n_classes: int,
    *,
    quick: bool = False,
) -> HeldOut:
    """Held-out probabilities of the classes, mixed so that the labels given are most likely.

    Logistic regressions are cross-fitted, forests judge the rows out of their bags, and neighbours
    are other rows. A mixture of them is never far from the best: its weights are those under which
    the labels of all rows are most likely.

    Parameters
    ----------
    points
        Standardised features.
    codes
        The classes, numbered from 0.
    rng
        What divides the rows and grows the trees.
    n_classes
        How many classes there are; some may have no rows.
    quick
        Only one logistic regression and one forest.

    Examples
    --------
    >>> points = np.arange(40.0)[:, None] / 40
    >>> found = held_out(points, np.repeat([0, 1], 20), np.random.default_rng(0), 2)
    >>> found.chances[[0, -1]].argmax(axis=1)
    array([0, 1])
    """
    from sklearn.neighbors import NearestNeighbors

    n_rows = len(codes)
    found: dict[str, FloatArray] = {}
    folds = _folds(codes, rng)
    for penalty in PENALTIES[1:2] if quick else PENALTIES:
        found[f"logistic C={penalty:g}"] = _cross_fitted(points, codes, folds, n_classes, penalty)
    for name, forest in _forests(n_rows, rng).items():
        if name == "extra trees" or not quick:
            found[name] = np.zeros((n_rows, n_classes))
            found[name][:, np.unique(codes)] = forest.fit(points, codes).oob_decision_function_
    # Asked for without points, it leaves each row out of its own neighbours.
    nearest = NearestNeighbors(n_neighbors=min(1 if quick else max(NEIGHBOURS), n_rows - 1))
    distances, neighbours = nearest.fit(points).kneighbors()
    prior = np.bincount(codes, minlength=n_classes) / n_rows
    for k in () if quick else NEIGHBOURS:
        near = codes[neighbours[:, :k]]
        counts = np.stack([(near == code).sum(axis=1) for code in range(n_classes)], axis=1)
        found[f"{k} neighbours"] = (counts + prior) / (near.shape[1] + 1)
    stacked = np.stack([_proper(model) for model in found.values()])
    weights = _weights(stacked[:, np.arange(n_rows), codes])
    chances: FloatArray = np.einsum("m,mrc->rc", weights, stacked)
    return HeldOut(chances, dict(zip(found, weights.tolist(), strict=True)), neighbours, distances)


def logistic(penalty: float) -> Any:
    """A logistic regression; features are standardised, so that few steps are enough."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=penalty, max_iter=200, tol=1e-3)


def fitted(model: Any, points: FloatArray, targets: NDArray[Any]) -> Any:
    """A model after its fit; that it may still get a little better is no news."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points, targets)


def _folds(codes: IntArray, rng: np.random.Generator) -> IntArray:
    """The fold of each row; each class is divided evenly."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = np.arange(len(codes)) % FOLDS
    return folds


def _cross_fitted(
    points: FloatArray, codes: IntArray, folds: IntArray, n_classes: int, penalty: float
) -> FloatArray:
    found = np.zeros((len(codes), n_classes))
    for fold in range(FOLDS):
        rest, part = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        model = fitted(logistic(penalty), points[rest], codes[rest])
        found[np.ix_(part, model.classes_)] = model.predict_proba(points[part])
    return found


def _forests(n_rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """Forests that judge rows out of their bags; small leaves follow single wrong labels."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    common = {
        "n_estimators": TREES_OF_MANY if n_rows > MANY_ROWS else TREES,
        "bootstrap": True,
        "oob_score": True,
        "max_samples": MOST_IN_BAG if n_rows > MOST_IN_BAG else None,
    }
    first, second = rng.integers(2**31), rng.integers(2**31)
    return {
        "forest": RandomForestClassifier(min_samples_leaf=5, random_state=int(first), **common),
        "extra trees": ExtraTreesClassifier(min_samples_leaf=3, random_state=int(second), **common),
    }


def _proper(chances: FloatArray) -> FloatArray:
    """Probabilities that sum to 1 and are nowhere 0, also where a tree has nothing to say."""
    kept = np.maximum(np.nan_to_num(chances), LEAST)
    return kept / kept.sum(axis=1, keepdims=True)


def _weights(likelihoods: FloatArray) -> FloatArray:
    """The mixture of models under which the labels are most likely, by expectation-maximisation."""
    weights = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(STEPS):
        parts = weights[:, None] * likelihoods
        weights = (parts / parts.sum(axis=0)).mean(axis=1)
    return weights
