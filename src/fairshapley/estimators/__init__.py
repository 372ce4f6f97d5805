"""Estimators: one algorithm a file, each a frozen configuration with ask and tell."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from fairshapley.errors import InputError
from fairshapley.estimators.adjusted.regression_adjusted import RegressionAdjusted
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.exact import Exact
from fairshapley.estimators.greedy.greedy_active import GreedyActive
from fairshapley.estimators.greedy.importance import (
    antithetic_correlation,
    importance_variance,
    optimal_proposal,
)
from fairshapley.estimators.greedy.proposal import size_explained_variance
from fairshapley.estimators.greedy.selection import greedy_allocation
from fairshapley.estimators.regression.kernel_shap import UnbiasedKernelSHAP
from fairshapley.estimators.statistics.moments import Moments
from fairshapley.estimators.strata.stratified import Stratified
from fairshapley.estimators.walks.monte_carlo import MonteCarlo
from fairshapley.estimators.walks.orthogonal import Orthogonal
from fairshapley.estimators.walks.owen import Owen
from fairshapley.estimators.walks.sobol import Sobol

__all__ = [
    "METHODS",
    "Estimate",
    "Estimator",
    "Exact",
    "GreedyActive",
    "Moments",
    "MonteCarlo",
    "Orthogonal",
    "Owen",
    "Problem",
    "RegressionAdjusted",
    "Sobol",
    "Stratified",
    "Traits",
    "UnbiasedKernelSHAP",
    "antithetic_correlation",
    "greedy_allocation",
    "importance_variance",
    "optimal_proposal",
    "size_explained_variance",
]

METHODS: dict[str, type[Estimator[Any, Any]]] = {
    "adjusted": RegressionAdjusted,
    "exact": Exact,
    "gae": GreedyActive,
    "kernel": UnbiasedKernelSHAP,
    "mc": MonteCarlo,
    "orthogonal": Orthogonal,
    "owen": Owen,
    "sobol": Sobol,
    "stratified": Stratified,
}
# Parameters that methods once had: older files name them, and their default is what is done now.
RETIRED: dict[str, dict[str, Any]] = {"gae": {"normalised": False, "pseudo_count": None}}


def from_configuration(configuration: Mapping[str, Any]) -> Estimator[Any, Any]:
    """The estimator that `Estimator.configuration` described.

    Examples
    --------
    >>> from_configuration({"name": "mc", "walk": False})
    MonteCarlo(walk=False, antithetic=False)

    A file from before a parameter was dropped is read where it names the default:

    >>> from_configuration({"name": "gae", "normalised": False, "pseudo_count": None}).name
    'gae'
    """
    parameters = dict(configuration)
    name = parameters.pop("name", None)
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}: use {', '.join(map(repr, sorted(METHODS)))}")
    for old, default in RETIRED.get(name, {}).items():
        if old in parameters and parameters[old] == default:
            del parameters[old]
    allowed = {field.name for field in dataclasses.fields(METHODS[name])}
    if unknown := sorted(parameters.keys() - allowed):
        raise InputError(
            f"method {name!r} has no parameter {unknown[0]!r}: "
            f"it takes {', '.join(sorted(allowed)) or 'none'}"
        )
    return METHODS[name](**parameters)
