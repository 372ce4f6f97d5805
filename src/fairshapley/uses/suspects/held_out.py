"""The probability of each class for each row, by models that have not seen the row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
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
    """(rows, classes): the probability that a row is labelled so; of numbers, the predictions"""
    weights: dict[str, float]
    """How much each model counts"""
    neighbours: IntArray
    """(rows, k): the nearest other rows, the nearest first"""
    distances: FloatArray
    """(rows, k): how far they are"""


def held_out(
    points: FloatArray, codes: IntArray, rng: np.random.Generator, n_classes: int
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

    Examples
    --------
    >>> points = np.arange(40.0)[:, None] / 40
    >>> found = held_out(points, np.repeat([0, 1], 20), np.random.default_rng(0), 2)
    >>> found.chances[[0, -1]].argmax(axis=1)
    array([0, 1])
    """
    n_rows = len(codes)
    distances, neighbours = nearest(points, min(max(NEIGHBOURS), n_rows - 1))
    found: dict[str, FloatArray] = {}
    folds = fold_numbers(codes, rng)
    for penalty in PENALTIES:
        found[f"logistic C={penalty:g}"] = cross_fitted(
            partial(logistic, penalty), points, codes, folds, n_classes
        )
    for name, forest in forests(n_rows, rng):
        found[name] = np.zeros((n_rows, n_classes))
        found[name][:, np.unique(codes)] = forest.fit(points, codes).oob_decision_function_
    prior = np.bincount(codes, minlength=n_classes) / n_rows
    for k in NEIGHBOURS:
        near = codes[neighbours[:, :k]]
        counts = np.stack([(near == one).sum(axis=1) for one in range(n_classes)], axis=1)
        found[f"{k} neighbours"] = (counts + prior) / (near.shape[1] + 1)
    stacked = np.stack([_proper(one) for one in found.values()])
    weights = _weights(stacked[:, np.arange(n_rows), codes])
    chances: FloatArray = np.einsum("m,mrc->rc", weights, stacked)
    return HeldOut(chances, dict(zip(found, weights.tolist(), strict=True)), neighbours, distances)


def nearest(points: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """The k nearest other rows of each row, with their distances.

    Examples
    --------
    >>> nearest(np.array([[0.0], [1.0], [5.0]]), 1)[1].ravel()
    array([1, 0, 1])
    """
    from sklearn.neighbors import NearestNeighbors

    # Asked for without points, it leaves each row out of its own neighbours.
    distances, places = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()
    return distances, places


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


def fold_numbers(codes: IntArray, rng: np.random.Generator) -> IntArray:
    """The fold of each row; each class is divided evenly."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = np.arange(len(codes)) % FOLDS
    return folds


def cross_fitted(
    model: Callable[[], Any],
    points: FloatArray,
    targets: NDArray[Any],
    folds: IntArray,
    n_classes: int | None = None,
) -> FloatArray:
    """What models say of the fold that they have not seen: predictions, or probabilities."""
    found = np.zeros(len(targets) if n_classes is None else (len(targets), n_classes))
    for fold in range(FOLDS):
        rest, part = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        one = fitted(model(), points[rest], targets[rest])
        if n_classes is None:
            found[part] = one.predict(points[part])
        else:
            found[np.ix_(part, one.classes_)] = one.predict_proba(points[part])
    return found


def forests(
    n_rows: int, rng: np.random.Generator, *, numbers: bool = False
) -> Iterator[tuple[str, Any]]:
    """Forests that judge rows out of their bags."""
    from sklearn import ensemble

    many = n_rows > MANY_ROWS
    common = {
        "n_estimators": TREES_OF_MANY if many else TREES,
        "bootstrap": True,
        "oob_score": True,
        "max_features": 1 / 3 if numbers else "sqrt",
        "max_samples": MOST_IN_BAG if n_rows > MOST_IN_BAG else None,
    }
    kind = "Regressor" if numbers else "Classifier"
    # Small leaves follow single wrong labels.
    for name, trees, leaf in (("forest", "RandomForest", 5), ("extra trees", "ExtraTrees", 3)):
        seed = int(rng.integers(2**31))
        make = getattr(ensemble, trees + kind)
        yield name, make(min_samples_leaf=leaf, random_state=seed, **common)


def _proper(chances: FloatArray) -> FloatArray:
    """Probabilities that sum to 1 and are nowhere 0, also where a tree has nothing to say."""
    kept = np.maximum(np.nan_to_num(chances), LEAST)
    shares: FloatArray = kept / kept.sum(axis=1, keepdims=True)
    return shares


def _weights(likelihoods: FloatArray) -> FloatArray:
    """The mixture of models under which the labels are most likely, by expectation-maximisation."""
    weights = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(STEPS):
        parts = weights[:, None] * likelihoods
        weights = (parts / parts.sum(axis=0)).mean(axis=1)
    return weights
