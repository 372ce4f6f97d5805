"""Gaussian naive Bayes: class means and variances of all sets from sums over their rows."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from fairshapley.games.learners.arrays import Array, Backend, chances, label
from fairshapley.games.learners.learner import Data, Learner, Predicted, number, refuse_unless


class NaiveBayesLearner(Learner):
    """`sklearn.naive_bayes.GaussianNB` with priors from the set.

    As there, `var_smoothing` times the largest variance of a feature in the set is added to all
    variances.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fairshapley.games.learners.learner import data
    >>> given = data([[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"], [[1.0], [6.0]])
    >>> learner = NaiveBayesLearner(GaussianNB(), given, Backend())
    >>> learner.predict(np.array([[True, True, True, True]]), "label")
    array([[0, 1]])
    """

    def __init__(self, model: Any, given: Data, where: Backend) -> None:
        refuse_unless(model, "priors", (None,))
        (classes, codes), X, X_test = given.classes, given.X, given.X_test  # noqa: N806
        largest = given.largest_array(len(classes), 2 * X.shape[1])
        super().__init__(where, ["label", "probability"], len(X), largest)
        # Without smoothing, a class with one row has variance 0 and no likelihood.
        self._var_smoothing = number(model, "var_smoothing", positive=True)
        self._rows, self._sums, self._test, self._middles = [], [], [], []
        for code in range(len(classes)):
            rows = np.flatnonzero(codes == code)
            # About the mean of the class in all data, so that little cancels in the variances.
            middle = X[rows].mean(axis=0)
            about, about_test = X[rows] - middle, X_test - middle
            self._rows.append(where.integers(rows))
            self._sums.append(where.reals(np.hstack([about, about**2]).T))
            self._test.append(where.reals(np.hstack([about_test, about_test**2])))
            self._middles.append(where.reals((middle - X.mean(axis=0))[:, None]))

    def _predict(self, sets: Array, kind: Predicted) -> Array:
        xp = self.where.xp
        counts, means, variances = self._moments(sets)
        total = sum(counts)
        # The means about the middle of all rows, for the variance over all classes.
        places = [mean + middle for mean, middle in zip(means, self._middles, strict=True)]
        centre = sum(map(operator.mul, counts, places)) / total
        spreads = zip(counts, variances, places, strict=True)
        overall = (
            sum(count * (var + (place - centre) ** 2) for count, var, place in spreads) / total
        )
        smoothing = self._var_smoothing * xp.max(overall, axis=0)
        logs, sizes = [], []
        for count, mean, variance, test in zip(counts, means, variances, self._test, strict=True):
            prior = xp.log(count / total)
            density, size = self._log_density(test, mean, variance + smoothing)
            logs.append(xp.where(count > 0, prior + density, -xp.inf))
            sizes.append(size - prior)
        scores = xp.permute_dims(xp.stack(logs), (2, 1, 0))
        if kind == "label":
            terms = xp.permute_dims(xp.stack(sizes), (1, 0))[:, None, :]
            return label(self.where, scores, xp.abs(scores) + terms)
        return chances(xp, scores)

    def _moments(self, sets: Array) -> tuple[list[Array], list[Array], list[Array]]:
        """For each class the number of rows, the means and the variances about its middle."""
        xp = self.where.xp
        counts, means, variances = [], [], []
        for rows, columns in zip(self._rows, self._sums, strict=True):
            chosen = xp.astype(xp.take(sets, rows, axis=0), self.where.real)
            count = xp.sum(chosen, axis=0)
            moments = columns @ chosen / xp.where(count > 0, count, 1.0)
            width = columns.shape[0] // 2
            mean, square = moments[:width, :], moments[width:, :]
            variance = square - mean**2
            # What is below the rounding of the two squares is 0: equal values have no variance.
            noise = 4.0 * self.where.epsilon * square
            counts.append(count)
            means.append(mean)
            variances.append(xp.where(variance > noise, variance, 0.0))
        return counts, means, variances

    def _log_density(self, test: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """The log densities (test rows, sets), the square multiplied out to one product.

        Also how large their terms are beyond the density itself, (sets,): those of the product
        Σ x²/σ² and Σ xμ/σ² are, but for a factor, at most Σ (x−μ)²/σ² + Σ μ²/σ².
        """
        xp = self.where.xp
        precision = 1.0 / variance
        factors = xp.concat([mean * precision, -0.5 * precision], axis=0)
        squares, logs = mean**2 * precision, xp.log(2.0 * math.pi * variance)
        rest = xp.sum(squares + logs, axis=0)
        return test @ factors - 0.5 * rest, xp.sum(squares + xp.abs(logs), axis=0)
