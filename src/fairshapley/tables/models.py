"""Models by name, or by the place they are imported from."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from fairshapley._basics.text import near_miss, one_line
from fairshapley.errors import InputError

Task: TypeAlias = Literal["classification", "regression"]
TASKS = get_args(Task)

MODELS = ("logistic", "ridge", "knn", "svc", "random-forest")
"""Names of models; each but logistic regression has a form for classes and one for numbers"""

DEFAULT_MODEL: dict[Task, str] = {"classification": "logistic", "regression": "ridge"}

# Regressors whose predictions move with the target: its units change nothing else. What others
# learn depends on the size of the target, by a penalty or a margin. Whoever builds a pipeline or a
# transformed target has the target in mind.
OF_ANY_SCALE = {
    "LinearRegression", "Ridge", "KNeighborsRegressor", "RadiusNeighborsRegressor",
    "DecisionTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor", "Pipeline",
    "TransformedTargetRegressor",
}  # fmt: skip


def make_model(name: Any, task: Task) -> Any:
    """Return the model of a name, for classes or for numbers.

    Parameters
    ----------
    name
        One of `MODELS`, "package:estimator" (a class or an object of scikit-learn's kind), or such
        an object, which is returned as it is.
    task
        What is to be predicted.

    Examples
    --------
    >>> make_model("ridge", "classification")
    RidgeClassifier()
    >>> make_model("sklearn.naive_bayes:GaussianNB", "classification")
    GaussianNB()
    """
    from sklearn import ensemble, linear_model, neighbors, svm

    if not isinstance(name, str):
        return name
    if ":" in name:
        return imported_object(name, "model")
    forest = {"n_estimators": 50, "random_state": 0}
    forms: dict[str, tuple[Any, Any]] = {
        "logistic": (linear_model.LogisticRegression(max_iter=1000), None),
        "ridge": (linear_model.RidgeClassifier(), linear_model.Ridge()),
        "knn": (neighbors.KNeighborsClassifier(), neighbors.KNeighborsRegressor()),
        "svc": (svm.SVC(), svm.SVR()),
        "random-forest": (
            ensemble.RandomForestClassifier(**forest),
            ensemble.RandomForestRegressor(**forest),
        ),
    }
    if name not in forms:
        raise InputError(
            f"unknown model {name!r:.60}: use {', '.join(MODELS)}, or 'package:estimator' such as "
            f"sklearn.naive_bayes:GaussianNB{near_miss(name, MODELS)}"
        )
    model = forms[name][TASKS.index(task)]
    if model is None:
        raise InputError(
            "logistic regression is for classes", remedy="give {model:'ridge'} for numbers"
        )
    return model


def imported_object(place: str, what: str) -> Any:
    """Return what is at "package.module:name"; a class is called without arguments.

    Importing runs the code of the module. A module in the current folder is found too, after all
    that is installed: nothing there can take the place of an installed module.

    Examples
    --------
    >>> imported_object("math:sqrt", "utility")(4.0)
    2.0
    """
    module_name, _, attribute = place.partition(":")
    if not module_name or not attribute:
        kind = "estimator" if what == "model" else "function"
        raise InputError(f"{what} {place!r:.80} must be 'package:{kind}', both given")
    try:
        if importlib.util.find_spec(module_name.partition(".")[0]) is None:
            sys.path.append(str(Path.cwd()))  # stays there: workers import it again
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found() if isinstance(found, type) else found
    except (Exception, SystemExit) as error:  # whatever the code of the module raises
        reason = one_line(f"{type(error).__name__}: {error}", 160)
        raise InputError(
            f"cannot import the {what} {place!r:.80} ({reason}): check the name, and that it "
            "is installed or in this folder"
        ) from error
