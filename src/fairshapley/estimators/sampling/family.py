"""What sampling methods share: one contribution of every player per draw, folded into moments."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.estimators.estimator import Drawn, Estimate, Estimator, Problem
from fairshapley.estimators.moments import Moments


def walk_weights(problem: Problem) -> FloatArray:
    """Return n·α_k: places are uniform on a walk, so a marginal at place k counts α_k/(1/n)."""
    return problem.n_players * problem.semivalue.weights(problem.n_players)


def group_means(contributions: FloatArray, size: int) -> FloatArray:
    """Return the means over each `size` consecutive rows.

    Skipped contributions (NaN) are left out of the mean of their group; a group without any
    contribution gives NaN.

    Examples
    --------
    >>> group_means(np.array([[1.0, 3.0], [2.0, np.nan], [5.0, np.nan], [6.0, np.nan]]), 2)
    array([[1.5, 3. ],
           [5.5, nan]])
    """
    grouped = contributions.reshape(-1, size, contributions.shape[1])
    missing = np.isnan(grouped)
    if not missing.any():
        return grouped.mean(axis=1)
    present = size - missing.sum(axis=1)
    sums = np.where(missing, 0.0, grouped).sum(axis=1)
    return np.where(present > 0, sums / np.maximum(present, 1), np.nan)


@dataclass(eq=False)
class SamplingState:
    """The problem, and the moments of the contributions."""

    problem: Problem
    weights: FloatArray
    """The weights of the method by coalition size"""
    moments: Moments
    told: int = 0
    """The contributions told so far"""
    levels: dict[int, Moments] = field(default_factory=dict)
    """The moments of group means by group size, where groups grow"""


@dataclass(frozen=True, kw_only=True)
class Sampling(Estimator[SamplingState, Drawn]):
    """The mean of independent contributions.

    A method says which coalitions it draws (`ask`), and what their utilities contribute to each
    player's value (`contributions`).
    """

    def weights(self, problem: Problem) -> FloatArray:
        """Return the weights by coalition size that the state keeps: n·α_k."""
        return walk_weights(problem)

    @abstractmethod
    def contributions(self, state: SamplingState, draw: Drawn, values: FloatArray) -> FloatArray:
        """Return one contribution of every player for each unit drawn, (units, players)."""

    def start(self, problem: Problem) -> SamplingState:
        """Return a state without contributions."""
        return SamplingState(problem, self.weights(problem), Moments(problem.n_players))

    def tell(self, state: SamplingState, draw: Drawn, values: FloatArray) -> None:
        """Fold in the contributions."""
        contributions = self.contributions(state, draw, values)
        state.moments.add(contributions)
        state.told += len(contributions)

    def estimate(self, state: SamplingState) -> Estimate:
        """Return the means of the contributions."""
        return state.moments.estimate()

    def contribution_width(self, problem: Problem, value_width: float) -> float:
        """Return the width for a marginal, which lies within ± `value_width`, times n·α_k."""
        return float(2.0 * value_width * walk_weights(problem).max())
