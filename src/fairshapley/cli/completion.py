"""What the shell offers after an option; names are looked up when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

SEMIVALUES = ("shapley", "banzhaf", "beta(16,1)", "beta(4,1)")
ENGINES = ("serial", "processes", "processes:2", "threads:32", "ray", "dask://")


def names(choices: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """A function that offers those of the names that begin as what was typed.

    Examples
    --------
    >>> names(lambda: ["mc", "owen"])("o")
    ['owen']
    """

    def offered(incomplete: str) -> list[str]:
        return [choice for choice in choices() if choice.startswith(incomplete)]

    return offered


def _models() -> list[str]:
    from fairshapley.tabular.models import MODELS

    return ["auto", *MODELS]


def _methods() -> list[str]:
    from fairshapley.estimators import METHODS

    return sorted(METHODS)


def _metrics() -> list[str]:
    from fairshapley.games.data.scoring import METRICS

    return sorted(METRICS)


models = names(_models)
methods = names(lambda: ["auto", *_methods(), "knn", "loo"])
metrics = names(_metrics)
semivalues = names(lambda: SEMIVALUES)
engines = names(lambda: ENGINES)
tolerances = names(lambda: ("auto", "share", "mean"))


def method_list(incomplete: str) -> list[str]:
    """Methods for a list with commas: the last one is completed.

    Examples
    --------
    >>> method_list("mc,ow")
    ['mc,owen']
    """
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{one}" for one in _methods() if one.startswith(last)]
