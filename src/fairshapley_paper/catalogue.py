"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from fairshapley_paper.experiment import Experiment
from fairshapley_paper.experiments import agents, datasets, features, federations
from fairshapley_paper.experiments import training_points as points

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for part in (points, datasets, agents, federations, features)
    for experiment in part.EXPERIMENTS
}
