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

# What scikit-learn, shap, shapiq, pyDVL and OpenDataVal call it: our parameter, and its form.
PEERS = {
    "scoring": ("metric", "metric='accuracy'"),
    "scorer": ("metric", "metric='accuracy'"),
    "random_state": ("seed", "seed=0"),
    "n_jobs": ("engine", "engine='processes', or 'processes:4'"),
    "n_workers": ("engine", "engine='processes:4'"),
    "backend": ("engine", "engine='processes'"),
    "n_samples": ("budget", "budget=1000, counted in evaluations"),
    "nsamples": ("budget", "budget=1000, counted in evaluations"),
    "max_evals": ("budget", "budget=1000"),
    "n_evaluations": ("budget", "budget=1000"),
    "max_updates": ("budget", "budget=1000, counted in evaluations"),
    "n_permutations": ("budget", "budget=1000, counted in evaluations"),
    "timeout": ("budget", "budget=fs.Budget(seconds=60)"),
    "stopping": ("until", "until=fs.Fair(epsilon1=0.5, delta=0.1)"),
    "is_done": ("until", "until=fs.Fair(epsilon1=0.5, delta=0.1)"),
    "approximator": ("method", "method='adjusted'"),
    "index": ("semivalue", "semivalue='shapley'"),
    "verbose": ("progress", "progress=True"),
    "show_progress": ("progress", "progress=True"),
    "cache": ("journal", "journal='run.db'"),
    "n_neighbors": ("k", "k=5"),
    "estimator": ("model", "the model as the first argument"),
}
# Where a parameter is that a function does not have itself.
PLACES = {
    "metric": "fs.games.DataGame",
    "model": "fs.games.DataGame",
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
        own, form = PEERS[name]
        where = "" if own in names else f" of {PLACES.get(own, 'fs.estimate')}"
        return f": use {form}{where}"
    likely = near_miss(name, sorted(names))
    return likely or f": it takes {', '.join(sorted(names - {'self'}))}"
