"""Vectorised learners against scikit-learn's loop: fits and predictions per second, in one run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import OneHotEncoder

from benchmarks.measure import Row
from fairshapley.games.learners import batch_learner
from fairshapley.tables import read_table
from fairshapley_paper.datasets import copy_path

N_ROWS = 100
N_TEST = 50
# Enough sets to fill several chunks; scikit-learn needs a few hundred to be averaged over sizes.
BATCHED_SETS = 4_000
LOOPED_SETS = 200
REPEATS = 3

Features = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A model, its data, and how many times faster than the loop it must be."""

    what: str
    model: Any
    load: Callable[[], tuple[Features, NDArray[Any]]]
    at_least: float | None = None


def gaussian() -> tuple[Features, NDArray[Any]]:
    """Return the paper's synthetic data: five features, P(y = 1) = sigmoid(2x₁ + x₂)."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(N_ROWS + N_TEST, 5))
    chances = 1.0 / (1.0 + np.exp(-2.0 * features[:, 0] - features[:, 1]))
    return features, (rng.random(len(features)) < chances).astype(np.int64)


def bundled(load: Callable[..., Any]) -> Callable[[], tuple[Features, NDArray[Any]]]:
    """Return a dataset of scikit-learn's, shuffled and standardised."""

    def loaded() -> tuple[Features, NDArray[Any]]:
        features, targets = load(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(targets))[: N_ROWS + N_TEST]
        features = features[order]
        return (features - features.mean(axis=0)) / features.std(axis=0), targets[order]

    return loaded


cancer, iris, diabetes = (bundled(load) for load in (load_breast_cancer, load_iris, load_diabetes))
CASES = [
    Case(
        "logistic, liblinear, 5 features",
        LogisticRegression(solver="liblinear", C=0.05),
        gaussian,
        100.0,
    ),
    Case("logistic, lbfgs, 5 features", LogisticRegression(), gaussian, 100.0),
    Case("logistic, lbfgs, 30 features", LogisticRegression(), cancer),
    Case("logistic, lbfgs, 3 classes, 4 features", LogisticRegression(), iris),
    Case("ridge, 10 features", Ridge(), diabetes, 100.0),
    Case("ridge, 30 features", Ridge(), cancer),
    Case("1 nearest neighbour, 30 features", KNeighborsClassifier(1), cancer, 100.0),
    Case("5 nearest neighbours, 30 features", KNeighborsClassifier(), cancer, 100.0),
    Case("5 nearest neighbours, regression", KNeighborsRegressor(), diabetes, 100.0),
    Case("Gaussian naive Bayes, 30 features", GaussianNB(), cancer, 50.0),
]


def random_sets(targets: NDArray[Any], count: int, classifier: bool) -> NDArray[np.bool_]:
    """Return sets of all sizes alike that scikit-learn can fit."""
    rng = np.random.default_rng(1)
    sets: list[NDArray[np.bool_]] = []
    while len(sets) < count:
        rows = np.zeros(N_ROWS, dtype=np.bool_)
        rows[rng.permutation(N_ROWS)[: rng.integers(5, N_ROWS + 1)]] = True
        if not classifier or 1 < len(np.unique(targets[rows])) < rows.sum():
            sets.append(rows)
    return np.array(sets)


def processor_seconds(run: Callable[[], object]) -> float:
    """Return the shortest of some runs, in time of the processor: others may use it too."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def microseconds(case: Case) -> tuple[float, float]:
    """Return the time for one set of rows, vectorised and in scikit-learn's loop."""
    features, targets = case.load()
    train, test, targets = features[:N_ROWS], features[N_ROWS:], targets[:N_ROWS]
    classifier = is_classifier(case.model)
    sets = random_sets(targets, BATCHED_SETS, classifier)
    learner = batch_learner(case.model, train, targets, test)
    batched = processor_seconds(lambda: learner.predict(sets, "label" if classifier else "value"))

    def loop() -> None:
        # Sets of all sizes: every 20th.
        for rows in sets[:: BATCHED_SETS // LOOPED_SETS]:
            clone(case.model).fit(train[rows], targets[rows]).predict(test)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        looped = processor_seconds(loop)
    return 1e6 * batched / BATCHED_SETS, 1e6 * looped / LOOPED_SETS


def adult() -> tuple[Features, NDArray[Any], Features]:
    """1000 rows of the adult table with 100 columns, categories one-hot, and as many test rows."""
    table = read_table(copy_path("adult"), max_rows=None)
    order = np.random.default_rng(0).permutation(table.num_rows)[:2000]
    *columns, income = (np.array(column.to_pylist())[order] for column in table.columns)
    numbers = np.column_stack([column for column in columns if column.dtype.kind in "if"])
    texts = np.column_stack([column for column in columns if column.dtype.kind == "U"])
    hot = OneHotEncoder(sparse_output=False).fit_transform(texts)
    features = np.hstack([(numbers - numbers.mean(axis=0)) / numbers.std(axis=0), hot])
    return features[:1000], (income == ">50K").astype(np.int64)[:1000], features[1000:]


def wide() -> Iterator[Row]:
    """Quasi-Newton steps against Newton's method: the same learner with one or the other."""
    train, targets, test = adult()
    rng = np.random.default_rng(1)
    # Sizes as the default method draws them: both ends more often than the middle.
    sets = rng.random((400, len(train))) < np.sin(rng.uniform(0, np.pi / 2, (400, 1))) ** 2
    sets = sets[[len(np.unique(targets[rows])) > 1 for rows in sets]]
    for model in (LogisticRegression(), LogisticRegression(solver="liblinear", C=0.1)):
        quick, newton = (batch_learner(model, train, targets, test) for _ in range(2))
        newton._by_size = newton._quasi = False  # type: ignore[attr-defined]
        labels = [learner.predict(sets, "label") for learner in (quick, newton)]
        differing = int((labels[0] != labels[1]).sum())
        times = [
            processor_seconds(partial(learner.predict, sets, "label"))
            for learner in (quick, newton)
        ]
        yield Row(
            f"logistic, {model.solver}, adult one-hot: 1000 rows × {train.shape[1]} columns",
            f"{1e6 * times[0] / len(sets):.0f} µs per coalition",
            f"{times[1] / times[0]:.1f} × Newton's method, {1e6 * times[1] / len(sets):.0f} µs; "
            f"goal 4 ×; {differing} of {labels[0].size:,} labels differ",
        )


def rows() -> Iterator[Row]:
    yield from wide()
    for case in CASES:
        batched, looped = microseconds(case)
        goal = "" if case.at_least is None else f"; goal {case.at_least:.0f} ×"
        yield Row(
            f"{case.what}: {N_ROWS} rows",
            f"{batched:.1f} µs per coalition",
            f"{looped / batched:.0f} × scikit-learn's loop, {looped:.0f} µs{goal}",
        )
