"""Arguments as other libraries spell them: the error names ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from fairshapley._basics.text import near_miss
from fairshapley.errors import InputError

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

# Of shap, shapiq, pyDVL, llmSHAP, ContextCite and scikit-learn.
OURS = {
    "seed": "random_state rng",
    "budget": "nsamples n_samples num_samples max_evals n_evals npermutations max_iter",
    "players": "n_players n player_names features sources",
    "method": "approximator algorithm sampler mode strategy",
    "game": "f fn func function utility value_function model",
    "semivalue": "index kind",
    "engine": "n_jobs num_workers batch_size",
    "until": "stop is_done tolerance",
    "progress": "callback verbose show_progress",
}
_OURS_OF = {theirs: ours for ours, names in OURS.items() for theirs in names.split()}


def answers_peers(function: Callable[Arguments, T]) -> Callable[Arguments, T]:
    """Make a function answer an argument that it does not have with the one to give instead."""
    known = list(signature(function).parameters)

    @wraps(function)
    def checked(*given: Arguments.args, **named: Arguments.kwargs) -> T:
        for name in named:
            if name not in known:
                ours = _OURS_OF.get(name)
                hint = near_miss(name, known) if ours is None else f": use {ours!r}"
                raise InputError(f"{function.__name__} has no argument {name!r}{hint}")
        return function(*given, **named)

    return checked
