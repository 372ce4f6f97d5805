"""Who takes part: our estimators and the peers' methods."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import fairshapley as fs
from benchmarks import contenders
from benchmarks.contenders import Solve
from benchmarks.peers.environment import PYDVL, SHAPIQ_1_4

# What `estimate` gives on a game that declares its identical players; all others are not told.
TOLD = "adjusted, told of duplicates"
OURS: dict[str, fs.estimators.Estimator[Any, Any]] = {
    "adjusted": fs.RegressionAdjusted(),
    TOLD: fs.RegressionAdjusted(),
    "kernel": fs.UnbiasedKernelSHAP(),
    "mc": fs.MonteCarlo(),
    "mc antithetic": fs.MonteCarlo(antithetic=True),
    "stratified": fs.Stratified(),
    "owen": fs.Owen(),
    "owen antithetic": fs.Owen(antithetic=True),
    "sobol": fs.Sobol(),
    "orthogonal": fs.Orthogonal(),
    "gae": fs.GreedyActive(),
    "gae honest": fs.GreedyActive(honest=True),
}
PEERS = {
    SHAPIQ_1_4: (
        "KernelSHAP paired",
        "UnbiasedKernelSHAP paired",
        "SVARM",
        "Permutation",
        "Stratified",
        "Owen",
        "kADDSHAP",
        "ProxySPEX",
    ),
    PYDVL: ("permutation", "antithetic", "TMC", "Owen", "group testing"),
}


def participants(*, peers: bool = True) -> AbstractContextManager[dict[str, Solve]]:
    """Return all methods by name; the peers' processes end with the block."""
    own = {name: contenders.ours(estimator, told=name == TOLD) for name, estimator in OURS.items()}
    return contenders.participants(own, PEERS if peers else {})
