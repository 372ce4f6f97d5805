"""The methods that the paper compares, and those beside them, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
from fairshapley_paper.estimators import Bootstrapped, SingleAntithetic, SingleSobol
from fairshapley_paper.program import FORMS, Form


@dataclass(frozen=True, kw_only=True)
class Method:
    """An estimator of the paper's comparisons."""

    name: str
    label: str
    make: Callable[[int], Estimator[Any, Any]] | None = None
    """The estimator with a bootstrap of the given number of permutations …"""
    form: Form | None = None
    """… or what the authors' program does after one; it is not measured at equal evaluations"""
    row: str | None = None
    """The row of the paper's tables that it is a form of; the last form of a row is the closest"""
    greedy: bool = False
    shapley_only: bool = False
    version: str = ""
    """Of one that is not in this package: a fingerprint of its source"""


def bootstrapped(
    inner: Estimator[Any, Any], permutations: int, *, pooled: bool = False
) -> Bootstrapped:
    """Return an estimator after the paper's bootstrap; `pooled` as for `Bootstrapped`."""
    return Bootstrapped(inner=inner, permutations=permutations, pooled=pooled)


def _method(
    name: str, label: str, inner: Estimator[Any, Any], *, pooled: bool = False, **options: Any
) -> Method:
    make = partial(bootstrapped, inner, pooled=pooled)
    return Method(name=name, label=label, make=make, **options)


def _greedy(alpha: int) -> Method:
    """GAE with a prior of the strength α, one selection a round: Algorithm 1 to the letter."""
    return Method(
        name=f"gae-{alpha}",
        label=f"GAE α = {alpha}",
        make=lambda permutations: GreedyActive(alpha=alpha, bootstrap=permutations, batch=1),
        row=f"gae-{alpha}",
        greedy=True,
    )


def _programmed(name: str, label: str, form: str, **options: Any) -> Method:
    """Return a method as the authors' program has it; `form` is one of its `FORMS`."""
    return Method(
        name=name,
        label=f"{label}, as programmed",
        form=FORMS[form],
        row=form.removesuffix("-nth"),
        shapley_only=True,
        **options,
    )


ALPHAS = (0, 2, 5, 100)
_SINGLE = MonteCarlo(walk=False)
_KERNEL = UnbiasedKernelSHAP(paired=False)
_LETTER = tuple(_greedy(alpha) for alpha in ALPHAS)
_LABELS = {"mc": "MC", "owen": "Owen", "sobol": "Sobol"}
_PROGRAM = (
    *(
        _programmed(f"{row}-program", _LABELS.get(row, row), row)
        for row in ("mc", "owen", "sobol", "stratified", "kernel")
    ),
    *(
        _programmed(f"gae-{alpha}-program", f"GAE α = {alpha}", f"gae-{alpha}", greedy=True)
        for alpha in ALPHAS
    ),
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
        *_LETTER,
        *_PROGRAM,
        _programmed("kernel-nth", "kernel, m/n coalitions", "kernel-nth"),
        # It has a plan of its own for its first evaluations, and spends the bootstrap's on it.
        Method(name="adjusted", label="adjusted", make=lambda _permutations: RegressionAdjusted()),
        Method(name="exact", label="exact", make=lambda _permutations: Exact()),
    )
}
"""Every method, in the order of the paper's tables, then ours"""

GREEDY_METHODS = tuple(method.name for method in _LETTER)
PROGRAM_METHODS = tuple(method.name for method in _PROGRAM)
"""The rows of P2–P4 as the authors' program has them"""
LARGE_METHODS = (
    *("mc", "owen", "sobol", "stratified", "kernel"),
    *GREEDY_METHODS,
    *("mc-walks", "adjusted"),
    *("owen-antithetic", "owen-single", "sobol-single", "kernel-paired"),
)
"""For games with too many players to enumerate: the paper's, ours, and forms of the paper's"""
ALL_METHODS = (*LARGE_METHODS, "exact")
