"""Which metric a user means, and what follows from it: the value of no rows, the range."""

from __future__ import annotations

import math
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from fairshapley._basics import checks
from fairshapley._basics.text import near_miss
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.data.fitting import Task
from fairshapley.games.data.scoring import METRICS, Metric, Scorer
from fairshapley.games.learners.learner import Predicted

# A scorer judges a model once for each group.
SCORER_GROUPS = 10


def read_score(
    metric: str | Scorer,
    model: Any,
    task: Task,
    targets: IntArray | FloatArray,
    classes: NDArray[Any] | None,
    weights: FloatArray | None = None,
) -> Metric | Scorer:
    """Return a metric of this package, or a scorer, from what the user calls it.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> read_score("r2", Ridge(), "regressor", np.array([1.0, 2.0]), None).kind
    'value'
    """
    if isinstance(metric, str) and (name := metric_name(metric)) is not None:
        if task == "other":
            raise InputError(
                f"{type(model).__name__} says neither that it is a classifier nor that it is a "
                "regressor: derive it from ClassifierMixin or RegressorMixin, or give a function "
                "scorer(model, X, y) as metric"
            )
        return make_metric(name, model, targets, 0 if classes is None else len(classes), weights)
    scorer = _scorer(metric)
    if weights is not None and not takes_weights(scorer):
        raise InputError(
            "this scorer takes no weights of test rows: leave them out, or weigh within a function "
            "scorer(model, X, y)"
        )
    return scorer


def _scorer(metric: Any) -> Scorer:
    """Return a scorer of scikit-learn by its name, or one's own."""
    if isinstance(metric, str):
        if metric in get_scorer_names():
            return get_scorer(metric)
        raise InputError(
            f"unknown metric {metric!r}",
            remedy=f"use {', '.join(map(repr, METRICS))}, 'log_loss', another "
            "name of a scorer of scikit-learn, or a function of (y, predictions)"
            + near_miss(metric, [*METRICS, *get_scorer_names()]),
        )
    if isinstance(metric, type) or not callable(metric):
        raise InputError(
            "must be a name or a function of (y, predictions) or (model, X, y)",
            parameter="metric",
            received=metric,
        )
    if isinstance(metric, FunctionType) and str(metric.__module__).startswith("sklearn.metrics."):
        raise InputError(
            f"{metric.__name__} is not a scorer(model, X, y): give "
            f"sklearn.metrics.make_scorer({metric.__name__})"
        )
    # (y, predictions), as most people write a metric of their own; more is better.
    return (
        make_scorer(metric) if isinstance(metric, FunctionType) and _takes_two(metric) else metric
    )


def _takes_two(metric: FunctionType) -> bool:
    """Return whether a function has two parameters without defaults.

    Examples
    --------
    >>> _takes_two(lambda y, predictions: 0.0), _takes_two(lambda model, x, y: 0.0)
    (True, False)
    """
    given = [one for one in signature(metric).parameters.values() if one.default is one.empty]
    return len(given) == 2 and all(one.kind is not one.VAR_POSITIONAL for one in given)


def takes_weights(scorer: Scorer) -> bool:
    """Return whether a scorer of scikit-learn can be told how much each test row counts.

    Examples
    --------
    >>> takes_weights(get_scorer("recall")), takes_weights(get_scorer("neg_max_error"))
    (True, False)
    """
    function = getattr(scorer, "_score_func", None)
    return function is not None and "sample_weight" in signature(function).parameters


def most_groups(score: Metric | Scorer) -> int:
    """Return the most groups of test rows: 0 where a scorer takes no weights."""
    if isinstance(score, Metric):
        return score.most_groups
    return SCORER_GROUPS if takes_weights(score) else 0


# The utility of "log_loss" is minus the log loss, the mean log-likelihood; as that of "rmse".
_ALIASES = {
    "roc_auc": "auc",
    "log_loss": "log_likelihood",
    "mse": "neg_mse",
    "neg_mean_squared_error": "neg_mse",
    "neg_root_mean_squared_error": "rmse",
    "neg_mean_absolute_error": "mae",
}
_REGRESSION = ("r2", "rmse", "mae", "neg_mse")


def metric_name(name: str) -> str | None:
    """The metric of this module under a name of its own or of scikit-learn; None for no metric.

    Examples
    --------
    >>> metric_name("neg_mean_squared_error"), metric_name("recall")
    ('neg_mse', None)
    """
    known = _ALIASES.get(name, name)
    return known if known in METRICS else None


def make_metric(
    name: str,
    model: object,
    targets: IntArray | FloatArray,
    n_classes: int,
    weights: FloatArray | None = None,
) -> Metric:
    """Return the metric of a name for a model and the targets of the test rows.

    Parameters
    ----------
    name
        One of `METRICS`.
    model
        The scikit-learn model; it need not be fitted.
    targets, n_classes, weights
        As in `Metric`.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> make_metric("auc", GaussianNB(), np.array([0, 1]), 2).kind
    'probability'
    """
    if (name in _REGRESSION) == (n_classes > 0):
        asked, given = ("numbers", "classes") if n_classes else ("classes", "numbers")
        fitting = ", ".join(
            repr(one) for one in METRICS if (one in _REGRESSION) == (n_classes == 0)
        )
        raise InputError(
            f"{name} is for {asked}, and {type(model).__name__} predicts {given}: use {fitting}"
        )
    unseen = targets[targets >= n_classes] if n_classes else ()
    if len(unseen) and name in ("auc", "log_likelihood"):
        raise InputError(
            f"{len(unseen)} test rows have classes that no training row has, which have no "
            f"probability: leave them out for {name}, or use 'accuracy' or 'f1', where they always "
            "count as wrong"
        )
    counted = targets if weights is None else targets[weights > 0]
    if name == "auc" and len(np.unique(counted)) < 2:
        raise InputError("all test rows have one class, so that there is no AUC: use 'accuracy'")
    if name == "f1" and n_classes == 2 and counted.max() == 0:
        raise InputError(
            "no test row has the second of both classes, which F1 looks for, so that it is 0 "
            "whatever was learnt: use 'accuracy', or other test rows"
        )
    if name == "r2" and np.ptp(counted) == 0:
        raise InputError("all test targets are equal, so that there is no r2: use 'neg_mse'")
    kind = _kind(name, model, n_classes)
    if kind == "probability" and not hasattr(model, "predict_proba"):
        raise InputError(
            f"{name} needs probabilities, and {type(model).__name__} has no predict_proba: use "
            "another metric, or wrap it in CalibratedClassifierCV"
        )
    return METRICS[name](targets, n_classes, kind, weights)


def _kind(name: str, model: object, n_classes: int) -> Predicted:
    """Return what a metric is computed from."""
    if name in _REGRESSION:
        return "value"
    if name in ("accuracy", "f1"):
        return "label"
    # As scikit-learn's scorer: probabilities saturate, where decisions still tell rows apart.
    decides = name == "auc" and n_classes == 2 and hasattr(model, "decision_function")
    return "decision" if decides else "probability"


def value_of_no_rows(given: float | None, constant: float | None, *, has_base: bool) -> float:
    """Return the utility of no rows; NaN where some are always there.

    Parameters
    ----------
    given
        What the user says; by default it is the score of the best constant prediction tried.
    constant
        That score; None where it cannot be computed.
    has_base
        Whether some rows are always there.
    """
    if has_base:
        if given is not None:
            raise InputError("the rows of base are always there", remedy="leave {empty_value} out")
        return math.nan
    if given is not None:
        return checks.real("empty_value", given)
    if constant is None:
        raise InputError(
            "the scorer gives no number for a constant prediction, so that it cannot tell what no "
            "training rows are worth",
            remedy=("give {empty_value}", "give rows that are always there with {base}"),
        )
    return constant


def range_of_values(
    given: tuple[float, float] | None, score: Metric | Scorer, empty: float
) -> tuple[float, float] | None:
    """Return the lowest and the highest utility, where they are known."""
    if given is not None:
        lowest, highest = checks.utility_range(given)
        if empty < lowest or empty > highest:
            raise InputError(
                f"no rows are worth {empty:.6g}, outside value_range {given!r}",
                remedy=(
                    "give a {value_range} that holds every utility",
                    "give another {empty_value}",
                ),
            )
        return lowest, highest
    known = score.value_range if isinstance(score, Metric) else None
    if known is None or math.isnan(empty):
        return known
    return min(known[0], empty), max(known[1], empty)
