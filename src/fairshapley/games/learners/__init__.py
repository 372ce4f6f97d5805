"""Learners that fit one model to many sets of rows at once, on numpy or torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline

from fairshapley.games.learners.arrays import Backend, backend
from fairshapley.games.learners.learner import (
    Data,
    Learner,
    NotVectorisedError,
    Predicted,
    data,
)
from fairshapley.games.learners.logistic import LogisticLearner
from fairshapley.games.learners.moments import (
    NaiveBayesLearner,
    RidgeClassifierLearner,
    RidgeLearner,
)
from fairshapley.games.learners.neighbours import (
    NeighboursClassifierLearner,
    NeighboursRegressorLearner,
)

__all__ = ["Learner", "NotVectorisedError", "Predicted", "batch_learner"]

# By exact type: a subclass may do anything.
_LEARNERS: dict[type, Callable[[Any, Data, Backend], Learner]] = {
    LogisticRegression: LogisticLearner,
    Ridge: RidgeLearner,
    RidgeClassifier: RidgeClassifierLearner,
    KNeighborsClassifier: NeighboursClassifierLearner,
    KNeighborsRegressor: NeighboursRegressorLearner,
    GaussianNB: NaiveBayesLearner,
}


def batch_learner(
    model: object,
    X: object,  # noqa: N803
    y: object,
    X_test: object,  # noqa: N803
    *,
    device: str | None = None,
    dtype: str | None = None,
) -> Learner:
    """Return the learner that fits a scikit-learn model to many sets of rows at once.

    It predicts what the model, fitted to each set of rows, would. Where scikit-learn's solver stops
    at a tolerance (logistic regression), the learner goes on to the minimum; so it agrees with
    scikit-learn at a tight `tol`. It computes in `dtype` whatever the type of the features.

    Parameters
    ----------
    model
        An unfitted model: LogisticRegression (L2 penalty), Ridge, RidgeClassifier,
        KNeighborsClassifier, KNeighborsRegressor or GaussianNB.
    X, y
        All training rows that a set may hold, and one target for each.
    X_test
        The rows to predict.
    device
        None for numpy; "cpu", "cuda" or another device of torch.
    dtype
        "float64", the default, or "float32".

    Raises
    ------
    NotVectorisedError
        The model, one of its parameters or the data have no vectorised learner.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> learner = batch_learner(Ridge(2.0), [[-1.0], [1.0], [3.0]], [-1.0, 1.0, 3.0], [[3.0]])
    >>> learner.predict(np.array([[True, True, False], [False, True, True]]), "value")
    array([[1.5],
           [2.5]])
    """
    maker = _LEARNERS.get(type(model))
    if maker is None:
        raise NotVectorisedError(_why_not(model))
    return maker(model, data(X, y, X_test), backend(device, dtype))


def _why_not(model: object) -> str:
    name = type(model).__name__
    if isinstance(model, Pipeline):
        return (
            "a Pipeline fits its steps to each set of rows: to have one preprocessing for all, "
            "transform the rows first and give the last step"
        )
    for kind in _LEARNERS:
        if isinstance(model, kind):
            return f"{name} is a subclass of {kind.__name__} and may fit in another way"
    known = ", ".join(kind.__name__ for kind in _LEARNERS)
    return f"{name} has no vectorised learner; these have one: {known}"
