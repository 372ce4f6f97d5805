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
from fairshapley.estimators.greedy.plan import size_explained_variance
from fairshapley.estimators.moments import Moments
from fairshapley.estimators.sampling.family import Sampling, SamplingState
from fairshapley.estimators.sampling.kernel import UnbiasedKernelSHAP
from fairshapley.estimators.sampling.monte_carlo import MonteCarlo
from fairshapley.estimators.sampling.owen import Owen
from fairshapley.estimators.sampling.spread import Orthogonal, Sobol
from fairshapley.estimators.sampling.stratified import Stratified

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
    "Sampling",
    "SamplingState",
    "Sobol",
    "Stratified",
    "Traits",
    "UnbiasedKernelSHAP",
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


def from_configuration(configuration: Mapping[str, Any]) -> Estimator[Any, Any]:
    """Return the estimator that `Estimator.configuration` described.

    Examples
    --------
    >>> from_configuration({"name": "mc", "walk": False})
    MonteCarlo(walk=False, antithetic=False)
    """
    parameters = dict(configuration)
    name = parameters.pop("name", None)
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}: use {', '.join(map(repr, sorted(METHODS)))}")
    allowed = {field.name for field in dataclasses.fields(METHODS[name])}
    if unknown := sorted(parameters.keys() - allowed):
        raise InputError(
            f"method {name!r} has no parameter {unknown[0]!r}: "
            f"it takes {', '.join(sorted(allowed)) or 'none'}"
        )
    return METHODS[name](**parameters)
