"""The probability of each class for each row, by models that have not seen the row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

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
    ordered: bool = False,
    quick: bool = False,
) -> HeldOut:
    """Return held-out probabilities of the classes, mixed so that the labels are most likely.

    Linear models are cross-fitted, forests judge the rows out of their bags, and neighbours
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
    ordered
        Whether the classes are ranges of a number: then the models predict where in them it lies,
        and their errors on other rows say how sure that is.
    quick
        Only one linear model and one forest.

    Examples
    --------
    >>> points = np.arange(40.0)[:, None] / 40
    >>> found = held_out(points, np.repeat([0, 1], 20), np.random.default_rng(0), 2)
    >>> found.chances[[0, -1]].argmax(axis=1)
    array([0, 1])
    """
    from sklearn.neighbors import NearestNeighbors

    n_rows = len(codes)
    prior = np.bincount(codes, minlength=n_classes) / n_rows
    ends = norm.ppf(np.cumsum(prior)[:-1])
    # Of each class the rows, of a range the normal score in its middle.
    known = np.eye(n_classes)[codes]
    targets: NDArray[Any] = norm.ppf(np.cumsum(prior) - prior / 2)[codes] if ordered else codes
    found: dict[str, FloatArray] = {}
    folds = _folds(codes, rng)
    for penalty in PENALTIES[1:2] if quick else PENALTIES:
        model = linear(penalty, ordered=ordered)
        found[f"linear C={penalty:g}"] = _cross_fitted(model, points, targets, folds, n_classes)
    for name, forest in _forests(n_rows, rng, ordered=ordered).items():
        if name == "extra trees" or not quick:
            forest.fit(points, targets)
            found[name] = np.zeros((n_rows, n_classes))
            if ordered:
                found[name] = forest.oob_prediction_
            else:
                found[name][:, forest.classes_] = forest.oob_decision_function_
    # Asked for without points, it leaves each row out of its own neighbours.
    nearest = NearestNeighbors(n_neighbors=min(1 if quick else max(NEIGHBOURS), n_rows - 1))
    distances, neighbours = nearest.fit(points).kneighbors()
    for k in () if quick else NEIGHBOURS:
        near = neighbours[:, :k]
        votes = (known[near].sum(axis=1) + prior) / (near.shape[1] + 1)
        found[f"{k} neighbours"] = targets[near].mean(axis=1) if ordered else votes
    if ordered:
        found = {name: _of_ranges(level, targets, ends) for name, level in found.items()}
    stacked = np.stack([_proper(model) for model in found.values()])
    weights = _weights(stacked[:, np.arange(n_rows), codes])
    chances: FloatArray = np.einsum("m,mrc->rc", weights, stacked)
    return HeldOut(chances, dict(zip(found, weights.tolist(), strict=True)), neighbours, distances)


def linear(penalty: float, *, ordered: bool) -> Any:
    """Return a logistic or ridge regression; the features are standardised: few steps do."""
    from sklearn.linear_model import LogisticRegression, Ridge

    if ordered:
        return Ridge(alpha=1 / penalty)
    return LogisticRegression(C=penalty, max_iter=200, tol=1e-3)


def fitted(model: Any, points: FloatArray, targets: NDArray[Any]) -> Any:
    """A model after its fit; that it may still get a little better is no news."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points, targets)


def _folds(codes: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row; each class is divided evenly."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = np.arange(len(codes)) % FOLDS
    return folds


def _cross_fitted(
    model: Any, points: FloatArray, targets: NDArray[Any], folds: IntArray, n_classes: int
) -> FloatArray:
    ordered = targets.dtype.kind == "f"
    found = np.zeros(len(targets) if ordered else (len(targets), n_classes))
    for fold in range(FOLDS):
        rest, part = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted(model, points[rest], targets[rest])
        if ordered:
            found[part] = model.predict(points[part])
        else:
            found[np.ix_(part, model.classes_)] = model.predict_proba(points[part])
    return found


def _forests(n_rows: int, rng: np.random.Generator, *, ordered: bool) -> dict[str, Any]:
    """Return forests that judge rows out of their bags; small leaves follow single labels."""
    from sklearn import ensemble

    common: dict[str, Any] = {
        "n_estimators": TREES_OF_MANY if n_rows > MANY_ROWS else TREES,
        "bootstrap": True,
        "oob_score": True,
        "max_samples": MOST_IN_BAG if n_rows > MOST_IN_BAG else None,
    }
    first, second = int(rng.integers(2**31)), int(rng.integers(2**31))
    forest, extra = ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier
    if ordered:
        forest, extra = ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor
        common["max_features"] = 1 / 3
    return {
        "forest": forest(min_samples_leaf=5, random_state=first, **common),
        "extra trees": extra(min_samples_leaf=3, random_state=second, **common),
    }


def _of_ranges(level: FloatArray, targets: FloatArray, ends: FloatArray) -> FloatArray:
    """Return the probability of each range, where errors are as large as over all rows."""
    level = np.nan_to_num(level)
    errors = np.sort(targets - level)
    below = np.searchsorted(errors, ends - level[:, None]) / len(errors)
    edge = np.zeros((len(level), 1))
    return np.diff(np.hstack([edge, below, edge + 1]), axis=1)


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
