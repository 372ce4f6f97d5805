"""The proxy of pairs: Gaussian processes of several kinds, weighted by what each foresees.

The members differ in what they take a game for (`PRIORS`): from linear functions of the players to
a process in which every player has a relevance of its own. Half of the folds decide what the other
half uses: the parameters of each member, found by likelihood, and the weights, non-negative least
squares on coalitions that were left out one by one. Each unit is then judged by the members without
its fold, a block of the inverse covariance away. The values of a member are known in closed form.

What was enumerated is known to all members, as far as it is not too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import nnls

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.adjusted.process import (
    Observations,
    Prior,
    Process,
    search,
    start_at,
)
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.units import MaskArray
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley

# Linear with slopes that vary with the size; players alike; players of very different relevance,
# without such slopes and with them.
PRIORS = (Prior(0.5, slopes=True, smooth=False), Prior(0.0), Prior(1.5), Prior(1.5, slopes=True))
# Above this many players a step of the search, and the values of a member, take too long.
MAX_PLAYERS = 200
# The covariance of this many units is inverted; later ones are judged by what these taught.
MAX_UNITS = 1024
# Parameters are searched on this many units of half the folds, in this many steps, and weights are
# found on this many.
SEARCH_UNITS, PASSES, WEIGHT_UNITS = 96, 15, 160
SEARCH_FROM = -2.0
# A member that has less of the weight is left out: it costs as much as the others.
MIN_SHARE = 0.02
# Enumerated coalitions that members are told of at most.
MAX_KNOWN = 512
# The rows of a covariance that are in memory at a time.
BLOCK = 2048


Chosen: TypeAlias = tuple[tuple[float, Prior, FloatArray], ...]
"""Weights, kinds and parameters of the members of a stack"""


def takes_stack(weights: SizeWeights) -> bool:
    """Whether the units are pairs of few enough players, and values are integrals over p."""
    known = isinstance(weights.semivalue, Shapley | Banzhaf | BetaShapley)
    return weights.paired and weights.n_players <= MAX_PLAYERS and known


@dataclass(frozen=True, eq=False)
class StackedProxies:
    """What the folds' own proxies say of the units that they were fitted to, and one for others."""

    members: tuple[tuple[float, Process], ...]
    """Those of the proxy that saw all units, with their weights"""
    masks: MaskArray
    """The training units"""
    residuals: FloatArray
    """What is left of their gains, each judged without its fold"""
    values: FloatArray
    """E[x_i(g)] of each fold's proxy and of the one that saw all, shape (folds + 1, n)"""
    influence: FloatArray
    """Σ_{u ≠ t} ∂y_u/∂gain_t: what the gain of unit t does as a training unit, by player"""
    choices: tuple[Chosen, Chosen]
    """What each half of the folds uses"""

    def predict(self, masks: MaskArray, sizes: IntArray, folds: IntArray) -> FloatArray:
        """The gains of later units, by the proxy that saw all."""
        rows = masks.astype(np.float64)
        gains = np.zeros(len(rows))
        for share, process in self.members:
            gains += share * process.predict(rows)
        return gains

    def interior_values(self, weights: SizeWeights, interior: BoolArray) -> FloatArray:
        """E[x_i(g)] over the sizes that are not enumerated."""
        return self.values


def fit_stacked(
    sample: Sample,
    weights: SizeWeights,
    interior: BoolArray,
    known: tuple[BoolArray, FloatArray],
    before: StackedProxies | None = None,
) -> StackedProxies:
    """Stacked proxies for the sample.

    Parameters
    ----------
    sample, weights, interior
        The units, the weights of the sizes, and which sizes are sampled.
    known
        Masks and gains of enumerated units.
    before
        What was fitted to the first of these units with the same known ones: choices that they
        alone decide are made once.
    """
    fit, enough = _Fit(sample, weights, interior, known), 2 * WEIGHT_UNITS + sample.n_folds
    if before is not None and len(before.masks) >= enough:
        choices = before.choices
    else:
        choices = fit.chosen(0), fit.chosen(1)
    members, _ = (fit.judged(half, chosen) for half, chosen in enumerate(choices))
    return StackedProxies(members, fit.masks, fit.residuals, fit.values, fit.influence, choices)


class _Fit:
    """The units of a sample behind those known, and what becomes of them half by half."""

    def __init__(
        self,
        sample: Sample,
        weights: SizeWeights,
        interior: BoolArray,
        known: tuple[BoolArray, FloatArray],
    ) -> None:
        self.sample, self.weights, self.interior = sample, weights, interior
        self.masks = np.concatenate([masks for _, masks in sample.units.rows(sample.chosen)])
        self.first = len(known[1])
        masks = np.concatenate([known[0], self.masks]).astype(np.float64)
        self.seen = Observations(masks, np.concatenate([known[1], sample.gains]))
        self.residuals: FloatArray = sample.gains.copy()
        self.values = np.zeros((sample.n_folds + 1, weights.n_players))
        self.influence = np.zeros(self.masks.shape)
        at = sample.sizes - 1
        inside, outside = weights.inside[at], weights.outside[at]
        drawn = sample.probabilities[:, None]
        self.factors = np.where(self.masks > 0, inside[:, None], -outside[:, None]) / drawn

    def judged(self, half: int, chosen: Chosen) -> tuple[tuple[float, Process], ...]:
        """The members with their weights, by which the even or the odd folds were judged."""
        members = tuple((share, Process(self.seen, prior, at)) for share, prior, at in chosen)
        for share, process in members:
            self._judge(half, share, process)
        return members

    def chosen(self, half: int) -> Chosen:
        """What half of the folds uses, from the other half."""
        others = np.flatnonzero(self.sample.folds % 2 != half)[:WEIGHT_UNITS]
        known = np.arange(self.first)
        few, some = (
            self.seen.some(np.concatenate([known[: n // 2], self.first + others[:n]]))
            for n in (SEARCH_UNITS, WEIGHT_UNITS)
        )
        if not few.gains.any():
            return ()
        start, gains = [start_at(SEARCH_FROM)], self.sample.gains[others]
        found, foreseen = [], []
        for prior in PRIORS:
            at = search(few, prior, start, PASSES)
            left = Process(some, prior, at).left_out[-len(others) :]
            found.append(at)
            foreseen.append(gains - left)
        sizes, drawn = self.sample.sizes[others] - 1, self.sample.probabilities[others]
        roots = np.sqrt(self.weights.power[sizes]) / drawn
        shares, _ = nnls(np.stack(foreseen, axis=1) * roots[:, None], gains * roots)
        members = zip(shares.tolist(), PRIORS, found, strict=True)
        return tuple(member for member in members if member[0] > MIN_SHARE)

    def _judge(self, half: int, share: float, process: Process) -> None:
        """Take off what a member explains of its half's folds.

        Without its fold, a unit's residual is a block of the inverse away (as the residual of a
        single unit left out is p_t/P_tt): r = P_own⁻¹·P·gains.
        """
        inverse, gains, first = process.inverse, self.sample.gains, self.first
        each = self._values(process)
        whole, plain = inverse @ each, process.coefficients @ each
        if half == 0:
            self.values[-1] += share * plain
        for fold in range(half, self.sample.n_folds, 2):
            units = np.flatnonzero(self.sample.folds == fold)
            own = first + units
            block = np.linalg.solve(inverse[np.ix_(own, own)], inverse[own])
            left = np.linalg.solve(inverse[np.ix_(own, own)], process.coefficients[own])
            self.residuals[units] -= share * (gains[units] - left)
            self.values[fold] += share * (plain - left @ whole[own])
            effect = len(own) * (whole - inverse[:, own] @ (block @ each))
            effect += block.T @ self.factors[units]
            effect[own] = 0.0
            self.influence += share * effect[first:]

    def _values(self, process: Process) -> FloatArray:
        """E[x_i(k(·, S_t))] over the sizes that are sampled, of each observation S_t.

        The value of the covariance function as a whole, less what ∅, N and the enumerated sizes
        add to it.
        """
        weights, n = self.weights, self.weights.n_players
        values = process.cross(weights.semivalue)
        ends = 2.0 * weights.ends[1] * process.covariance(np.ones((1, n)))[0]
        values += (process.shared_cross(weights.semivalue) - ends)[:, None]
        for size in range(1, n // 2 + 1):
            if self.interior[size - 1] or not weights.base[size - 1]:
                continue
            count = math.comb(n, size)
            scale = (1.0 if 2 * size == n else 2.0) / count
            for start in range(0, count, BLOCK):
                ranks = np.arange(start, min(start + BLOCK, count))
                masks = bits.unrank(ranks, n, size).astype(np.float64)
                inside, outside = weights.inside[size - 1], weights.outside[size - 1]
                share = scale * (masks * (inside + outside) - outside)
                values -= process.covariance(masks).T @ share
        return values
