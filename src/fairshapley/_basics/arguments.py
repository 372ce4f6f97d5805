"""Arguments by the names that other packages give them: answered with ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from fairshapley._basics.text import near_miss
from fairshapley.errors import InputError

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

# What scikit-learn, shap, shapiq, pyDVL and OpenDataVal call it; our parameter with its form, or
# several, of which the first that a function has is meant.
_TABLE: tuple[tuple[str, dict[str, str]], ...] = (
    ("scoring scorer", {"metric": "metric='accuracy'"}),
    ("random_state random_seed rng", {"seed": "seed=0", "seeds": "seeds=1"}),
    ("n_jobs backend client", {"engine": "engine='processes', or 'processes:4'"}),
    ("n_workers max_workers", {"engine": "engine='processes:4'"}),
    (
        "n_samples nsamples num_samples n_iterations max_updates n_permutations npermutations "
        "num_permutations mc_epochs n_repeats",
        {"budget": "budget=1000, counted in evaluations"},
    ),
    ("max_evals n_evaluations n_evals", {"budget": "budget=1000"}),
    ("timeout max_time", {"budget": "budget=fs.Budget(seconds=60)"}),
    ("stopping is_done", {"until": "until=fs.Fair(epsilon1=0.5, delta=0.1)"}),
    ("approximator algorithm sampler", {"method": "method='adjusted'"}),
    ("index", {"semivalue": "semivalue='shapley'"}),
    ("verbose show_progress", {"progress": "progress=True"}),
    ("silent", {"progress": "progress=False"}),
    ("cache", {"journal": "journal='run.db'"}),
    ("n_neighbors k_neighbors", {"k": "k=5"}),
    ("estimator pred_model", {"model": "the model as the first argument"}),
    ("utility value_function", {"game": "the game as the first argument"}),
    (
        "data dataset X_train x_train y_train",
        {
            "X": "X, the rows as a matrix or a data frame",
            "train": "train=(X, y)",
            "game": "the game as the first argument",
        },
    ),
    (
        "X_valid x_valid y_valid x_test test_data",
        {"test": "test=(X, y)", "X_test": "X_test and y_test"},
    ),
    ("sample_weight", {"weights": "weights='column'", "train": "train=(X, y, weights)"}),
    ("default", {"empty_value": "empty_value=0.5"}),
    ("masker", {"background": "background=, rows or a masker of shap"}),
    ("imputer", {"kind": "kind='marginal'"}),
    ("sample_size", {"max_rows": "max_rows=100"}),
)
PEERS = {name: forms for names, forms in _TABLE for name in names.split()}
# Where a parameter is that a function does not have itself.
PLACES = {
    **dict.fromkeys(("metric", "model", "train", "test", "empty_value"), "fs.games.DataGame"),
    **dict.fromkeys(("X", "background", "kind", "max_rows"), "fs.games.FeatureGame"),
    "weights": "fs.table_game",
    "k": "fs.knn_shapley",
}


def known_names(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Answer an argument of an unknown name with an InputError that says what it is called here.

    Examples
    --------
    >>> @known_names
    ... def run(game, *, seed=None): ...
    >>> run(None, random_state=0)
    Traceback (most recent call last):
    ...
    fairshapley.errors.InputError: run has no argument random_state: use seed=0
    >>> run(None, scoring="f1")
    Traceback (most recent call last):
    ...
    fairshapley.errors.InputError: run has no argument scoring: use metric='accuracy' of ...
    """
    names = set(inspect.signature(function).parameters)
    called = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        for name in kwargs.keys() - names:
            raise InputError(f"{called} has no argument {name}{_answer(name, names)}")
        return function(*args, **kwargs)

    return checked


def _answer(name: str, names: set[str]) -> str:
    """What to use instead."""
    if name in PEERS:
        forms = list(PEERS[name].items())
        own, form = next((one for one in forms if one[0] in names), forms[0])
        where = "" if own in names else f" of {PLACES.get(own, 'fs.estimate')}"
        return f": use {form}{where}"
    likely = near_miss(name, sorted(names))
    return likely or f": it takes {', '.join(sorted(names - {'self'}))}"
