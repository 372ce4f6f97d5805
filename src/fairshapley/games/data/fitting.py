"""scikit-learn's models, fitted to one set of rows at a time and scored on the test rows.

Beside them the constant predictions: the same answer for every test row.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.data.rows import Rows
from fairshapley.games.data.scoring import Metric, Scorer, TestGroups
from fairshapley.games.learners.arrays import Array

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
            f"must be a scikit-learn estimator with fit and get_params, not {type(model).__name__}",
            parameter="model",
            remedy="derive it from sklearn.base.BaseEstimator",
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
    """Return the seeds to average over: those given, or the first ones, as many as asked for.

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
    """Return copies of a model whose fits repeat: one for each seed, or one with its own.

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


def as_number(score: object) -> float:
    """Return what a scorer returned, as a float."""
    array = np.asarray(score)
    if array.ndim or array.dtype.kind not in "fiub":
        raise TypeError(f"the scorer returned {score!r:.60}, which is not a number")
    return float(array)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the warnings of fits, predictions and scores.

    A utility is the score of what `fit` gives, converged or not; among thousands of small sets of
    rows some are always ill-conditioned. What will change in a library is still said.
    """
    with warnings.catch_warnings():
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)
        yield


@dataclass(eq=False)
class Fitter:
    """The utility of sets of training rows, by `fit` and a metric or a scorer.

    Parameters
    ----------
    models
        Copies of the model that differ in their seeds; the utility is the mean over them.
    rows, test
        All training rows and the test rows.
    classes
        The sorted classes of the training rows; None for what is no classifier.
    score
        A metric, or a scorer ``scorer(model, X, y)``.
    constant
        Whether a set of rows that the model refuses counts as a constant prediction.
    groups
        Groups of test rows, for scores without one of them.

    Scores come as arrays: the score itself, and where it is to be `wide` those without one group of
    test rows after the other.
    """

    models: tuple[Any, ...]
    rows: Rows
    test: Rows
    classes: NDArray[Any] | None
    score: Metric | Scorer
    constant: bool
    groups: TestGroups

    def __post_init__(self) -> None:
        self.neighbours = _neighbours(self.models[0])

    def utility(self, rows: IntArray, *, wide: bool = False) -> FloatArray:
        """Return the mean score over the seeds; the rows hold at least two classes."""
        chosen = self.rows.take(rows)
        scores = [self._one(model, chosen, wide=wide) for model in self.models]
        return np.mean(scores, axis=0)

    def _one(self, model: Any, chosen: Rows, *, wide: bool) -> FloatArray:
        try:
            fitted = self.fit(model, chosen)
        except ValueError:
            # An error that all rows bring as well is not one of too few.
            if self.constant and self._fits_all:
                return self._constant_of(chosen, wide=wide)
            raise
        if isinstance(self.score, Metric):
            return self._scores(self._predict(fitted, self.score), wide=wide)
        known = self.classes is None or len(getattr(fitted, "classes_", ())) == len(self.classes)
        judged = fitted if known and not wide else Judged(fitted, self.classes)
        return self._scores(judged, wide=wide)

    def measured(self, predictions: Array, *, wide: bool) -> FloatArray:
        """Return the scores of many models by their predictions, a row for each."""
        assert isinstance(self.score, Metric)  # noqa: S101 - a scorer looks at models
        scores = self.score.score(predictions)[:, None]
        if not wide:
            return scores
        return np.hstack([scores, self.score.left_out(predictions, self.groups)])

    def _scores(self, judged: Any, *, wide: bool) -> FloatArray:
        """Return the scores of one model: by its predictions, or for a scorer by itself."""
        if isinstance(self.score, Metric):
            return self.measured(judged, wide=wide)[0]
        weights = [self.test.weights]
        if wide:
            weights += self.groups.weights(self.test.weights)
        return np.array([self._scored(judged, each) for each in weights])

    def fit(self, model: Any, chosen: Rows) -> Any:
        """Return a copy of the model fitted to some rows; k nearest are at most all of them."""
        model = clone(model)
        few = {name: len(chosen) for name, k in self.neighbours.items() if k > len(chosen)}
        model.set_params(**few)
        if chosen.weights is None:
            return model.fit(chosen.X, chosen.y)
        return model.fit(chosen.X, chosen.y, **{weight_parameter(model): chosen.weights})

    def _scored(self, model: Any, weights: FloatArray | None) -> float:
        """What the scorer says of a model, with weights of the test rows if there are any."""
        weighted = {} if weights is None else {"sample_weight": weights}
        scorer: Any = self.score
        return as_number(scorer(model, self.test.X, self.test.y, **weighted))

    @functools.cached_property
    def _fits_all(self) -> bool:
        try:
            self.fit(self.models[0], self.rows)
        except ValueError:
            return False
        return True

    def _predict(self, fitted: Any, metric: Metric) -> NDArray[Any]:
        """Return what the metric needs, as a vectorised learner would give it for one model."""
        features = self.test.X
        if metric.kind == "value":
            return np.asarray(fitted.predict(features), dtype=np.float64).reshape(1, -1)
        if metric.kind == "decision":
            return np.asarray(fitted.decision_function(features)).reshape(1, -1)
        if metric.kind == "probability":
            return np.asarray(Judged(fitted, self.classes).predict_proba(features))[None]
        return _indices(fitted.predict(features), self.classes)[None]

    def constant_score(
        self, frequencies: FloatArray | None = None, mean: float = 0.0, *, wide: bool = False
    ) -> FloatArray:
        """The score of predicting classes with these frequencies, or a number, for every row."""
        if isinstance(self.score, Metric):
            return self._scores(self.score.same_for_all(frequencies, mean), wide=wide)
        same = np.zeros((1 if frequencies is None else len(frequencies), 1))
        if frequencies is None:
            model = DummyRegressor(strategy="constant", constant=mean).fit(same, [mean])
        else:
            model = DummyClassifier().fit(same, self.classes, sample_weight=frequencies)
        return self._scores(model, wide=wide)

    def best_constant(self, *, wide: bool = False) -> FloatArray | None:
        """Return the best score of one and the same prediction for every test row.

        It looks at the answers of the test rows, as whoever owns them can, and at no training row.
        For a scorer it is the score of the classes' frequencies, or of the mean; None where it
        gives no number for such a prediction.
        """
        if isinstance(self.score, Metric):
            return self._scores(self.score.best_prediction(), wide=wide)
        if task_of(self.models[0]) == "other":
            return None
        try:
            with quiet():
                score = self._constant_of(self.test, wide=wide)
        except Exception:  # whatever a scorer misses in a model that has learnt nothing
            return None
        return score if np.isfinite(score[0]) else None

    def _constant_of(self, chosen: Rows, *, wide: bool) -> FloatArray:
        """Return the score of the constant prediction of some rows."""
        if self.classes is None:
            mean = float(np.average(chosen.y, weights=chosen.weights))
            return self.constant_score(mean=mean, wide=wide)
        weights = np.ones(len(chosen)) if chosen.weights is None else chosen.weights
        counts = np.array([weights[chosen.y == label].sum() for label in self.classes])
        return self.constant_score(counts / counts.sum(), wide=wide)


class Judged(BaseEstimator):  # type: ignore[misc]
    """A fitted model as scorers see it: it knows all classes, and predicts the test rows once.

    Classes that it has not seen have a column of zeros in its probabilities, as scorers want one
    for each class of the test rows. Its decisions have none, so that there are no decisions then.
    """

    def __init__(self, model: Any, classes: Any) -> None:
        self.model, self.classes = model, classes
        self._known: dict[str, Any] = {}

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("model", "classes", "_known"):
            raise AttributeError(name)
        seen: Any = getattr(self.model, "classes_", self.classes)
        all_seen = self.classes is None or len(seen) == len(self.classes)
        if name == "classes_" and self.classes is not None:
            return self.classes
        if name == "decision_function" and not all_seen:
            raise AttributeError(name)
        found = getattr(self.model, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return found

        def once(features: Any) -> Any:
            if name not in self._known:
                predicted = found(features)
                if name == "predict_proba" and not all_seen:
                    padded = np.zeros((len(predicted), len(self.classes)))
                    padded[:, np.searchsorted(self.classes, seen)] = predicted
                    predicted = padded
                self._known[name] = predicted
            return self._known[name]

        once.__name__ = name  # scikit-learn looks at it
        return once


def weight_parameter(model: Any) -> str:
    """Return how `fit` of a model takes the weights of rows; raise InputError when it takes none.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameter(make_pipeline(Ridge()))
    'ridge__sample_weight'
    """
    path, last = "", model
    while isinstance(last, Pipeline):
        name, last = last.steps[-1]
        path += f"{name}__"
    inner = last.regressor if isinstance(last, TransformedTargetRegressor) else last
    if not has_fit_parameter(inner, "sample_weight"):
        raise InputError(
            f"{type(inner).__name__} takes no weights of rows: use another model, or leave the "
            "weights of the training rows out"
        )
    return f"{path}sample_weight"


def _indices(labels: Any, classes: Any) -> IntArray:
    """Return the place of each label among the sorted classes, −1 for labels outside them."""
    predicted = np.asarray(labels).reshape(-1)
    places = np.minimum(np.searchsorted(classes, predicted), len(classes) - 1)
    return np.where(classes[places] == predicted, places, -1)


def _neighbours(model: Any) -> dict[str, int]:
    """Return the parameters that hold the k of nearest neighbours, at every depth."""
    found = {}
    for name, part in {"": model, **model.get_params(deep=True)}.items():
        nearest = isinstance(part, KNeighborsClassifier | KNeighborsRegressor)
        if nearest and isinstance(part.n_neighbors, int | np.integer):
            found[f"{name}__n_neighbors".removeprefix("__")] = int(part.n_neighbors)
    return found
