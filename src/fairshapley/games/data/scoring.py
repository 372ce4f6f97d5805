"""Metrics: how well the predictions of many models fit the same test rows, all at once.

Written over the array API: predictions stay in the namespace and on the device of the learner that
made them. Only sums, one or two for each model, come back, and are divided as numpy float64: a GPU
multiplies by a reciprocal instead, which is not the same in the last bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, to_device

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.games.learners.learner import Array, Predicted

Scorer: TypeAlias = Callable[[Any, Any, Any], float]
"""``scorer(model, X, y)``: how well a fitted model predicts some rows"""

# Probabilities are clipped to at least this before the logarithm. One that was computed as 1 − p is
# off by 1.1e-16, which at 1e-10 is 1.1e-6 of it and, as |log p| is 23, 5e-8 of its logarithm: what
# is smaller would let rounding show in a utility.
PROBABILITY_CLIP = 1e-10

# Log odds are rounded to multiples of this. Two ways to compute the same probability differ by some
# 1e-13 of it, and an AUC must not depend on which of two equal rows rounding puts first.
ODDS_STEP = 1e-9


@dataclass(frozen=True, eq=False)
class Metric(ABC):
    """A metric for fixed test targets.

    Parameters
    ----------
    targets
        What is true of each test row: the index of its class, or a number.
    n_classes
        The number of classes in the training data, whose indices come first; classes that only the
        test rows have follow. 0 for regression.
    kind
        What must be predicted of each test row.
    """

    targets: IntArray | FloatArray
    n_classes: int
    kind: Predicted

    value_range: ClassVar[tuple[float, float] | None] = (0.0, 1.0)

    @abstractmethod
    def score(self, predictions: Array) -> FloatArray:
        """The score of each model.

        Parameters
        ----------
        predictions
            As `Learner.predict` gives them: (models, test rows), for probabilities with a third
            axis for the classes.

        Examples
        --------
        >>> metric = Accuracy(np.array([0, 1, 1]), 2, "label")
        >>> metric.score(np.array([[0, 1, 1], [0, 0, 0]])).round(3)
        array([1.   , 0.333])
        """

    @abstractmethod
    def best_constant(self) -> float:
        """The best score that one and the same prediction for every test row can have.

        Examples
        --------
        >>> Accuracy(np.array([0, 1, 1, 1]), 2, "label").best_constant()
        0.75
        """

    def constant(self, frequencies: FloatArray | None = None, mean: float = 0.0) -> float:
        """The score of the same prediction for every test row.

        Parameters
        ----------
        frequencies
            Of the classes: they are the predicted probabilities, the most frequent class (the
            first of several) is the predicted one.
        mean
            The predicted number of a regression.

        Examples
        --------
        >>> metric = Accuracy(np.array([0, 1, 1]), 2, "label")
        >>> round(metric.constant(np.array([0.2, 0.8])), 3)
        0.667
        """
        shape = (1, len(self.targets))
        if frequencies is None:
            return float(self.score(np.full(shape, mean))[0])
        if self.kind == "label":
            return float(self.score(np.full(shape, int(np.argmax(frequencies))))[0])
        if self.kind == "probability":
            return float(self.score(np.broadcast_to(frequencies, (*shape, self.n_classes)))[0])
        return float(self.score(np.zeros(shape))[0])


class Accuracy(Metric):
    """The share of the test rows whose class is predicted."""

    def score(self, predictions: Array) -> FloatArray:
        """The score of each model."""
        return _mean(predictions == _beside(predictions, self.targets))

    def best_constant(self) -> float:
        """The share of the most frequent class, of those that a model can predict."""
        return float(np.bincount(self.targets)[: self.n_classes].max() / len(self.targets))


class LogLikelihood(Metric):
    """The mean logarithm of the probability of the true class, clipped to `PROBABILITY_CLIP`."""

    lowest: ClassVar[float] = math.log(PROBABILITY_CLIP)
    value_range = (lowest, 0.0)

    def score(self, predictions: Array) -> FloatArray:
        """The score of each model."""
        xp = array_namespace(predictions)
        # A sum with one term that is not 0: picking it is no part of the array API.
        truth = self.targets[:, None] == np.arange(self.n_classes)
        of_truth = xp.sum(predictions * _beside(predictions, truth, predictions.dtype), axis=-1)
        scores = _mean(xp.log(xp.clip(of_truth, PROBABILITY_CLIP, 1.0)))
        # A mean of equal numbers can be off by a last bit, which would leave the range.
        return np.maximum(scores, self.lowest)

    def best_constant(self) -> float:
        """The frequencies of the classes as probabilities: minus their entropy."""
        counts = np.bincount(self.targets, minlength=self.n_classes)
        return self.constant(counts / len(self.targets))


class F1(Metric):
    """2TP / (2TP + FP + FN), 0 where nothing is to be found and nothing was.

    Of two classes it is that of the second; of more, the mean over the classes of the test rows.
    """

    def score(self, predictions: Array) -> FloatArray:
        """The score of each model."""
        found = np.unique(self.targets).tolist()
        n_all = max(self.n_classes, max(found) + 1)
        classes = [1] if n_all == 2 else found
        scores = []
        for one in classes:
            predicted, true = predictions == one, self.targets == one
            hits = _count(predicted & _beside(predictions, true))
            either = _count(predicted) + int(true.sum())
            scores.append(2 * hits / np.maximum(either, 1.0))
        return _average(scores)

    def best_constant(self) -> float:
        """The best of the classes for all rows: of two, the second, which is found whole."""
        return max(self.constant(one) for one in np.eye(self.n_classes))


class AUC(Metric):
    """The area under the ROC curve; ties count one half.

    Of more than two classes, the mean over the classes of the test rows of one against the rest.
    A decision function is ranked as it is, as in scikit-learn. Probabilities are ranked by their
    odds: those within `PROBABILITY_CLIP` of 0 or of 1 are ties, and so is what differs by rounding.
    """

    def score(self, predictions: Array) -> FloatArray:
        """The score of each model."""
        if self.kind == "decision":
            return _area(predictions, self.targets == 1)
        classes = [1] if self.n_classes == 2 else np.unique(self.targets).tolist()
        areas = [_area(_odds(predictions, one), self.targets == one) for one in classes]
        return _average(areas)

    def best_constant(self) -> float:
        """One half: no test row comes before another."""
        return 0.5


class NegMSE(Metric):
    """Minus the mean squared error."""

    value_range = None

    def score(self, predictions: Array) -> FloatArray:
        """The score of each model."""
        return -_mean((predictions - _beside(predictions, self.targets, predictions.dtype)) ** 2)

    def best_constant(self) -> float:
        """The mean of the test targets: minus their variance."""
        return self.constant(mean=float(np.mean(self.targets)))


class R2(NegMSE):
    """The coefficient of determination, 1 − squared error / squared deviation from the mean."""

    def score(self, predictions: Array) -> FloatArray:
        """The score of each model."""
        return 1 + super().score(predictions) / float(np.var(self.targets))


METRICS: dict[str, type[Metric]] = {
    "accuracy": Accuracy,
    "log_likelihood": LogLikelihood,
    "f1": F1,
    "auc": AUC,
    "neg_mse": NegMSE,
    "r2": R2,
}


def _beside(predictions: Array, values: Array, dtype: Array = None) -> Array:
    """A numpy array as one of the namespace and the device of the predictions."""
    xp = array_namespace(predictions)
    return xp.asarray(values, dtype=dtype, device=device(predictions))


def _count(mask: Array) -> FloatArray:
    """How many entries of each row are true."""
    xp = array_namespace(mask)
    return _host(xp.sum(xp.astype(mask, xp.float64), axis=-1))


def _mean(values: Array) -> FloatArray:
    """The mean of each row in float64."""
    xp = array_namespace(values)
    values = xp.astype(values, xp.float64)
    if isinstance(values, np.ndarray):
        # The order of a sum follows the layout: the same one for a single row and for many.
        values = np.ascontiguousarray(values)
    return _host(xp.sum(values, axis=-1)) / int(values.shape[-1])


def _average(scores: list[FloatArray]) -> FloatArray:
    """The mean over the classes, added one after the other for one model and for many."""
    return sum(scores[1:], start=scores[0]) / len(scores)


def _host(values: Array) -> FloatArray:
    """Numbers as a numpy array."""
    return np.asarray(to_device(values, "cpu"), dtype=np.float64)


def _odds(probabilities: Array, one: int) -> Array:
    """A score in the order of the odds of one class against the rest.

    From the smaller of both probabilities, which has more digits where the larger is close to 1;
    relative to one half, so that rounding does not part rows whose odds are even.
    """
    xp = array_namespace(probabilities)
    own = probabilities[..., one]
    others = [probabilities[..., at] for at in range(probabilities.shape[-1]) if at != one]
    rest = sum(others[1:], start=others[0])
    least = xp.log(2 * xp.clip(xp.minimum(own, rest), PROBABILITY_CLIP, 1.0))
    return xp.round(xp.where(own <= rest, least, -least) / ODDS_STEP)


def _area(scores: Array, positive: BoolArray) -> FloatArray:
    """The area under the ROC curve of each row of scores (Mann and Whitney 1947).

    With the rows sorted, the positives of a group of equal scores count the negatives below the
    group and half of those within. All are whole numbers or halves, so that the sums are exact.
    """
    xp = array_namespace(scores)
    order, ranked = xp.argsort(scores, axis=-1), xp.sort(scores, axis=-1)
    hits = xp.take(_beside(scores, positive, xp.float64), xp.reshape(order, (-1,)), axis=0)
    hits = xp.reshape(hits, scores.shape)
    zeros = xp.zeros_like(hits)
    # The last row of every group of equal scores.
    ends = xp.concat([ranked[..., 1:] != ranked[..., :-1], zeros[..., :1] == 0], axis=-1)
    positives, negatives = (
        xp.where(ends, xp.cumulative_sum(counted, axis=-1), zeros) for counted in (hits, 1 - hits)
    )
    gained = (positives - _highest_before(positives)) * (negatives + _highest_before(negatives)) / 2
    area = xp.sum(xp.where(ends, gained, zeros), axis=-1)
    # A sort puts what is not a number somewhere: there is no area then.
    unknown = xp.any(xp.isnan(scores), axis=-1)
    n_positive = int(positive.sum())
    pairs = n_positive * (len(positive) - n_positive)
    return _host(xp.where(unknown, xp.full_like(area, xp.nan), area)) / pairs


def _highest_before(counts: Array) -> Array:
    """The highest of all entries to the left of each, 0 for the first; no entry is negative.

    By doubling: after step k an entry knows of the 2**k to its left. The array API has no running
    maximum.
    """
    xp = array_namespace(counts)
    zero = xp.zeros_like(counts[..., :1])
    highest, step = xp.concat([zero, counts[..., :-1]], axis=-1), 1
    while step < counts.shape[-1]:
        further = xp.maximum(highest[..., step:], highest[..., :-step])
        highest = xp.concat([highest[..., :step], further], axis=-1)
        step *= 2
    return highest
