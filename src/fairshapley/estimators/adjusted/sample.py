"""The units that proxies are fitted to and used on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.units import Units


@dataclass(frozen=True, eq=False)
class Sample:
    """The units that proxies are fitted to and used on; all at sizes that are not enumerated."""

    units: Units
    chosen: IntArray
    """Their places among all units"""
    sizes: IntArray
    gains: FloatArray
    plans: FloatArray
    """The probabilities of the sizes 1 … n − 1 that are sampled, by plan"""
    plan: IntArray
    """The number of the plan that drew each unit"""
    groups: IntArray
    """0, 1, … from unit to unit; the halves of a split pair have the same number, and stay in one
    fold"""
    n_folds: int

    @cached_property
    def folds(self) -> IntArray:
        """The fold of each unit."""
        return self.groups % self.n_folds

    def whole(self, count: int) -> int:
        """Return `count`, or one more where that would part the halves of a pair."""
        groups = self.groups
        return count + (0 < count < len(groups) and bool(groups[count] == groups[count - 1]))

    @cached_property
    def probabilities(self) -> FloatArray:
        """p_s of each unit, as drawn."""
        return self.plans[self.plan, self.sizes - 1]

    def usage(self, weights: SizeWeights) -> FloatArray:
        """Return the expected sum of power/p² over the units of each size, shape (n − 1,).

        The expectation, not the sum itself: that would tell a proxy the size of the units that it
        is used on, and bias values (by 0.17 standard errors with 18 units of a game of 6 players).
        """
        drawn = np.bincount(self.plan, minlength=len(self.plans)).astype(np.float64)
        possible = np.where(self.plans > 0, self.plans, np.inf)
        return drawn @ (weights.power / possible)

    def importance(self, weights: SizeWeights) -> FloatArray:
        """Return Σ_i x_i² of a residual over its square, power/p², with an expected mean of 1."""
        importance: FloatArray = weights.power[self.sizes - 1] / self.probabilities**2
        return importance * (len(self.sizes) / float(self.usage(weights).sum()))

    def part(self, rows: slice, gains: FloatArray) -> Sample:
        """Return some of the units, with other gains and folds counted anew."""
        groups = self.groups[rows]
        own = {name: getattr(self, name)[rows] for name in ("chosen", "sizes", "plan")}
        return replace(self, **own, gains=gains, groups=groups - groups[:1])
