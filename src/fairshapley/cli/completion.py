"""What the shell offers after an option."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairshapley.estimators import METHODS
from fairshapley.games.data.scoring import METRICS
from fairshapley.tabular.models import MODELS

SEMIVALUES = ("shapley", "banzhaf", "beta(16,1)", "beta(4,1)")
ENGINES = ("serial", "processes", "processes:2", "ray", "dask://")


def names(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """A function that offers those of the names that begin as what was typed.

    Examples
    --------
    >>> names(["mc", "owen"])("o")
    ['owen']
    """

    def offered(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return offered


models = names(["auto", *MODELS])
methods = names(["auto", *sorted(METHODS)])
metrics = names(sorted(METRICS))
semivalues = names(SEMIVALUES)
engines = names(ENGINES)
tolerances = names(["auto", "share", "mean"])


def method_list(incomplete: str) -> list[str]:
    """Methods for a list with commas: the last one is completed.

    Examples
    --------
    >>> method_list("mc,ow")
    ['mc,owen']
    """
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{one}" for one in sorted(METHODS) if one.startswith(last)]
