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
    # Asked for without points, it leaves each row out of its own neighbours.
    nearest = NearestNeighbors(n_neighbors=min(1 if quick else max(NEIGHBOURS), n_rows - 1))
    distances, neighbours = nearest.fit(points).kneighbors()
    shares = np.bincount(codes, minlength=n_classes) / n_rows
    targets: NDArray[Any] = codes
    if ordered:  # a range stands for the normal score in its middle
        targets = norm.ppf(np.cumsum(shares) - shares / 2)[codes]
    votes = () if quick else tuple(neighbours[:, :k] for k in NEIGHBOURS)
    found = _predicted(points, targets, codes, votes, rng)
    for name, level in found.items():
        if ordered:
            found[name] = _of_ranges(level.ravel(), targets, norm.ppf(np.cumsum(shares)[:-1]))
        else:
            found[name] = np.zeros((n_rows, n_classes))
            found[name][:, np.unique(codes)] = level
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
    """Return a model after its fit; that it may still get a little better is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(points, targets)


def _predicted(
    points: FloatArray,
    targets: NDArray[Any],
    codes: IntArray,
    votes: tuple[IntArray, ...],
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    """Return what models say of rows that they have not seen: chances of classes, or numbers.

    Without `votes`, the neighbours that are asked, one linear model and one forest are enough.
    """
    numbers = targets.dtype.kind == "f"
    judged = "oob_prediction_" if numbers else "oob_decision_function_"
    folds = int(rng.integers(2**31))
    found = {
        f"linear C={penalty:g}": cross_predicted(
            linear(penalty, ordered=numbers), points, targets, codes, folds
        )
        for penalty in (PENALTIES if votes else PENALTIES[1:2])
    }
    for name, forest in _forests(len(codes), rng, ordered=numbers).items():
        if name == "extra trees" or votes:
            found[name] = np.nan_to_num(getattr(fitted(forest, points, targets), judged))
    known = targets[:, None] if numbers else 1.0 * (targets[:, None] == np.unique(targets))
    for near in votes:
        sums = known[near].sum(axis=1) + known.mean(axis=0)
        found[f"{near.shape[1]} neighbours"] = sums / (near.shape[1] + 1)
    return found


def cross_predicted(
    model: Any, points: FloatArray, targets: NDArray[Any], codes: IntArray, seed: int = 0
) -> FloatArray:
    """Return what a model says of each fifth of the rows when it has seen the others.

    These are probabilities of the classes, or numbers where the targets are.

    Examples
    --------
    >>> points, codes = np.arange(40.0)[:, None] / 40, np.repeat([0, 1], 20)
    >>> cross_predicted(linear(1.0, ordered=False), points, codes, codes).shape
    (40, 2)
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    method = "predict" if targets.dtype.kind == "f" else "predict_proba"
    with warnings.catch_warnings():  # that classes are small, or fits could go on, is no news
        warnings.simplefilter("ignore")
        splits = folds.split(points, codes)
        found: FloatArray = cross_val_predict(model, points, targets, cv=splits, method=method)
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
