"""Metrics: how well the predictions of many models fit the same test rows, all at once.

Written over the array API: predictions stay in the namespace and on the device of the learner that
made them, and only scores or sums come back.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, to_device

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.games.learners.arrays import Array
from fairshapley.games.learners.learner import Predicted
from fairshapley.randomness import root_seed, side_generator

# With 40 groups a standard error is known to 11 %, which the quantile of Student's t allows for.
MAX_GROUPS = 40
# Below this many groups, or rows in each, the spread says little.
MIN_GROUPS = 5
# Values without each group are kept in results: with many players there are fewer groups.
MAX_NUMBERS = 1_000_000


@dataclass(frozen=True, eq=False)
class TestGroups:
    """A number from 0 to `count` − 1 for each test row."""

    __test__ = False  # no class of tests

    of_row: IntArray
    count: int

    @classmethod
    def drawn(cls, clusters: IntArray, n_players: int, most: int = MAX_GROUPS) -> TestGroups:
        """Draw groups at random, since test rows may be sorted; none of too few rows.

        Parameters
        ----------
        clusters
            A number for each test row; rows with the same one stay together.
        n_players, most
            The number of players, and the most groups.

        Examples
        --------
        >>> TestGroups.drawn(np.arange(100), 10).count, TestGroups.drawn(np.arange(3), 10).count
        (40, 0)
        """
        n_clusters = int(clusters.max()) + 1
        count = min(n_clusters, most, max(MIN_GROUPS, MAX_NUMBERS // n_players))
        if count < MIN_GROUPS:
            return cls(np.zeros(len(clusters), dtype=np.int64), 0)
        order = side_generator(root_seed(0), "groups of test rows").permutation(n_clusters)
        return cls((order.astype(np.int64) % count)[clusters], count)

    def weights(self, given: FloatArray | None) -> Iterator[FloatArray]:
        """Return the weights of the test rows without one group after the other."""
        all_rows = np.ones(len(self.of_row)) if given is None else given
        for group in range(self.count):
            yield np.where(self.of_row == group, 0.0, all_rows)


# No weight of the rows that F1 counts is as small: they are 0, and F1 then is.
TINY_WEIGHT = 1e-300

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
    """A metric for fixed test targets; more is better.

    Parameters
    ----------
    targets
        What is true of each test row: the index of its class, or a number.
    n_classes
        The number of classes in the training data, whose indices come first; classes that only the
        test rows have follow. 0 for regression.
    kind
        What must be predicted of each test row.
    weights
        How much each test row counts; None counts all alike.
    """

    targets: IntArray | FloatArray
    n_classes: int
    kind: Predicted
    weights: FloatArray | None = None

    value_range: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    most_groups: ClassVar[int] = MAX_GROUPS
    """Into how many groups test rows are put to find the error of the test set"""

    def score(self, predictions: Array) -> FloatArray:
        """Return the score of each model.

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
        return self.weighed(predictions, [self.weights])[:, 0]

    def device_scores(self, predictions: Array) -> Array:
        """Return the score of each model, in the namespace and on the device of the predictions."""
        return _like(predictions, self.score(predictions))

    @abstractmethod
    def weighed(self, predictions: Array, weightings: Sequence[FloatArray | None]) -> FloatArray:
        """The score of each model under each of some weights of the test rows; None: all alike."""

    def left_out(self, predictions: Array, groups: TestGroups) -> FloatArray:
        """The score of each model without each group of test rows, shape (models, groups)."""
        return self.weighed(predictions, list(groups.weights(self.weights)))

    def best_prediction(self) -> Array:
        """Return the constant prediction with the best score, as one model's predictions.

        It is the frequencies of the classes that a model can predict. Their entropy is minus the
        log-likelihood, and the most frequent class has the highest accuracy.
        """
        counts = np.bincount(self.targets, weights=self.weights, minlength=self.n_classes)
        return self.same_for_all(counts[: self.n_classes] / counts.sum())

    def same_for_all(self, frequencies: FloatArray | None = None, mean: float = 0.0) -> Array:
        """Return the same prediction for every test row, as one model's predictions.

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
        >>> metric.score(metric.same_for_all(np.array([0.2, 0.8]))).round(3)
        array([0.667])
        """
        shape = (1, len(self.targets))
        if frequencies is None:
            return np.full(shape, mean)
        if self.kind == "label":
            return np.full(shape, int(np.argmax(frequencies)))
        if self.kind == "probability":
            return np.broadcast_to(frequencies, (*shape, self.n_classes))
        return np.zeros(shape)


class MeanMetric(Metric):
    """A metric that is a mean over the test rows, or follows from one."""

    @abstractmethod
    def rows(self, predictions: Array) -> Array:
        """Return a number for each model and test row."""

    def of_mean(self, means: Array, weights: FloatArray | None) -> Array:
        """Return the scores that follow from the means of these numbers."""
        return means

    def device_scores(self, predictions: Array) -> Array:
        """Return the score of each model, where the predictions are."""
        return self._scores(self.rows(predictions), self.weights)

    def weighed(self, predictions: Array, weightings: Sequence[FloatArray | None]) -> FloatArray:
        """Return the score of each model under each of some weights of the test rows."""
        values = self.rows(predictions)
        return np.stack([_host(self._scores(values, one)) for one in weightings], axis=1)

    def _scores(self, values: Array, weights: FloatArray | None) -> Array:
        xp = array_namespace(values)
        values, total = xp.astype(values, xp.float64), float(values.shape[-1])
        if weights is not None:
            values, total = values * _like(values, weights, xp.float64), float(weights.sum())
        elif isinstance(values, np.ndarray):
            # The order of a sum follows the layout: the same one for a single row and for many.
            values = np.ascontiguousarray(values)
        # By an array: a GPU multiplies by the reciprocal of a number, which differs in a last bit.
        return self.of_mean(xp.sum(values, axis=-1) / _like(values, [total], xp.float64), weights)

    def left_out(self, predictions: Array, groups: TestGroups) -> FloatArray:
        """Return the score of each model without each group of test rows, by one matrix product."""
        counting = np.ones(len(self.targets)) if self.weights is None else self.weights
        inside = (groups.of_row[:, None] == np.arange(groups.count)) * counting[:, None]
        sums = _sums(self.rows(predictions), inside)
        weights = inside.sum(axis=0)
        means = (sums.sum(axis=1, keepdims=True) - sums) / (weights.sum() - weights)
        each = zip(means.T, groups.weights(self.weights), strict=True)
        return np.stack([self.of_mean(mean, one) for mean, one in each], axis=1)


class Accuracy(MeanMetric):
    """The share of the test rows whose class is predicted."""

    def rows(self, predictions: Array) -> Array:
        """Return whether the class is predicted."""
        return predictions == _like(predictions, self.targets)


class LogLikelihood(MeanMetric):
    """The mean logarithm of the probability of the true class, clipped to `PROBABILITY_CLIP`."""

    lowest: ClassVar[float] = math.log(PROBABILITY_CLIP)
    value_range = (lowest, 0.0)

    def rows(self, predictions: Array) -> Array:
        """Return the logarithm of the probability of the true class."""
        xp = array_namespace(predictions)
        # A sum with one term that is not 0: picking it is no part of the array API.
        truth = self.targets[:, None] == np.arange(self.n_classes)
        of_truth = xp.sum(predictions * _like(predictions, truth, predictions.dtype), axis=-1)
        return xp.log(xp.clip(of_truth, PROBABILITY_CLIP, 1.0))

    def of_mean(self, means: Array, weights: FloatArray | None) -> Array:
        """Return means within the range, which rounding of equal numbers may leave."""
        return array_namespace(means).clip(means, self.lowest, None)


class F1(Metric):
    """2TP / (2TP + FP + FN), 0 where nothing is to be found and nothing was.

    With two classes it is that of the second; of more, the mean over the classes of the test rows.
    """

    def weighed(self, predictions: Array, weightings: Sequence[FloatArray | None]) -> FloatArray:
        """Return the score of each model under each of some weights of the test rows."""
        all_rows = np.ones(len(self.targets))
        counting = np.stack([all_rows if one is None else one for one in weightings], axis=1)
        scores = []
        for one in self._found():
            predicted, true = predictions == one, self.targets == one
            hits = _sums(predicted & _like(predictions, true), counting)
            said = _sums(predicted, counting) + true @ counting
            scores.append(2 * hits / np.maximum(said, TINY_WEIGHT))
        return _average(scores)

    def _found(self) -> list[int]:
        """Return the classes whose F1 counts."""
        found: list[int] = np.unique(self.targets).tolist()
        return [1] if max(self.n_classes, max(found) + 1) == 2 else found

    def best_prediction(self) -> Array:
        """Return the best of the classes for all rows: of two, the second, which is found whole."""
        return max(map(self.same_for_all, np.eye(self.n_classes)), key=lambda p: self.score(p)[0])


class AUC(Metric):
    """The area under the ROC curve; ties count one half.

    With more than two classes, the mean over the classes of the test rows of one against the rest.
    A decision function is ranked as it is, as in scikit-learn. Probabilities are ranked by their
    odds: those within `PROBABILITY_CLIP` of 0 or of 1 are ties, and so is what differs by rounding.
    """

    most_groups = 10  # each goes through the ranks again

    def weighed(self, predictions: Array, weightings: Sequence[FloatArray | None]) -> FloatArray:
        """The score of each model under each of some weights of the test rows, ranked once."""
        if self.kind == "decision":
            return _areas(predictions, self.targets == 1, weightings)
        classes = [1] if self.n_classes == 2 else np.unique(self.targets).tolist()
        return _average(
            [_areas(_odds(predictions, one), self.targets == one, weightings) for one in classes]
        )


class NegMSE(MeanMetric):
    """Minus the mean squared error, in squared units of the target."""

    value_range = None

    def rows(self, predictions: Array) -> Array:
        """Return the squared error."""
        return (predictions - _like(predictions, self.targets, predictions.dtype)) ** 2

    def of_mean(self, means: Array, weights: FloatArray | None) -> Array:
        """Return the negative means: errors count against a model."""
        return -means

    def best_prediction(self) -> Array:
        """Return the mean of the test targets: the score is minus their variance."""
        return self.same_for_all(mean=float(np.average(self.targets, weights=self.weights)))


class RMSE(NegMSE):
    """Minus the root of the mean squared error, in units of the target."""

    def of_mean(self, means: Array, weights: FloatArray | None) -> Array:
        """Return the root of the mean."""
        return -array_namespace(means).sqrt(means)


class R2(NegMSE):
    """The coefficient of determination, 1 − squared error / squared deviation from the mean."""

    def of_mean(self, means: Array, weights: FloatArray | None) -> Array:
        """Return the means in units of the variance, from 1 down."""
        mean = np.average(self.targets, weights=weights)
        return 1 - means / float(np.average((self.targets - mean) ** 2, weights=weights))


class MAE(NegMSE):
    """Minus the mean absolute error, in units of the target."""

    def rows(self, predictions: Array) -> Array:
        """Return the absolute error."""
        xp = array_namespace(predictions)
        return xp.abs(predictions - _like(predictions, self.targets, predictions.dtype))

    def best_prediction(self) -> Array:
        """Return the median of the test targets."""
        order = np.argsort(self.targets, kind="stable")
        weights = np.ones(len(order)) if self.weights is None else self.weights[order]
        below = np.cumsum(weights) / weights.sum()
        place = min(int(np.searchsorted(below, 0.5 * (1 - 1e-12))), len(order) - 1)
        return self.same_for_all(mean=float(self.targets[order[place]]))


METRICS: dict[str, type[Metric]] = {
    "accuracy": Accuracy,
    "log_likelihood": LogLikelihood,
    "f1": F1,
    "auc": AUC,
    "r2": R2,
    "rmse": RMSE,
    "mae": MAE,
    "neg_mse": NegMSE,
}


def _like(predictions: Array, values: Array, dtype: Array = None) -> Array:
    """Return a numpy array as one of the namespace and the device of the predictions."""
    xp = array_namespace(predictions)
    return xp.asarray(values, dtype=dtype, device=device(predictions))


def _sums(values: Array, weights: FloatArray) -> FloatArray:
    """Return the sums of each row of values under each column of weights (test rows, …)."""
    xp = array_namespace(values)
    return _host(xp.astype(values, xp.float64) @ _like(values, weights, xp.float64))


def _average(scores: list[FloatArray]) -> FloatArray:
    """Return the mean over the classes, added one after the other for one model and for many."""
    return sum(scores[1:], start=scores[0]) / len(scores)


def _host(values: Array) -> FloatArray:
    """Return numbers as a numpy array."""
    return np.asarray(to_device(values, "cpu"), dtype=np.float64)


def _odds(probabilities: Array, one: int) -> Array:
    """Return a score in the order of the odds of one class against the rest.

    From the smaller of both probabilities, which has more digits where the larger is close to 1;
    relative to one half, so that rounding does not part rows whose odds are even.
    """
    xp = array_namespace(probabilities)
    own = probabilities[..., one]
    others = [probabilities[..., at] for at in range(probabilities.shape[-1]) if at != one]
    rest = sum(others[1:], start=others[0])
    least = xp.log(2 * xp.clip(xp.minimum(own, rest), PROBABILITY_CLIP, 1.0))
    return xp.round(xp.where(own <= rest, least, -least) / ODDS_STEP)


def _areas(
    scores: Array, positive: BoolArray, weightings: Iterable[FloatArray | None]
) -> FloatArray:
    """The area under the ROC curve of each row of scores, by each of some weights of the test rows.

    With the rows sorted, the positives of a group of equal scores count the negatives below the
    group and half of those within (Mann and Whitney 1947). Without weights all are whole numbers or
    halves, so that the sums are exact.
    """
    xp = array_namespace(scores)
    order, ranked = xp.argsort(scores, axis=-1), xp.sort(scores, axis=-1)
    places = xp.reshape(order, (-1,))
    zeros = xp.zeros(scores.shape, dtype=xp.float64, device=device(scores))
    # The last row of every group of equal scores.
    ends = xp.concat([ranked[..., 1:] != ranked[..., :-1], zeros[..., :1] == 0], axis=-1)
    # A sort puts what is not a number somewhere: there is no area then.
    unknown = xp.any(xp.isnan(scores), axis=-1)
    areas = []
    for weights in weightings:
        counts = np.stack([positive, ~positive]) * (1.0 if weights is None else weights)
        sorted_counts = (
            xp.reshape(xp.take(_like(scores, one, xp.float64), places, axis=0), scores.shape)
            for one in counts
        )
        hits, misses = (
            xp.where(ends, xp.cumulative_sum(one, axis=-1), zeros) for one in sorted_counts
        )
        gained = (hits - _highest_before(hits)) * (misses + _highest_before(misses)) / 2
        area = xp.sum(xp.where(ends, gained, zeros), axis=-1)
        pairs = float(counts[0].sum() * counts[1].sum())
        areas.append(_host(xp.where(unknown, xp.full_like(area, xp.nan), area)) / pairs)
    return np.stack(areas, axis=1)


def _highest_before(counts: Array) -> Array:
    """Return the highest of all entries to the left of each, 0 for the first; no entry is negative.

    The array API has no running maximum; numpy and torch have one each.
    """
    xp = array_namespace(counts)
    before = xp.concat([xp.zeros_like(counts[..., :1]), counts[..., :-1]], axis=-1)
    if isinstance(before, np.ndarray):
        return np.maximum.accumulate(before, axis=-1, out=before)
    return before.cummax(dim=-1).values
