"""The proxy of pairs: Gaussian processes of several kinds, weighted by what each foresees.

The members differ in what they take a game for (`PRIORS`): from linear functions of the players to
a process in which every player has a relevance of its own. Half of the folds decide what the other
half uses: the parameters of each member, found by likelihood, and the weights, non-negative least
squares on coalitions that were left out one by one. Each unit is then judged by the members without
its fold, a block of the inverse covariance away. The values of a member are known in closed form.

What was enumerated is known to all members, as far as it is not too much.

Boosted trees are tried beside the processes, which know nothing of maxima and flows. Where a trial
shows that they foresee more, units are judged by both, with weights from the other half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.optimize import nnls

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.adjusted.boosted_trees import Forest
from fairshapley.estimators.adjusted.process import (
    PRECISION,
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
# Trees are tried from this many units on, first by at most so many of half the folds, and then by
# all of them. They are used if they take off this share of what processes leave.
MIN_TREE_UNITS, TRIAL_UNITS, MIN_TAKEN = 128, 256, 0.1


Chosen: TypeAlias = tuple[tuple[float, Prior, FloatArray], ...]
"""Weights, kinds and parameters of the processes of a stack"""
Members: TypeAlias = tuple[tuple[float, Process | Forest], ...]
"""The members of a stack with their weights"""


def takes_stack(weights: SizeWeights) -> bool:
    """Whether the units are pairs of few enough players, and values are integrals over p."""
    known = isinstance(weights.semivalue, Shapley | Banzhaf | BetaShapley)
    return weights.paired and weights.n_players <= MAX_PLAYERS and known


@dataclass(frozen=True, eq=False)
class StackedProxies:
    """What the folds' own proxies say of the units that they were fitted to, and one for others."""

    members: Members
    """The members of the proxy that saw all units, with their weights"""
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
        for share, member in self.members:
            gains += share * member.predict(rows)
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
    shares = fit.tree_shares(0, choices[0]), fit.tree_shares(1, choices[1])
    if any(rough for _, rough in shares):
        members = fit.with_trees(members, shares)
    if isinstance(weights.semivalue, Shapley):  # they add up to 0: rounding must not show
        fit.values -= fit.values.mean(axis=1, keepdims=True)
    influence = fit.influence.sum(axis=0)
    return StackedProxies(members, fit.masks, fit.residuals, fit.values, influence, choices)


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
        self.influence = np.zeros((2, *self.masks.shape))
        at = sample.sizes - 1
        inside, outside = weights.inside[at], weights.outside[at]
        drawn = sample.probabilities[:, None]
        self.factors = np.where(self.masks > 0, inside[:, None], -outside[:, None]) / drawn

    def judged(self, half: int, chosen: Chosen) -> Members:
        """The members with their weights, by which the even or the odd folds were judged."""
        members = [(share, Process(self.seen, prior, at)) for share, prior, at in chosen]
        for share, process in members:
            self._judge(half, share, process)
        return tuple(members)

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
        shares = self._shares(others, foreseen)
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
            self.influence[half] += share * effect[first:]

    def _values(self, process: Process) -> FloatArray:
        """E[x_i(k(·, S_t))] over the sizes that are sampled, of each observation S_t."""
        semivalue = self.weights.semivalue
        whole = process.cross(semivalue) + process.shared_cross(semivalue)[:, None]
        return self._sampled(whole, process.covariance)

    def _sampled(
        self, whole: FloatArray, predict: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """Return the values of functions less what ∅, N and the enumerated sizes add to them.

        Parameters
        ----------
        whole
            The values of each function, one in each row.
        predict
            The gains of coalitions under each function, one in each column.
        """
        weights, n = self.weights, self.weights.n_players
        values = whole - 2.0 * weights.ends[1] * predict(np.ones((1, n))).T
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
                values -= predict(masks).T @ share
        return values

    @cached_property
    def _roots(self) -> FloatArray:
        """The weight of each unit's residual in the values of all players together."""
        roots: FloatArray = np.sqrt(self.weights.power[self.sample.sizes - 1])
        return roots / self.sample.probabilities

    def _shares(self, units: IntArray, foreseen: Sequence[FloatArray] | FloatArray) -> FloatArray:
        """Return the weights with which predictions of some units explain most of their gains."""
        roots, gains = self._roots[units], self.sample.gains[units]
        shares, _ = nnls((np.asarray(foreseen) * roots).T, gains * roots)
        return shares

    def _forest(self, units: IntArray) -> Forest:
        """Return trees that were grown on some units and on what was enumerated."""
        rows = np.concatenate([np.arange(self.first), self.first + units])
        return Forest(self.seen.masks[rows], self.seen.gains[rows])

    def tree_shares(self, half: int, chosen: Chosen) -> tuple[float, float]:
        """Return the weights of processes and trees for half of the folds, from the other half."""
        others = np.flatnonzero(self.sample.folds % 2 != half)
        shares = 1.0, 0.0
        if len(self.masks) < MIN_TREE_UNITS or not chosen:
            return shares
        for units in (others[:TRIAL_UNITS], others):
            shares = self._trial(units, chosen)
            if shares == (1.0, 0.0) or len(units) == len(others):
                break
        return shares

    def _trial(self, units: IntArray, chosen: Chosen) -> tuple[float, float]:
        """Return the weights with which a quarter of the units is best foreseen from the others."""
        out = self.sample.folds[units] // 2 == 0
        seen = self.seen.some(np.concatenate([np.arange(self.first), self.first + units]))
        judged = units[out]
        gains, by_processes = self.sample.gains[judged], np.zeros(len(judged))
        for share, prior, at in chosen:
            left = Process(seen, prior, at).left_out[self.first :][out]
            by_processes += share * (gains - left)
        if np.abs(gains - by_processes).max() <= PRECISION * np.abs(gains).max():
            return 1.0, 0.0
        foreseen = np.stack([by_processes, self._forest(units[~out]).predict(self.masks[judged])])
        alone, shares = self._shares(judged, foreseen[:1]), self._shares(judged, foreseen)
        explained = np.stack([alone @ foreseen[:1], shares @ foreseen])
        left, rest = self._roots[judged] * (gains - explained)
        if rest @ rest > (1.0 - MIN_TAKEN) * (left @ left):
            return 1.0, 0.0
        return float(shares[0]), float(shares[1])

    def with_trees(self, members: Members, shares: Sequence[tuple[float, float]]) -> Members:
        """Judge each unit also by trees that were grown without its fold; return all members."""
        folds, n_folds = self.sample.folds, self.sample.n_folds
        forests, values, by_trees = [], np.zeros_like(self.values), np.zeros(len(folds))
        for group in range(n_folds // 2):
            out = folds // 2 == group
            forests.append(self._forest(np.flatnonzero(~out)))
            by_trees[out] = forests[-1].predict(self.masks[out])
            values[2 * group : 2 * group + 2] = self._values_of_trees(forests[-1])
        values[-1] = values[:-1].mean(axis=0)
        for half, (smooth, rough) in enumerate(shares):
            own = folds % 2 == half
            gains = self.sample.gains[own]
            by_processes = gains - self.residuals[own]
            self.residuals[own] = gains - smooth * by_processes - rough * by_trees[own]
            # The even folds' weights are also those of the proxy that saw all, the last column.
            columns = np.arange(half, n_folds + 1, 2)
            self.values[columns] = smooth * self.values[columns] + rough * values[columns]
            self.influence[half] *= smooth
        smooth, rough = shares[0]
        scaled = [(smooth * share, member) for share, member in members]
        return *scaled, *((rough / len(forests), forest) for forest in forests)

    def _values_of_trees(self, forest: Forest) -> FloatArray:
        whole = forest.values(self.weights.semivalue)[None]
        return self._sampled(whole, lambda masks: forest.predict(masks)[:, None])[0]
