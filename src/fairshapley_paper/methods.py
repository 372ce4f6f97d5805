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
from fairshapley_paper.singles import SingleAntithetic, SingleSobol
from fairshapley_paper.uncounted import UncountedGreedy


@dataclass(frozen=True, kw_only=True)
class Method:
    """An estimator of the paper's comparisons."""

    name: str
    label: str
    make: Callable[[int], Estimator[Any, Any]]
    """The estimator with a bootstrap of the given number of permutations"""
    row: str | None = None
    """The row of the paper's tables that it is a form of; the last form of a row is the closest"""
    coalitions: Callable[[int, int], int] = lambda marginals, _n_players: 2 * marginals
    """For a method without marginals: the coalitions in the place of m marginals of n players"""
    greedy: bool = False
    shapley_only: bool = False


def _after_bootstrap(
    inner: Estimator[Any, Any], *, pooled: bool = False
) -> Callable[[int], Estimator[Any, Any]]:
    return lambda permutations: Bootstrapped(inner=inner, permutations=permutations, pooled=pooled)


def _kernel(name: str, label: str, **options: Any) -> Method:
    """A form of KernelSHAP; where it is `pooled`, a coalition weighs as much as a marginal."""
    pooled, paired = options.pop("pooled", False), options.pop("paired", False)
    make = _after_bootstrap(UnbiasedKernelSHAP(paired=paired), pooled=pooled)
    return Method(name=name, label=label, make=make, shapley_only=True, **options)


def _greedy(alpha: float) -> Method:
    # One selection a round is Algorithm 1 to the letter.
    return Method(
        name=f"gae-{alpha:g}",
        label=f"GAE α = {alpha:g}",
        make=lambda permutations: GreedyActive(alpha=alpha, bootstrap=permutations, batch=1),
        row=f"gae-{alpha:g}",
        greedy=True,
    )


def _uncounted(alpha: float, *, one_weight: bool = False) -> Method:
    """GAE with the counting of the authors' program, and with its weights where asked."""
    return Method(
        name=f"gae-{alpha:g}-" + ("program" if one_weight else "uncounted"),
        label=f"GAE α = {alpha:g}, n marginals for one" + (", one weight" if one_weight else ""),
        make=lambda permutations: UncountedGreedy(
            alpha=alpha, bootstrap=permutations, one_weight=one_weight
        ),
        row=f"gae-{alpha:g}",
        greedy=True,
    )


ALPHAS = (0, 2, 5, 100)
_ONE = MonteCarlo(walk=False)
_WALKS = MonteCarlo()

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="mc", label="MC", make=_after_bootstrap(_ONE, pooled=True), row="mc"),
        Method(
            name="mc-walks", label="MC, whole walks", make=_after_bootstrap(_WALKS, pooled=True)
        ),
        Method(name="owen", label="Owen", make=_after_bootstrap(Owen(), pooled=True), row="owen"),
        Method(
            name="owen-antithetic",
            label="Owen, antithetic",
            make=_after_bootstrap(Owen(antithetic=True)),
            row="owen",
        ),
        Method(
            name="owen-single",
            label="Owen, antithetic, single marginals",
            make=_after_bootstrap(SingleAntithetic()),
            row="owen",
            shapley_only=True,
        ),
        Method(name="sobol", label="Sobol", make=_after_bootstrap(Sobol()), row="sobol"),
        Method(
            name="sobol-single",
            label="Sobol, single marginals",
            make=_after_bootstrap(SingleSobol(), pooled=True),
            row="sobol",
            shapley_only=True,
        ),
        Method(
            name="stratified",
            label="stratified",
            make=_after_bootstrap(Stratified()),
            row="stratified",
        ),
        _kernel("kernel", "kernel", row="kernel"),
        _kernel("kernel-paired", "kernel, paired", paired=True),
        # The authors' program takes m coalitions in P2–P4 and m/n in P1, each of the same weight
        # as a marginal of the bootstrap.
        _kernel(
            "kernel-one",
            "kernel, one coalition for a marginal",
            row="kernel",
            pooled=True,
            coalitions=lambda marginals, _n_players: marginals,
        ),
        _kernel(
            "kernel-nth",
            "kernel, one coalition for n marginals",
            row="kernel",
            pooled=True,
            coalitions=lambda marginals, n_players: marginals // n_players,
        ),
        *(_greedy(alpha) for alpha in ALPHAS),
        _uncounted(5),
        *(_uncounted(alpha, one_weight=True) for alpha in ALPHAS),
        # It has a plan of its own for its first evaluations, and spends the bootstrap's on it.
        Method(name="adjusted", label="adjusted", make=lambda _permutations: RegressionAdjusted()),
        Method(name="exact", label="exact", make=lambda _permutations: Exact()),
    )
}
"""Every method, in the order of the paper's tables, then ours"""

GREEDY_METHODS = tuple(_greedy(alpha).name for alpha in ALPHAS)
PROGRAM_METHODS = (
    *("kernel-one", "gae-5-uncounted"),
    *(_uncounted(alpha, one_weight=True).name for alpha in ALPHAS),
)
"""As the authors' program counts and weighs in P2–P4, and GAE as it counts, with own weights"""
LARGE_METHODS = (
    *("mc", "owen", "sobol", "stratified", "kernel"),
    *GREEDY_METHODS,
    *("mc-walks", "adjusted"),
)
"""For games with too many players to enumerate"""
FORMS = ("owen-antithetic", "owen-single", "sobol-single", "kernel-paired")
"""Other forms of the paper's methods"""
ALL_METHODS = (*LARGE_METHODS, *FORMS, "exact")
