"""Unbiased KernelSHAP: the mean of coalitions weighted by their utility (Covert & Lee 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.draws import FreshCoalitions, ListedCoalitions, random_ranks, random_sizes
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.rounds import busy_units, early_length, round_length
from fairshapley.estimators.statistics.moments import ROUNDING, Moments

# Rounds grow to 256 coalitions; the random permutations behind them stay small at any n.
MOST_COALITIONS = 256
# Its matrix has n² entries and costs n² operations for each contribution.
MAX_COVARIANCE_PLAYERS = 1000


def size_probabilities(n_players: int) -> FloatArray:
    """p(s) ∝ 1/(s(n − s)) for the sizes s = 1 … n − 1: how often KernelSHAP draws each.

    Examples
    --------
    >>> size_probabilities(4).round(4)
    array([0.3636, 0.2727, 0.3636])
    """
    sizes = np.arange(1.0, n_players)
    weights: FloatArray = 1.0 / (sizes * (n_players - sizes))
    return weights / weights.sum()


def expected_products(n_players: int) -> tuple[float, float]:
    """The entries of A = E[z zᵀ]: (A_ii, A_ij) = (1/2, 1/2 − 1/(2·H)), H = 1 + 1/2 + … + 1/(n − 1).

    Covert & Lee (2021, appendix; quoted in the paper's) give A_ij as a quotient of two sums. It
    simplifies: A_ii − A_ij is the probability that z holds i and not j, Σ_s p(s)·s(n − s)/(n(n −
    1)), in which p(s)·s(n − s) is the constant n/(2·H).

    Examples
    --------
    >>> expected_products(2), expected_products(3)
    ((0.5, 0.0), (0.5, 0.16666666666666669))
    """
    if n_players == 1:
        return 0.5, 0.0  # there is no other player: any number would do
    return 0.5, 0.5 - 0.5 / float((1.0 / np.arange(1.0, n_players)).sum())


def check_shapley(problem: Problem, method: str) -> None:
    """An InputError for another semivalue."""
    n_players = problem.n_players
    if not np.allclose(problem.semivalue.weights(n_players) * n_players, 1.0, rtol=1e-9):
        raise InputError(
            f"{method} estimates Shapley values, not {problem.semivalue.name!r}: the weights of "
            "its regression are theirs. Use 'mc', 'stratified' or 'owen'"
        )


@dataclass(eq=False)
class KernelState:
    """The problem, the moments of the contributions, and their products when asked for."""

    problem: Problem
    probabilities: FloatArray
    """Of the sizes 1 … n − 1"""
    scale: float
    """1/(A_ii − A_ij) = 2·H"""
    moments: Moments
    products: FloatArray | None
    """Σ (x − x̄)(x − x̄)ᵀ over the contributions x"""
    told: int = 0
    """The samples told so far; a pair is one"""


@dataclass(frozen=True, kw_only=True)
class UnbiasedKernelSHAP(Estimator[KernelState, ListedCoalitions]):
    """Unbiased KernelSHAP, the form with the exact matrix A (Covert & Lee 2021, section 3.2).

    Coalitions z with sizes p(s) ∝ 1/(s(n − s)) give b̄, the mean of z·(v(z) − v(∅)), and

        φ̂ = A⁻¹(b̄ − 1·(1ᵀA⁻¹b̄ − v(N) + v(∅))/(1ᵀA⁻¹1)).

    A has one number on its diagonal and one beside it. With both put in, each sample has the
    contribution (v(N) − v(∅))/n + (v(z) − v(∅))·(z_i − |z|/n)/(A_ii − A_ij) to φ̂_i: no matrix is
    needed, and the standard errors are those of a mean of independent samples. Being unbiased, it
    is not exact on additive games, as the KernelSHAP that solves for the sampled A is.

    Parameters
    ----------
    paired
        Take each coalition with its complement. The pair's mean is one contribution: v(∅) and all
        interactions of two players cancel in it.
    covariance
        Keep what the covariance of the estimate needs, up to 1000 players. The notes of a result
        then name the largest correlation; the matrix itself belongs to the state, which a run by
        hand gives (second example).

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.regression.kernel_shap import UnbiasedKernelSHAP
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> result = fs.estimate(game, UnbiasedKernelSHAP(), budget=60, seed=0)
    >>> result.values.sum().round(6).item()
    21.0

    The covariance matrix, by asking and telling:

    >>> from fairshapley.estimators.estimator import Problem
    >>> game = fs.games.SumOfUnanimity(3, coalitions=[[0], [1, 2]], weights=[1, 2])
    >>> estimator = UnbiasedKernelSHAP(covariance=True)
    >>> state = estimator.start(Problem(3, fs.Shapley(), empty=0.0, full=3.0, xi=1e-3))
    >>> rng = np.random.default_rng(0)
    >>> while state.told < 1000:
    ...     draw = estimator.ask(state, rng)
    ...     estimator.tell(state, draw, game(draw.masks(0, len(draw))))
    >>> matrix = estimator.covariance_matrix(state)
    >>> bool(np.allclose(np.diag(matrix), estimator.estimate(state).variances))
    True
    """

    name = "kernel"
    repeats_often = True

    paired: bool = True
    covariance: bool = False

    def __post_init__(self) -> None:
        for name in ("paired", "covariance"):
            checks.settle(self, **{name: checks.flag(name, getattr(self, name))})

    @property
    def traits(self) -> Traits:
        """Unbiased and linear; every sample serves every player."""
        return Traits(exact_nulls=False, semivalues=False)

    def start(self, problem: Problem) -> KernelState:
        """No contributions yet, or an InputError when the method does not apply."""
        n_players = problem.n_players
        check_shapley(problem, "KernelSHAP")
        if self.covariance and n_players > MAX_COVARIANCE_PLAYERS:
            raise InputError(
                f"the covariance matrix is kept for up to {MAX_COVARIANCE_PLAYERS} players, there "
                f"are {n_players}: use covariance=False; standard errors need no matrix"
            )
        diagonal, beside = expected_products(n_players)
        return KernelState(
            problem,
            size_probabilities(n_players),
            1.0 / (diagonal - beside),
            Moments(n_players),
            np.zeros((n_players, n_players)) if self.covariance else None,
        )

    def ask(self, state: KernelState, rng: np.random.Generator) -> ListedCoalitions | None:
        """A few coalitions, each followed by its complement when paired."""
        n_players = state.problem.n_players
        per_sample = 2 if self.paired else 1
        early, most = early_length(n_players, per_sample), MOST_COALITIONS // per_sample
        busy = busy_units(state.problem.in_flight, per_sample)
        samples = round_length(state.told, early=early, most=most, busy=busy)
        sizes = 1 + random_sizes(rng, samples, state.probabilities)
        masks = random_ranks(rng, samples, n_players) < sizes[:, None]
        if self.paired:
            masks = np.stack([masks, ~masks], axis=1).reshape(-1, n_players)
        return FreshCoalitions.of(masks, per_sample)

    def tell(self, state: KernelState, draw: ListedCoalitions, values: FloatArray) -> None:
        """Fold in one contribution of every player for each sample."""
        problem = state.problem
        masks = draw.masks(0, len(draw))
        if self.paired:
            # With z' = 1 − z: z'_i − |z'|/n = −(z_i − |z|/n), so that v(∅) cancels.
            masks, gains = masks[::2], 0.5 * (values[::2] - values[1::2])
        else:
            gains = values - problem.empty
        contributions = masks - masks.mean(axis=1, keepdims=True)
        contributions *= (state.scale * gains)[:, None]
        contributions += (problem.full - problem.empty) / problem.n_players
        state.told += len(contributions)
        if state.products is not None:
            state.products += self._new_products(state, contributions)
        state.moments.add(contributions)

    def _new_products(self, state: KernelState, contributions: FloatArray) -> FloatArray:
        """What a batch adds to the products about the mean (Chan, Golub & LeVeque)."""
        kept = contributions[~np.isnan(contributions[:, 0])]
        if not len(kept):
            return np.zeros_like(contributions, shape=(kept.shape[1],) * 2)
        mean = kept.mean(axis=0)
        deviations = kept - mean
        before = int(state.moments.counts[0])
        shift = mean - state.moments.means
        weight = before * len(kept) / (before + len(kept))
        return deviations.T @ deviations + weight * np.outer(shift, shift)

    def estimate(self, state: KernelState) -> Estimate:
        """The means of the contributions."""
        return state.moments.estimate()

    def remarks(self, state: KernelState) -> tuple[str, ...]:
        """The largest correlation between two players' estimates, with covariance=True."""
        if state.products is None or state.problem.n_players < 2:
            return ()
        scales = np.sqrt(np.diag(state.products))
        varied = np.flatnonzero(scales > ROUNDING * scales.max())
        if int(state.moments.counts[0]) < 2 or len(varied) < 2:
            return ()
        products = state.products[np.ix_(varied, varied)]
        correlations = products / np.outer(scales[varied], scales[varied])
        np.fill_diagonal(correlations, 0.0)
        place = int(np.abs(correlations).argmax())
        first, second = (int(varied[axis]) for axis in divmod(place, len(varied)))
        return (
            f"the largest correlation between two players' estimates is "
            f"{correlations.reshape(-1)[place]:.2f}, of players {first} and {second}",
        )

    def contribution_width(self, problem: Problem, value_width: float) -> float:
        """Of (v(z) − v(∅))·(z_i − |z|/n)·2H, whose middle factor is at most 1 − 1/n."""
        diagonal, beside = expected_products(problem.n_players)
        largest = value_width * (1.0 - 1.0 / problem.n_players) / (diagonal - beside)
        # A pair's gain is half a difference of two utilities: ± width/2 instead of ± width.
        return largest if self.paired else 2.0 * largest

    def noise_share(self, state: KernelState) -> float | None:
        """Of the noise times (z_i − |z|/n)·2H, whose square has the mean |z|·(n − |z|)/n²."""
        n_players = state.problem.n_players
        if not state.told:
            return None
        shares = np.arange(1, n_players) / n_players
        square = float(state.probabilities @ (shares * (1.0 - shares))) * state.scale**2
        return square * (0.5 if self.paired else 1.0) / state.told

    def covariance_matrix(self, state: KernelState) -> FloatArray:
        """The covariance matrix of the estimate (Covert & Lee 2021, equation 12), n × n.

        NaN below two samples. Rows add up to 0, because the estimates' sum is fixed.
        """
        if state.products is None:
            raise InputError("the covariance was not kept: use UnbiasedKernelSHAP(covariance=True)")
        count = int(state.moments.counts[0])
        if count < 2:
            return np.full_like(state.products, np.nan)
        return state.products / (count * (count - 1.0))
