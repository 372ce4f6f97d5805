"""Unbiased KernelSHAP: the mean of coalitions weighted by their utility (Covert & Lee 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.draws import FreshCoalitions, ListedCoalitions, random_ranks, random_sizes
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Problem, Traits
from fairshapley.estimators.moments import ROUNDING
from fairshapley.estimators.rounds import busy_units, early_length, round_length
from fairshapley.estimators.sampling.family import Sampling, SamplingState

# Rounds grow to 256 coalitions; the random permutations behind them stay small at any n.
MAX_COALITIONS = 256


def size_probabilities(n_players: int) -> FloatArray:
    """Return p(s) ∝ 1/(s(n − s)) for the sizes s = 1 … n − 1, as KernelSHAP draws them.

    Examples
    --------
    >>> size_probabilities(4).round(4)
    array([0.3636, 0.2727, 0.3636])
    """
    sizes = np.arange(1.0, n_players)
    weights: FloatArray = 1.0 / (sizes * (n_players - sizes))
    return weights / weights.sum()


def scale(n_players: int) -> float:
    """Return 1/(A_ii − A_ij) = 2·H for A = E[z zᵀ], with H = 1 + 1/2 + … + 1/(n − 1).

    Covert & Lee (2021, appendix; quoted in the paper's) give A_ij as a quotient of two sums. It
    simplifies to 1/2 − 1/(2·H): A_ii − A_ij is the probability that z holds i and not j,
    Σ_s p(s)·s(n − s)/(n(n − 1)), in which p(s)·s(n − s) is the constant n/(2·H).

    Examples
    --------
    >>> scale(2), round(scale(3), 12)
    (2.0, 3.0)
    """
    if n_players == 1:
        return 2.0  # there is no other player: any number would do
    beside = 0.5 - 0.5 / float((1.0 / np.arange(1.0, n_players)).sum())
    return 1.0 / (0.5 - beside)


@dataclass(frozen=True, kw_only=True)
class UnbiasedKernelSHAP(Sampling[ListedCoalitions]):
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

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.sampling.kernel import UnbiasedKernelSHAP
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> result = fs.estimate(game, UnbiasedKernelSHAP(), budget=60, seed=0)
    >>> result.values.sum().round(6).item()
    21.0
    """

    name = "kernel"

    paired: bool = True

    def __post_init__(self) -> None:
        checks.set_fields(self, paired=checks.flag("paired", self.paired))

    @property
    def traits(self) -> Traits:
        """Unbiased and linear; every sample serves every player."""
        return Traits(exact_nulls=False, semivalues=False)

    def weights(self, problem: Problem) -> FloatArray:
        """Return the probabilities of the sizes 1 … n − 1."""
        return size_probabilities(problem.n_players)

    def start(self, problem: Problem) -> SamplingState:
        """Return a state without contributions; raise InputError for another semivalue."""
        n_players = problem.n_players
        if not np.allclose(problem.semivalue.weights(n_players) * n_players, 1.0, rtol=ROUNDING):
            raise InputError(
                f"KernelSHAP estimates Shapley values, not {problem.semivalue.name!r}: the weights "
                "of its regression are theirs. Use 'mc', 'stratified' or 'owen'"
            )
        return super().start(problem)

    def ask(self, state: SamplingState, rng: np.random.Generator) -> ListedCoalitions | None:
        """Draw a few coalitions, each followed by its complement when paired."""
        n_players = state.problem.n_players
        per_sample = 2 if self.paired else 1
        early, most = early_length(n_players, per_sample), MAX_COALITIONS // per_sample
        busy = busy_units(state.problem.in_flight, per_sample)
        samples = round_length(state.told, early=early, most=most, busy=busy)
        sizes = 1 + random_sizes(rng, samples, state.weights)
        masks = random_ranks(rng, samples, n_players) < sizes[:, None]
        if self.paired:
            masks = np.stack([masks, ~masks], axis=1).reshape(-1, n_players)
        return FreshCoalitions.of(masks, per_sample)

    def contributions(
        self, state: SamplingState, draw: ListedCoalitions, values: FloatArray
    ) -> FloatArray:
        """Return one contribution of every player for each sample."""
        problem = state.problem
        masks = draw.masks(0, len(draw))
        if self.paired:
            # With z' = 1 − z: z'_i − |z'|/n = −(z_i − |z|/n), so that v(∅) cancels.
            masks, gains = masks[::2], 0.5 * (values[::2] - values[1::2])
        else:
            gains = values - problem.empty
        contributions = masks - masks.mean(axis=1, keepdims=True)
        contributions *= (scale(problem.n_players) * gains)[:, None]
        contributions += (problem.full - problem.empty) / problem.n_players
        return contributions

    def contribution_width(self, problem: Problem, value_width: float) -> float:
        """Return the width of (v(z) − v(∅))·(z_i − |z|/n)·2H; |z_i − |z|/n| is at most 1 − 1/n."""
        largest = value_width * (1.0 - 1.0 / problem.n_players) * scale(problem.n_players)
        # The gain of a pair is half a difference of two utilities: ± width/2 instead of ± width.
        return largest if self.paired else 2.0 * largest
