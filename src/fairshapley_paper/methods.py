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
from fairshapley_paper.estimators import (
    Bootstrapped,
    SingleAntithetic,
    SingleSobol,
    UncountedGreedy,
)


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


def _method(
    name: str, label: str, inner: Estimator[Any, Any], *, pooled: bool = False, **options: Any
) -> Method:
    """A method after the paper's bootstrap; `pooled` as for `Bootstrapped`."""

    def make(permutations: int) -> Bootstrapped:
        return Bootstrapped(inner=inner, permutations=permutations, pooled=pooled)

    return Method(name=name, label=label, make=make, **options)


def _greedy(alpha: int, form: str, label: str, kind: type[GreedyActive], **options: Any) -> Method:
    """A form of GAE with a prior of the strength α."""
    return Method(
        name=f"gae-{alpha}{form}",
        label=f"GAE α = {alpha}{label}",
        make=lambda permutations: kind(alpha=alpha, bootstrap=permutations, **options),
        row=f"gae-{alpha}",
        greedy=True,
    )


ALPHAS = (0, 2, 5, 100)
_SINGLE = MonteCarlo(walk=False)
_KERNEL = UnbiasedKernelSHAP(paired=False)
_UNCOUNTED = ", n marginals for one"
# One selection a round is Algorithm 1 to the letter.
_LETTER = tuple(_greedy(alpha, "", "", GreedyActive, batch=1) for alpha in ALPHAS)
# With the weights of the authors' program, too.
_PROGRAM = tuple(
    _greedy(alpha, "-program", f"{_UNCOUNTED}, one weight", UncountedGreedy, one_weight=True)
    for alpha in ALPHAS
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("mc", "MC", _SINGLE, row="mc", pooled=True),
        _method("mc-walks", "MC, whole walks", MonteCarlo(), pooled=True),
        _method("owen", "Owen", Owen(), row="owen", pooled=True),
        _method("owen-antithetic", "Owen, antithetic", Owen(antithetic=True), row="owen"),
        _method(
            "owen-single",
            "Owen, antithetic, single marginals",
            SingleAntithetic(),
            row="owen",
            shapley_only=True,
        ),
        _method("sobol", "Sobol", Sobol(), row="sobol"),
        _method(
            "sobol-single",
            "Sobol, single marginals",
            SingleSobol(),
            row="sobol",
            pooled=True,
            shapley_only=True,
        ),
        _method("stratified", "stratified", Stratified(), row="stratified"),
        _method("kernel", "kernel", _KERNEL, row="kernel", shapley_only=True),
        _method("kernel-paired", "kernel, paired", UnbiasedKernelSHAP(), shapley_only=True),
        # The authors' program takes m coalitions in P2–P4 and m/n in P1, each of the same weight
        # as a marginal of the bootstrap.
        _method(
            "kernel-one",
            "kernel, one coalition for a marginal",
            _KERNEL,
            row="kernel",
            pooled=True,
            shapley_only=True,
            coalitions=lambda marginals, _n_players: marginals,
        ),
        _method(
            "kernel-nth",
            "kernel, one coalition for n marginals",
            _KERNEL,
            row="kernel",
            pooled=True,
            shapley_only=True,
            coalitions=lambda marginals, n_players: marginals // n_players,
        ),
        *_LETTER,
        _greedy(5, "-uncounted", _UNCOUNTED, UncountedGreedy),
        *_PROGRAM,
        # It has a plan of its own for its first evaluations, and spends the bootstrap's on it.
        Method(name="adjusted", label="adjusted", make=lambda _permutations: RegressionAdjusted()),
        Method(name="exact", label="exact", make=lambda _permutations: Exact()),
    )
}
"""Every method, in the order of the paper's tables, then ours"""

GREEDY_METHODS = tuple(method.name for method in _LETTER)
PROGRAM_METHODS = ("kernel-one", "gae-5-uncounted", *(method.name for method in _PROGRAM))
"""As the authors' program counts and weighs in P2–P4, and GAE as it counts, with own weights"""
LARGE_METHODS = (
    *("mc", "owen", "sobol", "stratified", "kernel"),
    *GREEDY_METHODS,
    *("mc-walks", "adjusted"),
    *("owen-antithetic", "owen-single", "sobol-single", "kernel-paired"),
)
"""For games with too many players to enumerate: the paper's, ours, and forms of the paper's"""
ALL_METHODS = (*LARGE_METHODS, "exact")
