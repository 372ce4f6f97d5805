"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from fairshapley.paper.experiment import Experiment
from fairshapley.paper.experiments import agents, datasets, features, federations, points

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for part in (points, datasets, agents, federations, features)
    for experiment in part.EXPERIMENTS
}
