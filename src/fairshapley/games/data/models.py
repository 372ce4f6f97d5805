"""Models of scikit-learn's kind: what they predict, and how their fits are made to repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline

from fairshapley._basics import checks
from fairshapley.errors import InputError

Task: TypeAlias = Literal["classifier", "regressor", "other"]

# Given to models that would draw their random numbers afresh in every fit.
DEFAULT_SEED = 0


def task_of(model: Any) -> Task:
    """What a model predicts, or an InputError when it is no unfitted model of scikit-learn's kind.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> task_of(Ridge())
    'regressor'
    """
    if isinstance(model, type):
        raise InputError(f"model is the class {model.__name__}: give an instance of it")
    if not callable(getattr(model, "fit", None)) or not hasattr(model, "get_params"):
        raise InputError(
            f"model must be a scikit-learn estimator with fit and get_params, not "
            f"{type(model).__name__}: derive it from sklearn.base.BaseEstimator"
        )
    try:
        clone(model)
        if is_classifier(model):
            return "classifier"
        return "regressor" if is_regressor(model) else "other"
    except (AttributeError, RuntimeError, TypeError) as error:
        raise InputError(
            f"scikit-learn cannot clone {type(model).__name__} ({error}): derive it from "
            "sklearn.base.BaseEstimator, and let __init__ store its arguments as they are"
        ) from error


def check_seeds(seeds: Any) -> tuple[int, ...] | None:
    """The seeds to average over: those given, or the first ones, as many as asked for.

    Examples
    --------
    >>> check_seeds(3)
    (0, 1, 2)
    """
    if seeds is None:
        return None
    if not isinstance(seeds, Iterable):
        seeds = range(checks.whole("seeds", seeds, remedy="give a count, or a list of seeds"))
    # The seeds that numpy's RandomState takes.
    listed = tuple(checks.whole("a seed", seed, least=0, most=2**32 - 1) for seed in seeds)
    if not listed or len(set(listed)) < len(listed):
        raise InputError(f"seeds must be at least one, each of them given once, not {seeds!r}")
    return listed


def prepare(model: Any, seeds: Sequence[int] | None) -> tuple[Any, ...]:
    """Copies of a model whose fits repeat: one for each seed, or one that keeps its own.

    ``random_state`` is set at every depth (steps, inner models). Without seeds one that is None
    becomes 0. ``n_jobs`` becomes one job: threads add in no fixed order, and it is the coalitions
    that are worth spreading over processors.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> [one.random_state for one in prepare(DecisionTreeClassifier(), [3, 5])]
    [3, 5]
    """
    model = clone(model)
    parameters = model.get_params(deep=True)
    for name, value in parameters.items():
        shuffles = getattr(value, "shuffle", True) and not hasattr(value, "get_params")
        if shuffles and getattr(value, "random_state", 0) is None:
            raise InputError(
                f"{name} of the model, {value!r}, draws at random in every fit: give it a "
                "random_state"
            )
    for name in _named(parameters, "n_jobs"):
        owner = parameters.get(name.rpartition("__")[0], model)
        # None is one job in scikit-learn, and all processors in LightGBM.
        own = type(owner).__module__.startswith("sklearn.")
        model.set_params(**{name: None if own else 1})
    states = _named(parameters, "random_state")
    if seeds is None:
        unset = [name for name in states if parameters[name] is None]
        return (model.set_params(**dict.fromkeys(unset, DEFAULT_SEED)),)
    if not states:
        raise InputError(
            f"seeds is given, and {type(model).__name__} has no random_state: leave seeds out, or "
            "give the model a parameter random_state that it seeds itself with"
        )
    return tuple(clone(model).set_params(**dict.fromkeys(states, seed)) for seed in seeds)


def _named(parameters: dict[str, Any], ending: str) -> list[str]:
    return [name for name in parameters if name.rpartition("__")[2] == ending]


def needs_more_rows_than_classes(model: Any) -> bool:
    """Whether a model refuses one row of each class: a linear discriminant analysis does.

    Examples
    --------
    >>> needs_more_rows_than_classes(LinearDiscriminantAnalysis())
    True
    """
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return isinstance(model, LinearDiscriminantAnalysis)
