"""What a scorer gives for the best constant prediction: the same answer for every test row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.dummy import DummyClassifier, DummyRegressor

from fairshapley._basics.types import FloatArray
from fairshapley.games.data.rows import Rows

# Only the most frequent classes are tried: a rarer one is no better answer for all rows.
MOST_CLASSES = 20
# The best number is sought between neighbours among this many quantiles of the test targets: losses
# have one valley, and its floor is a mean or a quantile of some kind.
QUANTILES = 41


def best_constant(
    score: Callable[[Any], float], test: Rows, task: str, classes: NDArray[Any] | None
) -> tuple[float, Any] | None:
    """The best score of a constant prediction on the test rows, and the model that makes it.

    None where a scorer gives no number for such a model.

    Parameters
    ----------
    score
        The score of a model on the test rows; more is better.
    test
        The test rows, whose targets alone are looked at.
    task
        "classifier", "regressor" or "other"; of the last there is no constant prediction.
    classes
        Those that a classifier can predict.

    Examples
    --------
    >>> test = Rows(np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 10.0]))
    >>> error = lambda model: float(np.abs(model.predict(test.X) - test.y).mean())
    >>> best_constant(lambda model: -error(model), test, "regressor", None)[0]
    -2.5
    """

    def scored(model: Any) -> float:
        try:
            found = score(model)
        except Exception:  # whatever a scorer misses in a model that has learnt nothing
            return -math.inf
        return -math.inf if math.isnan(found) else found

    if task == "other":
        return None
    if classes is not None:
        models = [constant_classifier(classes, one) for one in _frequencies(test, classes)]
    else:
        numbers = _good_numbers(test, lambda number: scored(constant_regressor(number)))
        models = [constant_regressor(number) for number in numbers]
    found, best = max(((scored(model), -at) for at, model in enumerate(models)))
    return (found, models[-best]) if math.isfinite(found) else None


def constant_classifier(classes: Any, frequencies: FloatArray) -> Any:
    """A model that predicts the classes with these probabilities, the first of the likeliest."""
    same = np.zeros((len(classes), 1))
    return DummyClassifier().fit(same, classes, sample_weight=frequencies)


def constant_regressor(number: float) -> Any:
    """A model that predicts a number."""
    return DummyRegressor(strategy="constant", constant=number).fit(np.zeros((1, 1)), [number])


def _frequencies(test: Rows, classes: NDArray[Any]) -> list[FloatArray]:
    """Those of the test rows, and each class for itself."""
    counts = np.array([np.count_nonzero(test.y == one) for one in classes], dtype=np.float64)
    frequent = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    return [counts / counts.sum(), *np.eye(len(classes))[frequent]]


def _good_numbers(test: Rows, scored: Callable[[float], float]) -> list[float]:
    """Numbers among which the best one is: a mean, or what is best between two quantiles."""
    targets = np.asarray(test.y, dtype=np.float64)
    ladder = np.unique(np.quantile(targets, np.linspace(0, 1, QUANTILES)))
    scores = [scored(number) for number in ladder.tolist()]
    best = int(np.argmax(scores))
    low, high = ladder[max(best - 1, 0)], ladder[min(best + 1, len(ladder) - 1)]
    found = [ladder[best], targets.mean(), np.median(targets), ladder[[0, -1]].mean()]
    if low < high and math.isfinite(scores[best]):
        # What has no score is as bad as the worst: an infinite one would mislead the search.
        worst = min(score for score in scores if math.isfinite(score))
        sought = minimize_scalar(
            lambda number: -max(scored(float(number)), worst), bounds=(low, high), method="bounded"
        )
        found.append(sought.x)
    return [float(number) for number in found]


def as_number(score: object) -> float:
    """What a scorer returned, as a float."""
    array = np.asarray(score)
    if array.ndim or array.dtype.kind not in "fiub":
        raise TypeError(f"the scorer returned {score!r:.60}, which is not a number")
    return float(array)
