"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from fairshapley_paper.experiment import Experiment
from fairshapley_paper.experiments import small_games, training_points

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (*training_points.EXPERIMENTS, *small_games.EXPERIMENTS)
}
