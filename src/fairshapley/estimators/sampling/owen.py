"""Owen sampling: the multilinear extension of the game (Owen 1972; Okhrati & Lipani 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.draws import Neighbourhoods
from fairshapley.errors import InputError
from fairshapley.estimators.estimator import Estimate, Problem, Traits
from fairshapley.estimators.rounds import walks_of_round
from fairshapley.estimators.sampling.family import Sampling, SamplingState, group_means
from fairshapley.semivalues import Banzhaf, BetaShapley, Semivalue, Shapley


@dataclass(frozen=True, kw_only=True)
class Owen(Sampling[Neighbourhoods]):
    """Sampling of the multilinear extension, φ_i = ∫₀¹ E[v(S_q ∪ i) − v(S_q ∖ i)] dq.

    S_q holds each player with probability q, independently. Whether i itself is in S_q does not
    matter for its marginal contribution, so that one set and its n neighbours give a marginal
    contribution of every player for n + 1 evaluations. The level q has the density of the
    semivalue: uniform for Shapley, Beta(b, a) for Beta(a, b) Shapley, 1/2 for Banzhaf.

    The deterministic grid of Okhrati & Lipani (trapezoid rule over q = 0, 1/Q, …, 1) is *biased*
    at any number of samples: on the unanimity game of all n players, where φ_i = 1/n, its
    expectation is 1/(2Q) + Σ_{0<j<Q} (j/Q)^(n−1)/Q, which is 0.151 instead of 0.111 for n = 9 and
    Q = 4. Here every set has a random level of its own.

    Parameters
    ----------
    antithetic
        The halved form: half of the levels, each set together with its mirror image, which has
        the level at the mirrored quantile (for Shapley and Banzhaf the complement of the set). It
        cancels every interaction of two players for those; the pair is one contribution.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.sampling.owen import Owen
    >>> game = fs.games.SumOfUnanimity(4, coalitions=[[0, 1], [1, 2], [3]], weights=[2, 4, 1])
    >>> fs.estimate(game, Owen(antithetic=True), budget=13, seed=0).values
    array([1., 3., 2., 1.])
    """

    name = "owen"

    antithetic: bool = False

    def __post_init__(self) -> None:
        checks.set_fields(self, antithetic=checks.flag("antithetic", self.antithetic))

    @property
    def traits(self) -> Traits:
        """Unbiased and linear; a set serves all players, so that the estimates are dependent."""
        return Traits(efficient=False)

    def start(self, problem: Problem) -> SamplingState:
        """Return a state without contributions; raise InputError if the levels are unknown."""
        semivalue_levels(problem.semivalue, np.empty(0))
        return super().start(problem)

    def ask(self, state: SamplingState, rng: np.random.Generator) -> Neighbourhoods | None:
        """Draw a few groups of sets with all their neighbours."""
        n_players = state.problem.n_players
        sets = self._group_size * (n_players + 1)
        groups = walks_of_round(state.told, sets, state.problem.in_flight)
        quantiles, thresholds = self._quantiles(rng, groups, n_players)
        levels = semivalue_levels(state.problem.semivalue, quantiles)
        centres = thresholds < levels[:, :, None]
        return Neighbourhoods(centres.reshape(-1, n_players), group=self._group_size)

    def contributions(
        self, state: SamplingState, draw: Neighbourhoods, values: FloatArray
    ) -> FloatArray:
        """Return the mean marginal contributions of each group, without those skipped."""
        return group_means(draw.marginal_contributions(values), self._group_size)

    def estimate(self, state: SamplingState) -> Estimate:
        """Return the means of the groups.

        m equal groups are m·Q sets that showed nothing else, not m: on a budget of few groups the
        floor of the variances would otherwise exceed those of players that do vary.
        """
        return state.moments.estimate(self._group_size)

    def contribution_width(self, problem: Problem, value_width: float) -> float:
        """Return the width of a marginal, which is that of the mean of a group too."""
        return 2.0 * value_width

    @property
    def _group_size(self) -> int:
        """The sets behind one contribution."""
        return 2 if self.antithetic else 1

    def _quantiles(
        self, rng: np.random.Generator, groups: int, n_players: int
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the quantile of each set's level, (groups, sets), and a number for each player.

        The mirror image takes 1 − u for every uniform number u, of the level and of the players.
        """
        quantiles = rng.random((groups, 1)) / self._group_size  # of a pair, below 1/2
        thresholds = rng.random((groups, 1, n_players))
        if self.antithetic:
            quantiles = np.concatenate([quantiles, 1.0 - quantiles], axis=1)
            thresholds = np.concatenate([thresholds, 1.0 - thresholds], axis=1)
        return quantiles, thresholds


def semivalue_levels(semivalue: Semivalue, quantiles: FloatArray) -> FloatArray:
    """Return the levels q at the given quantiles of the semivalue's density of levels.

    α_k = C(n−1, k)·∫ q^k (1−q)^(n−1−k) dF(q) is B(k + b, n−1−k + a)/B(a, b)·C(n−1, k) for
    q ~ Beta(b, a).

    Examples
    --------
    >>> semivalue_levels(Banzhaf(), np.array([0.1, 0.9]))
    array([0.5, 0.5])
    >>> semivalue_levels(BetaShapley(1, 2), np.array([0.25])) ** 2
    array([0.25])
    """
    if isinstance(semivalue, Shapley):
        return quantiles
    if isinstance(semivalue, Banzhaf):
        return np.full_like(quantiles, 0.5)
    if isinstance(semivalue, BetaShapley):
        return betaincinv(semivalue.b, semivalue.a, quantiles)
    raise InputError(
        f"owen knows the levels of Shapley, Beta(a, b) and Banzhaf values, not of {semivalue.name}",
        remedy="give {method:'mc'} or 'stratified'",
    )
