"""Pairs: what two players add together beyond what they add apart, from the coalitions known.

The Shapley interaction of two players (Grabisch and Roubens 1999) is the mean of v(S ∪ ij) −
v(S ∪ i) − v(S ∪ j) + v(S). S holds the players that a random order of the others puts before both.
It is exact where all utilities are known. Elsewhere a Gaussian process is fitted to the known
ones: a product over the players, each with a rate of its own, a linear part, and a level for each
coalition size. Pairs are linear in a game, so that their means and variances have a closed form.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from fairshapley._basics import bits
from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.estimators.adjusted.process import Quadrature
from fairshapley.estimators.exact import exact_values
from fairshapley.evaluation.cache import Cache
from fairshapley.games.game import MAX_TABLE_PLAYERS
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.result import Result
from fairshapley.results.serialising import with_fields
from fairshapley.semivalues import Shapley

# With more players the pairs are too many to be told apart, and to be looked at.
MOST_PLAYERS = 40
# A process takes so many coalitions, and its parameters are searched on so many of them.
MOST_COALITIONS, SEARCHED, STEPS = 1000, 256, 40
# Fewer coalitions for each player say nothing of pairs.
LEAST_PER_PLAYER = 4
# The variance of the utilities of nobody and of everybody, in that of the others: they may be
# conventions. Logarithms of rates differ by about this much between players.
FREE, RATE_SPREAD = 100.0, 0.6


def with_pairs(result: Result, cache: Cache) -> Result:
    """Return the result with what is known of its pairs; null players have none."""
    if (found := known_pairs(cache)) is None:
        return result
    beside = result.n_players - len(found[0])
    pairs, errors = (np.pad(matrix, (0, beside)) for matrix in found)
    return with_fields(result, pairs=pairs, pair_errors=errors)


def known_pairs(cache: Cache) -> tuple[FloatArray, FloatArray] | None:
    """Return the interactions of all pairs and their standard errors; None where unknown."""
    n_players = cache.n_players
    if not 2 <= n_players <= MOST_PLAYERS:
        return None
    if n_players <= MAX_TABLE_PLAYERS and cache.complete:
        return exact_pairs(cache.table()), np.zeros((n_players, n_players))
    nobody = bits.keys(np.zeros((1, n_players), dtype=bool))[0]
    keys = [*cache.first(len(cache)), nobody]
    with one_thread():
        return pairs_from(bits.from_keys(keys, n_players), np.array([*map(cache.get, keys)], float))


def exact_pairs(table: FloatArray) -> FloatArray:
    """Return the interactions in the game with the 2**n utilities `table`, a symmetric matrix.

    Examples
    --------
    >>> exact_pairs(np.array([0.0, 1.0, 1.0, 1.0]))
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    n_players = table.size.bit_length() - 1
    found = np.zeros((n_players, n_players))
    for player in range(n_players):
        # The pairs of a player are the Shapley values of the others in what the player adds.
        halves = table.reshape(-1, 2, 1 << player)
        added = (halves[:, 1] - halves[:, 0]).ravel()
        found[np.arange(n_players) != player, player] = exact_values(added, Shapley())
    return (found + found.T) / 2


def pairs_from(masks: BoolArray, utilities: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the interactions that a process makes of some utilities, and their standard errors.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> masks = np.unique(rng.random((60, 6)) < 0.5, axis=0)
    >>> either = masks[:, 0] | masks[:, 1]
    >>> found, errors = pairs_from(masks, either + masks @ np.arange(6.0))
    >>> found[0].round(1) + 0.0
    array([ 0., -1.,  0.,  0.,  0.,  0.])
    """
    n_players, sizes = masks.shape[1], masks.sum(axis=1)
    inner = np.flatnonzero((sizes > 0) & (sizes < n_players))
    if len(inner) < LEAST_PER_PLAYER * n_players or not np.ptp(utilities[inner]) > 0:
        return None
    generator = side_generator(root_seed(0), "coalitions of pairs")
    inner = generator.permutation(inner)[:MOST_COALITIONS]
    ends = np.flatnonzero((sizes == 0) | (sizes == n_players))
    spread = float(utilities[inner].std())
    scaled = (utilities - utilities[inner].mean()) / spread
    try:
        fitted = _Process.fit(masks[inner], scaled[inner])
        chosen = np.concatenate([inner, ends])
        means, variances = fitted.pairs(masks[chosen], scaled[chosen])
    except LinAlgError:
        return None
    return spread * means, spread * np.sqrt(variances)


class _Process:
    """The covariance: parameters are logarithms of rates, and of four variances."""

    def __init__(self, parameters: FloatArray) -> None:
        self.parameters = parameters
        self.rates = np.exp(parameters[:-4])
        self.linear, self.constant, self.noise, self.level = np.exp(parameters[-4:])

    @classmethod
    def fit(cls, masks: BoolArray, utilities: FloatArray) -> _Process:
        n_players = masks.shape[1]
        start = [*[-2 - np.log(n_players / 10)] * n_players, -1.0, 0.0, -12.0, -3.0]
        limits = [*[(-9.0, 2.0)] * n_players, (-9, 4), (-6, 6), (-18, 0), (-12, 3)]
        known = (masks[:SEARCHED], utilities[:SEARCHED])
        found = minimize(_loss, start, known, "L-BFGS-B", True, bounds=limits,
                         options={"maxiter": STEPS})  # fmt: skip
        return cls(found.x)

    def parts(self, masks: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the product, the linear part and the levels of sizes, each (m, m)."""
        signs, sizes = 2.0 * masks - 1, masks.sum(axis=1)
        n_players = masks.shape[1]
        product = np.exp(0.5 * ((signs * self.rates) @ signs.T - self.rates.sum()))
        levels = np.where((sizes == 0) | (sizes == n_players), FREE, self.level)
        same = (sizes[:, None] == sizes) * levels
        return product, self.linear * (signs @ signs.T) / n_players, same

    def pairs(self, masks: BoolArray, utilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means and variances of all pairs, as symmetric matrices."""
        n_players, sizes = masks.shape[1], masks.sum(axis=1)
        product, linear, same = self.parts(masks)
        covariance = product + linear + same + self.constant
        covariance[np.diag_indices_from(covariance)] += self.noise
        factor = cho_factor(covariance, lower=True)
        solved = cho_solve(factor, utilities)
        first, second = np.triu_indices(n_players, 1)
        stay = np.exp(-self.rates)
        rule = Quadrature.of(n_players)
        nodes, weights = rule.nodes, rule.weights
        jumps = (2.0 * masks - 1) * (1 - stay)
        cross = np.zeros((len(masks), len(first)))
        for node, weight in zip(nodes, weights, strict=True):
            share = np.where(masks, node, 1 - node)
            factors = share + (1 - share) * stay
            each = jumps / factors
            cross += weight * factors.prod(axis=1)[:, None] * each[:, first] * each[:, second]
        # Of the levels of sizes, the ends and the sizes next to them count alone.
        at_ends = (sizes == 0) | (sizes == n_players)
        beside = (sizes == 1) + 1.0 * (sizes == n_players - 1)
        cross += ((FREE * at_ends - self.level * beside) / (n_players - 1))[:, None]
        p, q = nodes[:, None, None], nodes[None, :, None]
        both = p * q + (1 - p) * (1 - q)
        logs = np.log(both + (1 - both) * stay)
        rest = logs.sum(axis=2)[..., None]
        prior = np.array([
            4 * (1 - stay[i]) * (1 - stay[j])
            * (weights @ np.exp(rest[..., 0] - logs[..., i] - logs[..., j]) @ weights)
            for i, j in zip(first, second, strict=True)
        ])  # fmt: skip
        prior += 2 * (FREE + self.level) / (n_players - 1) ** 2
        explained = np.square(solve_triangular(factor[0], cross, lower=True)).sum(axis=0)
        # How far the process misses coalitions left out one by one, where it misses more than said.
        scale = float(utilities @ solved) / len(utilities)
        inverse = np.diag(cho_solve(factor, np.eye(len(masks))))
        missed = np.square(solved) / (inverse * scale)
        between = (sizes > 1) & (sizes < n_players - 1)
        scale *= max(1.0, float(missed[between].mean())) if between.any() else 1.0
        means, variances = np.zeros((2, n_players, n_players))
        means[first, second] = cross.T @ solved
        variances[first, second] = scale * np.maximum(prior - explained, 0.0)
        return means + means.T, variances + variances.T


def _loss(
    parameters: FloatArray, masks: BoolArray, utilities: FloatArray
) -> tuple[float, FloatArray]:
    """Return the loss of parameters (less the log likelihood, and a prior) and its gradient."""
    process, count = _Process(parameters), len(utilities)
    product, linear, same = process.parts(masks)
    covariance = product + linear + same + process.constant + process.noise * np.eye(count)
    try:
        factor = cho_factor(covariance, lower=True)
    except LinAlgError:
        return 1e10, np.zeros_like(parameters)
    solved = cho_solve(factor, utilities)
    scale = float(utilities @ solved) / count
    rates = parameters[:-4] - parameters[:-4].mean()
    loss = 0.5 * count * np.log(scale) + float(np.log(np.diag(factor[0])).sum())
    loss += 0.5 * float(np.square(rates / RATE_SPREAD).sum())
    slopes = np.outer(solved, solved) / scale - cho_solve(factor, np.eye(count))
    signs, weighted = 2.0 * masks - 1, slopes * product
    apart = weighted.sum() - (signs * (weighted @ signs)).sum(axis=0)
    others = [(slopes * linear).sum(), process.constant * slopes.sum(),
              process.noise * np.trace(slopes), (slopes * same).sum()]  # fmt: skip
    return loss, np.append(
        0.25 * process.rates * apart + rates / RATE_SPREAD**2, -0.5 * np.array(others)
    )
