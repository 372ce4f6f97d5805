"""A Gaussian process on the odd part of a game, fitted to few coalitions; its values are exact.

Values with symmetric weights see only u(S) = (v(S) − v(N ∖ S))/2. A priori u is the sum of

    Σ_q h_q(s)·Σ_i b_iq·z_i    linear in the players, with z_i = ±1 and b_iq of variance c_q·ρ_i/n,
    a(s)                       a function of the size,
    a smooth function          of covariance c·sinh(G/2)/sinh(W/2): the odd part of Π_j r_j^[j
                               differs], with G = Σ_j w_j·z_j·z'_j, w_j = −log r_j = ω·ρ_j,
    ε(S)                       what is left, independent from coalition to coalition.

ρ_i says how much player i matters; the logarithms of the ρ_i are pulled towards 0. All parameters
maximise the likelihood times weak priors. ε is a part of the game, not noise of an observation: a
coalition that was evaluated contributes its own ε to the values. Where utilities are random, the
known variance of the noise is taken off that of ε: noise contributes nothing.

The multilinear extension of a product over the players is a product at every p. So the values
of the smooth part are integrals of a polynomial of degree n − 1 over p, and Gaussian quadrature
with n/2 nodes is exact. No coalition is enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.special import gammaln, roots_sh_jacobi

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.adjusted.size_bases import orthonormal, paired_functions
from fairshapley.semivalues import Banzhaf, BetaShapley, Semivalue, Shapley

Noise: TypeAlias = tuple[float, float]
"""The least and the most that the variance of an observation's noise may be"""

# Parameters, all as logarithms: the variances c_q of the two further slopes, of the size function
# and of the smooth part; ω; the variance of ε, and what single players have of it beyond that. The
# linear part has variance 1; one scale for all follows in closed form. Their priors have these
# means and deviations: ω differs by factors of e² between smooth games and those with steps, ε by
# more. The bounds only keep the search from where exponentials overflow.
N_SLOPES = 2
PRIOR_MEANS = np.array([-4.0, -4.0, 0.0, 0.0, -2.0, -6.0, -6.0])
PRIOR_DEVIATIONS = np.array([2.0, 2.0, 3.0, 2.0, 2.0, 4.0, 4.0])
LOWEST = np.array([-14.0, -14.0, -14.0, -14.0, -9.0, -20.0, -20.0])
HIGHEST = np.array([6.0, 6.0, 12.0, 6.0, 2.0, 6.0, 6.0])
OFFSET, SMOOTH, RATE, REST, SINGLE = 2, 3, 4, 5, 6
# Log ρ_i lies within ± 3, a factor of 20: with wider bounds the votes of 50 players were fitted by
# a few of them, and predicted by none.
MAX_RELEVANCE = 3.0
# Added to the diagonal, so that an additive game can be inverted.
JITTER = 1e-9
# What rounding leaves of a value when nearly singular matrices are solved, as a share of the
# largest gain: on additive games errors of 2e-7 were seen.
PRECISION = 1e-6
SHAPLEY = Shapley()
# Games that share their parameters are alike: they weigh no more than this many.
MAX_GAMES = 4
# Where the search for ω starts: smooth, and rough.
STARTS = (-3.0, -1.0)


@dataclass(frozen=True)
class Prior:
    """What a process may be made of."""

    relevance: float
    """The standard deviation of log ρ_i; 0 for players that are alike"""
    slopes: bool = False
    """Whether slopes vary with the size"""
    offsets: bool = True
    """Whether there is a function of the size"""
    players: bool = True
    """Whether it tells players apart at all"""
    smooth: bool = True
    """Whether there is a smooth part"""


@dataclass(frozen=True, eq=False)
class SizeCurves:
    """Functions of the size, as tables over 0 … n: slopes are even, offsets are odd."""

    slopes: FloatArray
    offsets: FloatArray

    @classmethod
    @cache
    def of(cls, n_players: int) -> SizeCurves:
        """Orthonormal under the base plan of the sizes; the constant slope is left out.

        Examples
        --------
        >>> SizeCurves.of(10).slopes.shape
        (2, 11)
        """
        sizes = np.arange(n_players + 1.0)
        usage = np.zeros(n_players + 1)
        usage[1:-1] = 1.0 / np.sqrt(sizes[1:-1] * (n_players - sizes[1:-1]))
        even, odd = (orthonormal(some, usage) for some in paired_functions(sizes, n_players))
        # On tiny games some depend on the others.
        slopes = np.zeros((N_SLOPES, n_players + 1))
        slopes[: len(even) - 1] = even[1:]
        return cls(slopes, odd)


class Observations:
    """Coalitions S with u(S), and what does not change while parameters are searched.

    The gains may be those of several games, one column each.
    """

    def __init__(self, masks: FloatArray, gains: FloatArray) -> None:
        self.masks, self.gains = masks, gains
        self.count, self.n_players = masks.shape
        self.signs: FloatArray = 2.0 * masks - 1.0
        self.sizes: IntArray = masks.sum(axis=1).astype(np.int64)
        self.curves = SizeCurves.of(self.n_players)
        self.slopes = self.curves.slopes[:, self.sizes]
        self.offsets = self.curves.offsets[:, self.sizes]
        self.single: FloatArray = _single(self.sizes, self.n_players)

    @cached_property
    def slope_products(self) -> FloatArray:
        """h_q(s)·h_q(s') of all pairs of coalitions."""
        return self.slopes[:, :, None] * self.slopes[:, None, :]

    @cached_property
    def offset_products(self) -> FloatArray:
        """Σ_j a_j(s)·a_j(s')."""
        return self.offsets.T @ self.offsets

    def some(self, rows: slice | IntArray) -> Observations:
        """Some of them."""
        return Observations(self.masks[rows], self.gains[rows])


class _Covariance:
    """The covariance matrix of the observations for given parameters, and its parts."""

    def __init__(self, seen: Observations, prior: Prior, at: FloatArray) -> None:
        n = seen.n_players
        self.scales = np.exp(at[: len(PRIOR_MEANS)])
        self.scales[:N_SLOPES] *= prior.slopes
        self.scales[SINGLE] *= prior.slopes
        self.scales[OFFSET] *= prior.offsets
        self.scales[SMOOTH] *= prior.players and prior.smooth
        self.relevance = np.exp(at[len(PRIOR_MEANS) :]) if prior.relevance else np.ones(n)
        self.linear: FloatArray = (seen.signs * self.relevance) @ seen.signs.T / n
        rate = self.scales[RATE]
        self.width = rate * float(self.relevance.sum())
        common = (n * rate) * self.linear
        same = np.exp(0.5 * (common - self.width))
        apart = np.exp(-0.5 * (common + self.width))
        self.span = -np.expm1(-self.width)
        self.smooth: FloatArray = (same - apart) / self.span
        self.slope: FloatArray = (same + apart) / self.span
        self.amount: FloatArray | float = 1.0
        self.matrix: FloatArray = self.linear * float(prior.players)
        if prior.slopes:
            weights = self.scales[:N_SLOPES]
            self.amount = 1.0 + np.tensordot(weights, seen.slope_products, axes=1)
            self.matrix *= self.amount
        self.matrix += self.scales[OFFSET] * seen.offset_products
        self.matrix += self.scales[SMOOTH] * self.smooth
        self.matrix[np.diag_indices(seen.count)] += self.rest(seen.single)

    def rest(self, single: FloatArray) -> FloatArray:
        """The variance of ε at coalitions of single players, or of all but one, and at others."""
        return self.scales[REST] + JITTER + self.scales[SINGLE] * single


def _single(sizes: IntArray, n_players: int) -> FloatArray:
    """1 for a single player, or for all but one."""
    return ((sizes == 1) | (sizes == n_players - 1)).astype(np.float64)


def _inverse(matrix: FloatArray) -> tuple[FloatArray, float]:
    """The inverse of a positive definite matrix, and half of the logarithm of its determinant."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance is not positive definite")
    logarithm = float(np.log(np.diagonal(factor)).sum())
    inverse, failed = lapack.dpotri(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance cannot be inverted")
    # The upper triangles of both are 0.
    whole: FloatArray = inverse + inverse.T
    whole[np.diag_indices_from(whole)] = np.diagonal(inverse)
    return whole, logarithm


def _loss(at: FloatArray, seen: Observations, prior: Prior) -> tuple[float, FloatArray]:
    """Minus the logarithm of the posterior density of the parameters, and its gradient."""
    part, n = _Covariance(seen, prior, at), seen.n_players
    try:
        inverse, logarithm = _inverse(part.matrix)
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(at)
    solved = inverse @ seen.gains
    if seen.gains.ndim == 1:
        scale = max(float(seen.gains @ solved) / seen.count, 1e-300)
        loss = 0.5 * seen.count * np.log(scale) + logarithm
        outer = 0.5 * (inverse - np.outer(solved, solved / scale))
    else:  # a scale for each game; games that are alike do not count fully
        count = solved.shape[1]
        weight = min(count, MAX_GAMES)
        each = np.maximum((seen.gains * solved).sum(axis=0) / seen.count, 1e-300)
        loss = weight * (0.5 * seen.count * float(np.log(each).mean()) + logarithm)
        outer = (0.5 * weight) * (inverse - (solved / each) @ solved.T / count)
    scales, gradient = part.scales, np.zeros_like(at)
    if prior.slopes:
        weighted = outer * part.linear
        for place in range(N_SLOPES):
            gradient[place] = scales[place] * np.vdot(weighted, seen.slope_products[place])
        gradient[SINGLE] = scales[SINGLE] * (np.diagonal(outer) @ seen.single)
    gradient[OFFSET] = scales[OFFSET] * np.vdot(outer, seen.offset_products)
    gradient[SMOOTH] = scales[SMOOTH] * np.vdot(outer, part.smooth)
    gradient[REST] = scales[REST] * np.trace(outer)
    # d sinh(G/2)/sinh(W/2) = (cosh(G/2) dG − sinh(G/2)·coth(W/2) dW)/(2 sinh(W/2))
    curved = outer * part.slope
    widening = -0.5 * gradient[SMOOTH] * (2.0 - part.span) / part.span
    bend = 0.5 * scales[SMOOTH] * n * scales[RATE]
    gradient[RATE] = bend * np.vdot(curved, part.linear) + widening * part.width
    if prior.relevance:
        pull = outer * part.amount + bend * curved
        own = np.einsum("ti,ti->i", seen.signs, pull @ seen.signs) / n
        logs = at[len(PRIOR_MEANS) :] / prior.relevance
        gradient[len(PRIOR_MEANS) :] = (
            part.relevance * (own + widening * scales[RATE]) + logs / prior.relevance
        )
        loss += 0.5 * float(logs @ logs)
    off = (at[: len(PRIOR_MEANS)] - PRIOR_MEANS) / PRIOR_DEVIATIONS
    gradient[: len(PRIOR_MEANS)] += off / PRIOR_DEVIATIONS
    return float(loss + 0.5 * (off @ off)), gradient


def search(seen: Observations, prior: Prior, starts: list[FloatArray], passes: int) -> FloatArray:
    """The best parameters found from these starts."""
    extra = seen.n_players if prior.relevance else 0
    low = np.concatenate([LOWEST, np.full(extra, -MAX_RELEVANCE)])
    high = np.concatenate([HIGHEST, np.full(extra, MAX_RELEVANCE)])
    found = []
    for start in starts:
        begin = np.zeros(len(PRIOR_MEANS) + extra)
        begin[: len(start)] = start[: len(begin)]
        result = minimize(
            _loss,
            begin,
            args=(seen, prior),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low.tolist(), high.tolist(), strict=True)),
            options={"maxiter": passes},
        )
        found.append((float(result.fun), np.asarray(result.x, dtype=np.float64)))
    return min(found, key=lambda one: one[0])[1]


def start_at(rate: float) -> FloatArray:
    """The means of the priors, but for ω."""
    start = PRIOR_MEANS.copy()
    start[RATE] = rate
    return start


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Nodes p and weights with which integrals of polynomials of degree n − 1 are exact."""

    nodes: FloatArray
    weights: FloatArray

    @classmethod
    @cache
    def of(cls, n_players: int, semivalue: Semivalue = SHAPLEY) -> Quadrature:
        """A value is a mean over p: uniform for Shapley, a Beta density, or p = ½ for Banzhaf.

        Examples
        --------
        >>> rule = Quadrature.of(4)
        >>> round(float(rule.weights @ rule.nodes**3), 12)
        0.25
        """
        if isinstance(semivalue, Banzhaf):
            return cls(np.array([0.5]), np.array([1.0]))
        if isinstance(semivalue, BetaShapley):
            a, b = semivalue.a, semivalue.b
            nodes, weights = roots_sh_jacobi(n_players // 2 + 1, a + b - 1.0, b)
            return cls(nodes, weights / weights.sum())
        nodes, weights = np.polynomial.legendre.leggauss(n_players // 2 + 1)
        return cls(0.5 * (nodes + 1.0), 0.5 * weights)


class Process:
    """A process whose parameters are settled.

    Parameters
    ----------
    seen
        What it is conditioned on.
    prior, at
        What it is made of, and its parameters.
    noise
        The part of an observation's variance that is not the game's: at least, and at most.
    """

    def __init__(
        self, seen: Observations, prior: Prior, at: FloatArray, noise: Noise = (0.0, 0.0)
    ) -> None:
        self.seen, self.prior, self.at, self.noise = seen, prior, at, noise
        self.part = _Covariance(seen, prior, at)
        self.inverse, _ = _inverse(self.part.matrix)
        self.coefficients: FloatArray = self._solve(seen.gains)

    def _solve(self, right: FloatArray) -> FloatArray:
        """The covariance's inverse times this.

        Once more with what the inverse leaves: the matrix of an additive game is nearly singular.
        """
        solved = self.inverse @ right
        return solved + self.inverse @ (right - self.part.matrix @ solved)

    @property
    def scale(self) -> float:
        """The variance that the process has per unit of its covariance."""
        product = float(self.seen.gains @ self.coefficients)
        return product / self.seen.count if product > 0 else 0.0

    def _own(self, single: FloatArray, noise: float) -> FloatArray:
        """The variance of ε without noise, in units of the scale."""
        rest = self.part.rest(single)
        return np.maximum(rest - noise / max(self.scale, 1e-300), 0.0) if noise else rest

    @property
    def left_out(self) -> FloatArray:
        """The error at each coalition, predicted from all the others."""
        return self.coefficients / np.diagonal(self.inverse)

    def predict(self, masks: FloatArray) -> FloatArray:
        """The gains of coalitions that it has not seen."""
        return self.covariance(masks) @ self.coefficients

    def covariance(self, masks: FloatArray) -> FloatArray:
        """That of coalitions with each observation, but for ε."""
        seen, part = self.seen, self.part
        other = Observations(masks, np.zeros(len(masks)))
        linear = (other.signs * part.relevance) @ seen.signs.T / seen.n_players
        common = seen.n_players * part.scales[RATE] * linear
        same, apart = np.exp(0.5 * (common - part.width)), np.exp(-0.5 * (common + part.width))
        if self.prior.slopes:
            varied = (other.slopes.T * part.scales[:N_SLOPES]) @ seen.slopes
            linear = linear * (1.0 + varied)
        covariance = linear * float(self.prior.players)
        covariance += part.scales[OFFSET] * (other.offsets.T @ seen.offsets)
        covariance += part.scales[SMOOTH] * (same - apart) / part.span
        return covariance

    def values(self, singles: Observations | None = None) -> tuple[FloatArray, FloatArray]:
        """Means and variances of the Shapley values, less their mean over the players.

        That mean is known: Shapley values add up to v(N) − v(∅). Single players that the process
        was not told of may be given here: they count for themselves.
        """
        alone = _alone(self.seen)
        # What is known of ε is taken for as little as it may be, what is there for as much.
        cross = self.cross() + 2.0 * self._own(self.seen.single, self.noise[1])[:, None] * alone
        cross = cross - cross.mean(axis=1, keepdims=True)
        known = 0.0 if singles is None else singles.count / self.seen.n_players
        unseen = self._rest_of_all(known)
        explained = np.einsum("ti,ti->i", cross, self._solve(cross))
        seen = 4.0 * self._own(self.seen.single, self.noise[0]) @ np.square(alone)
        # Nothing is known of ε at coalitions that were not seen. Rounding must not hide that where
        # the rest is explained.
        least = np.maximum(unseen - seen, 0.0)
        variances = self.scale * np.maximum(self._before() + unseen - explained, least)
        means = self.coefficients @ cross
        if singles is not None:
            own = 2.0 * (singles.gains - self.predict(singles.masks)) @ _alone(singles)
            means += own - own.mean()
        return means, variances

    def _lines(self, semivalue: Semivalue) -> list[tuple[float, FloatArray, float, float]]:
        """The linear terms: variance, slope at each coalition, own and others' coefficients.

        The value of h(s)·Σ_j b_j·z_j is own·b_i + others·Σ_{j≠i} b_j.
        """
        n, before = self.seen.n_players, np.arange(self.seen.n_players)
        alphas = semivalue.weights(n)
        lines = [(float(self.prior.players), np.ones(self.seen.count), 2.0, 0.0)]
        if self.prior.slopes:
            for place, curve in enumerate(self.seen.curves.slopes):
                steps = np.diff(curve)
                own = float(alphas @ (2.0 * curve[1:] - steps))
                others = float(alphas @ (steps * (2.0 * before / (n - 1) - 1.0)))
                variance = float(self.part.scales[place])
                lines.append((variance, self.seen.slopes[place], own, others))
        return lines

    def cross(self, semivalue: Semivalue = SHAPLEY) -> FloatArray:
        """The covariance of each observation with each value, but for ε and the size function."""
        seen, part, n = self.seen, self.part, self.seen.n_players
        coefficients = part.relevance * seen.signs / n
        total = coefficients.sum(axis=1, keepdims=True)
        cross = np.zeros((seen.count, n))
        for variance, slopes, own, others in self._lines(semivalue):
            line = (own - others) * coefficients + others * total
            cross += variance * slopes[:, None] * line
        if not self.prior.smooth:
            return cross
        rule = Quadrature.of(n, semivalue)
        differs = np.exp(-part.scales[RATE] * part.relevance)
        with_it = np.where(seen.masks > 0, 1.0, differs)
        without = np.where(seen.masks > 0, differs, 1.0)
        smooth = np.zeros((seen.count, n))
        for node, weight in zip(rule.nodes, rule.weights, strict=True):
            mixed = node * with_it + (1.0 - node) * without
            smooth += weight * (np.exp(np.log(mixed).sum(axis=1, keepdims=True)) / mixed)
        cross += (2.0 * part.scales[SMOOTH] / part.span) * (with_it - without) * smooth
        return cross

    def shared_cross(self, semivalue: Semivalue) -> FloatArray:
        """The covariance of each observation with what the size function adds to each value."""
        steps = np.diff(self.seen.curves.offsets, axis=1) @ semivalue.weights(self.seen.n_players)
        shared: FloatArray = self.part.scales[OFFSET] * (steps @ self.seen.offsets)
        return shared

    def _before(self) -> FloatArray:
        """The prior variance of each value less their mean, but for ε."""
        part, n = self.part, self.seen.n_players
        rule = Quadrature.of(n)
        covariance = np.zeros((n, n))
        shares = part.relevance / n
        for variance, _, own, others in self._lines(SHAPLEY):
            # Less the mean over the players, own·b_i + others·Σ_{j≠i} b_j is (own − others)·b_i.
            covariance[np.diag_indices(n)] += variance * (own - others) ** 2 * shares
        differs = np.exp(-part.scales[RATE] * part.relevance)
        jump = 1.0 - differs
        smooth = np.zeros((n, n))
        for node, weight in zip(rule.nodes, rule.weights, strict=True):
            other = rule.nodes
            meet = node * other + (1.0 - node) * (1.0 - other)
            each = meet[:, None] + np.outer(1.0 - meet, differs)
            whole = np.exp(np.log(each).sum(axis=1)) * (weight * rule.weights)
            one, two = (2.0 * other - 1.0)[:, None] * jump / each, (2.0 * node - 1.0) * jump / each
            mixed = (one * whole[:, None]).T @ two
            np.fill_diagonal(mixed, (whole @ (2.0 * jump / each)))
            smooth += mixed
        covariance += (2.0 * part.scales[SMOOTH] / part.span) * smooth
        centred = covariance - covariance.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        return np.diagonal(centred)

    def _rest_of_all(self, known: float) -> float:
        """The variance that ε gives to a value, where it is known of a share of single players."""
        n = self.seen.n_players
        sizes = np.arange(1, n)
        inside, outside = _own_weights(sizes, n)
        # Of the coalitions of a size, s/n hold a player.
        ways = np.exp(gammaln(n + 1.0) - gammaln(sizes + 1.0) - gammaln(n - sizes + 1.0)) / n
        single = _single(sizes, n)
        rest = self._own(single, self.noise[0]) * (1.0 - known * single)
        return 2.0 * float(rest @ (ways * (sizes * inside**2 + (n - sizes) * outside**2)))


def _alone(seen: Observations) -> FloatArray:
    """The weight of each coalition, for itself, in the value of each player."""
    inside, outside = _own_weights(seen.sizes, seen.n_players)
    return np.where(seen.masks > 0, inside[:, None], -outside[:, None])


def _own_weights(sizes: IntArray, n_players: int) -> tuple[FloatArray, FloatArray]:
    """The weight of one coalition in the value of a player in it, and minus that of one outside."""
    log_ways = gammaln(n_players + 1.0) - gammaln(sizes + 1.0) - gammaln(n_players - sizes + 1.0)
    each, rest = np.exp(-log_ways), n_players - sizes
    inside = np.where(sizes > 0, each / np.maximum(sizes, 1), 0.0)
    outside = np.where(rest > 0, each / np.maximum(rest, 1), 0.0)
    return inside, outside
