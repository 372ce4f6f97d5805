"""The methods that the paper compares, and those beside them, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairshapley.estimators import (
    Estimator,
    Exact,
    GreedyActive,
    MonteCarlo,
    Owen,
    RegressionAdjusted,
    Sobol,
    Stratified,
    UnbiasedKernelSHAP,
)
from fairshapley_paper.bootstrapped import Bootstrapped
from fairshapley_paper.uncounted import UncountedGreedy


@dataclass(frozen=True, kw_only=True)
class Method:
    """An estimator of the paper's comparisons."""

    name: str
    label: str
    make: Callable[[int], Estimator[Any, Any]]
    """The estimator with a bootstrap of the given number of permutations"""
    published: bool = True
    """Whether the paper has it"""
    shapley_only: bool = False


def _after_bootstrap(inner: Estimator[Any, Any]) -> Callable[[int], Estimator[Any, Any]]:
    return lambda permutations: Bootstrapped(inner=inner, permutations=permutations)


def _greedy(alpha: float) -> Method:
    # One selection a round is Algorithm 1 to the letter.
    return Method(
        name=f"gae-{alpha:g}",
        label=f"GAE α = {alpha:g}",
        make=lambda permutations: GreedyActive(alpha=alpha, bootstrap=permutations, batch=1),
    )


def _uncounted(alpha: float) -> Method:
    return Method(
        name=f"gae-{alpha:g}-uncounted",
        label=f"GAE α = {alpha:g}, n marginals for one",
        make=lambda permutations: UncountedGreedy(alpha=alpha, bootstrap=permutations),
        published=False,
    )


ALPHAS = (0, 2, 5, 100)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="mc", label="MC", make=_after_bootstrap(MonteCarlo(walk=False))),
        Method(name="owen", label="Owen", make=_after_bootstrap(Owen())),
        Method(name="sobol", label="Sobol", make=_after_bootstrap(Sobol())),
        Method(name="stratified", label="stratified", make=_after_bootstrap(Stratified())),
        Method(
            name="kernel",
            label="kernel",
            make=_after_bootstrap(UnbiasedKernelSHAP(paired=False)),
            shapley_only=True,
        ),
        *(_greedy(alpha) for alpha in ALPHAS),
        *(_uncounted(alpha) for alpha in ALPHAS),
        Method(
            name="mc-walks",
            label="MC, whole walks",
            make=_after_bootstrap(MonteCarlo()),
            published=False,
        ),
        # It has a plan of its own for its first evaluations, and spends the bootstrap's on it.
        Method(
            name="adjusted",
            label="adjusted",
            make=lambda _permutations: RegressionAdjusted(),
            published=False,
        ),
        Method(name="exact", label="exact", make=lambda _permutations: Exact(), published=False),
    )
}
"""Every method, in the order of the paper's tables, then ours"""

UNCOUNTED_METHODS = tuple(_uncounted(alpha).name for alpha in ALPHAS)
"""GAE with the counting of the published numbers of P2–P4"""
ALL_METHODS = tuple(name for name in METHODS if name not in UNCOUNTED_METHODS)
LARGE_METHODS = tuple(name for name in ALL_METHODS if name != "exact")
"""For games with too many players to enumerate"""
