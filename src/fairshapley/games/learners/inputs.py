"""Training and test data as learners take them, and the checks of a model's parameters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.checks import is_real
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import real_numbers
from fairshapley.games.learners.learner import NotVectorisedError


@dataclass(frozen=True)
class Data:
    """Training rows, their targets, and test rows.

    Attributes
    ----------
    X, y, X_test
        The features of the training rows, their targets as given, the features of the test rows.
    """

    X: FloatArray
    y: NDArray[Any]
    X_test: FloatArray

    @property
    def classes(self) -> tuple[NDArray[Any], IntArray]:
        """The sorted classes, and for each training row the index of its class."""
        classes, codes = np.unique(self.y, return_inverse=True)
        return classes, codes.astype(np.int64)

    @property
    def targets(self) -> FloatArray:
        """The targets as numbers: for regressors."""
        return self.y.astype(np.float64)

    def largest_array(self, n_classes: int, statistics: int) -> int:
        """What a `Learner` with classes takes as the largest array of one set.

        The rows, the statistics, or a quarter of the scores of all test rows for all classes.
        """
        return max(len(self.X), len(self.X_test) * max(n_classes // 4, 1), statistics)


def data(X: object, y: object, X_test: object) -> Data:  # noqa: N803
    """The data as arrays; whoever asks has checked that they fit together.

    Examples
    --------
    >>> data([[0.0], [1.0]], ["a", "b"], [[2.0]]).classes
    (array(['a', 'b'], dtype='<U1'), array([0, 1]))
    """
    return Data(_features(X, "X"), np.asarray(y), _features(X_test, "X_test"))


def _features(X: object, name: str) -> FloatArray:  # noqa: N803
    if hasattr(X, "tocoo"):
        raise NotVectorisedError(f"{name} is a sparse matrix: give a dense one, X.toarray()")
    features = real_numbers(X, name, NotVectorisedError)
    if features.ndim != 2:
        raise InputError(f"{name} must have two axes, rows and features, not {features.ndim}")
    if not np.isfinite(features).all():
        raise NotVectorisedError(f"{name} holds NaN or infinite values")
    return features


def refuse_unless(model: object, name: str, allowed: Collection[object]) -> None:
    """A NotVectorisedError when a parameter has none of the allowed values.

    A parameter that this version of scikit-learn does not have is no obstacle.
    """
    if not hasattr(model, name):
        return
    value = getattr(model, name)
    # Not `in`: an array has no single truth, and 0 is not False here.
    if not any(value is choice for choice in allowed) and not (
        isinstance(value, str) and value in allowed
    ):
        known = " or ".join(repr(choice) for choice in allowed)
        raise NotVectorisedError(
            f"{type(model).__name__}({name}={value!r}): only {known} is vectorised"
        )


def number(model: object, name: str, *, positive: bool = False) -> float:
    """A parameter that is a finite number of at least 0, or above, or a NotVectorisedError."""
    value = getattr(model, name)
    if is_real(value) and 0 <= value < np.inf and not (positive and value == 0):
        return float(value)
    limit = "above 0" if positive else "of at least 0"
    raise NotVectorisedError(
        f"{type(model).__name__}({name}={value!r}): only a finite number {limit} is vectorised"
    )


def switch(model: object, name: str) -> bool:
    """A parameter that is True or False, or a NotVectorisedError."""
    refuse_unless(model, name, (True, False))
    return bool(getattr(model, name))
