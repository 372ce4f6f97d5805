"""A model of scikit-learn that is trained on the rows that are worth it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_X_y, column_or_1d, validate_data

from fairshapley._basics import checks
from fairshapley._basics.arguments import known_names
from fairshapley._basics.frames import read_frame
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.games.data.data_game import DataGame
from fairshapley.games.data.fitting import weight_parameter
from fairshapley.games.data.rows import Rows, read_rows
from fairshapley.runs.calls import estimate
from fairshapley.uses.nearest_neighbours import knn_shapley


def _of_model(method: str) -> Any:
    """A method that asks the fitted model, there where the model has it."""

    def there(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)  # an AttributeError names it
        return True

    def asked(self: Any, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self)
        return getattr(self.estimator_, method)(X)

    asked.__name__ = method  # scikit-learn picks a method by it
    asked.__doc__ = f"`{method}` of the fitted model."
    return available_if(there)(asked)


class ValuedEstimator(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A model that is fitted to the rows of high value, or with weights by their values.

    The rows are valued on each other: they are dealt into folds, and the rows of all other folds
    are valued on each fold in turn. A row is compared with the rows of its own class there, so that
    a rare class is not taken for a harmful one, and the best row of a class always stays.

    Parameters
    ----------
    estimator
        The model, a classifier or a regressor; pipelines too.
    values
        "knn": the exact values for 5 nearest neighbours, of features that are scaled to spread 1;
        for numbers without gaps. "model": the values for the model itself, estimated; for all that
        it can be fitted to. Or a function ``values(X, y, X_test, y_test)`` that gives a result or
        one number for each row of X.
    use
        "select" fits without the rows of lowest value. "weight" fits to all rows; the weight of
        each is its rank by value, with mean 1, times the weight that is given.
    drop
        The share of rows to leave out, with "select".
    folds
        The number of folds.
    budget
        For values="model": the evaluations in each fold, as in `estimate`.
    seed
        Fixes the folds and the draws.

    Attributes
    ----------
    estimator_
        The fitted model.
    row_values_
        How much more each row is worth than the median of its class (for numbers, of all rows),
        the mean over the folds that it was valued on.
    row_weights_
        What each row counts by its value: 0 or 1 with "select".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> wrong = np.where(np.arange(150) % 10 == 0, (y + 1) % 3, y)
    >>> model = ValuedEstimator(LogisticRegression(max_iter=1000), drop=0.1).fit(X, wrong)
    >>> int((model.row_weights_[::10] == 0).sum())  # of the 15 wrong ones
    13
    >>> model.score(X, y) > 0.95
    True
    """

    @known_names
    def __init__(
        self,
        estimator: Any,
        *,
        values: Literal["knn", "model"] | Callable[..., Any] = "knn",
        use: Literal["select", "weight"] = "select",
        drop: float = 0.1,
        folds: int = 5,
        budget: Any = None,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.values = values
        self.use = use
        self.drop = drop
        self.folds = folds
        self.budget = budget
        self.seed = seed

    def fit(self, X: Any, y: Any, **fit_params: Any) -> ValuedEstimator:  # noqa: N803
        """Value the rows, then fit the model; parameters such as sample_weight go to the model."""
        checks.choice("use", self.use, ("select", "weight"))
        share = checks.real("drop", self.drop, least=0, below=1)
        X = read_frame(X)  # noqa: N806
        validate_data(self, X=X, y=y, skip_check_array=True)
        if isinstance(self.values, str) and self.values == "knn":
            check_X_y(X, y, accept_sparse="csr", ensure_min_samples=2, estimator=self)
        else:
            clone(self.estimator).fit(X, y)  # it knows best what it cannot be fitted to
        rows = read_rows((X, column_or_1d(y, warn=True)), "the data")
        groups = rows.y if is_classifier(self.estimator) else np.zeros(len(rows))
        self.row_values_ = self._values(rows, groups)
        protected = self.row_values_.copy()
        for group in np.unique(groups):
            best = np.argmax(np.where(groups == group, self.row_values_, -np.inf))
            protected[best] = np.inf
        rank, n_rows = rankdata(protected, method="ordinal"), len(rows)
        params = self._routed("fit", fit_params)
        if self.use == "select":
            dropped = min(int(share * n_rows), int(np.isfinite(protected).sum()))
            kept = np.flatnonzero(rank > dropped)
            self.row_weights_ = (rank > dropped).astype(np.float64)
            params = {name: _some(given, kept, n_rows) for name, given in params.items()}
            rows = rows.take(kept)
        else:
            self.row_weights_ = 2 * rank / (n_rows + 1)
            routing = get_config()["enable_metadata_routing"]
            name = "sample_weight" if routing else weight_parameter(self.estimator)
            given = params.get(name)
            params = {**params, name: self.row_weights_ * (1.0 if given is None else given)}
        self.estimator_ = clone(self.estimator).fit(rows.X, rows.y, **params)
        return self

    def _values(self, rows: Rows, groups: NDArray[Any]) -> FloatArray:
        """What each row is worth beside its group: the mean over the folds that it is not in."""
        if len(rows) < 2:
            raise InputError("1 sample cannot be valued on others: give at least 2 rows")
        folds = min(checks.whole("folds", self.folds, least=2), len(rows))
        dealt = KFold(folds, shuffle=True, random_state=self.seed)
        if np.unique(groups, return_counts=True)[1].min() >= folds:
            dealt = StratifiedKFold(folds, shuffle=True, random_state=self.seed)
        total = np.zeros(len(rows))
        for train, test in dealt.split(groups[:, None], groups):
            given, held = rows.take(train), rows.take(test)
            found = self._valued(given.X, given.y, held.X, held.y)
            found = checks.vector(getattr(found, "values", found), "values")
            if len(found) != len(train):
                raise InputError(
                    f"values must be one number for each of the {len(train)} rows, not {len(found)}"
                )
            for group in np.unique(groups[train]):
                alike = groups[train] == group
                total[train[alike]] += found[alike] - np.median(found[alike])
        return total / (folds - 1)

    def _valued(self, X: Any, y: Any, X_test: Any, y_test: Any) -> Any:  # noqa: N803
        if callable(self.values):
            return self.values(X, y, X_test, y_test)
        classes = is_classifier(self.estimator)
        if checks.choice("values", self.values, ("knn", "model")) == "model":
            metric = "accuracy" if classes else "neg_mse"
            game = DataGame(self.estimator, (X, y), (X_test, y_test), metric, unfittable="constant")
            return estimate(game, budget=self.budget, seed=self.seed, progress=False)
        scale = StandardScaler(with_mean=False).fit(X)
        X, X_test = scale.transform(X), scale.transform(X_test)  # noqa: N806
        if classes:
            return knn_shapley(X, y, X_test, y_test)
        return knn_shapley(X, y - y.mean(), X_test, y_test - y.mean(), task="regression")

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What the model's own method is given."""
        if not get_config()["enable_metadata_routing"]:
            return params
        return dict(process_routing(self, method, **params)["estimator"][method])

    def get_metadata_routing(self) -> MetadataRouter:
        """What scikit-learn hands on to the model."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="score", callee="score")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    @property
    def classes_(self) -> Any:
        """The classes of the fitted model."""
        return self.estimator_.classes_

    predict = _of_model("predict")
    predict_proba = _of_model("predict_proba")
    decision_function = _of_model("decision_function")

    def score(self, X: Any, y: Any, **params: Any) -> float:  # noqa: N803
        """The score of the fitted model."""
        check_is_fitted(self)
        return float(self.estimator_.score(X, y, **self._routed("score", params)))

    def __sklearn_tags__(self) -> Any:
        """As the model, for one target; nearest neighbours need numbers without gaps."""
        tags = get_tags(self.estimator)
        tags.target_tags.multi_output = False
        tags.target_tags.required = True
        tags.input_tags.allow_nan &= self.values != "knn"
        return tags


def _some(given: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
    """The entries of some rows, of what has one for each."""
    one_each = hasattr(given, "__len__") and not isinstance(given, str) and len(given) == n_rows
    return np.asarray(given)[rows] if one_each else given
