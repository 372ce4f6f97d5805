"""The plan of greedy active estimation: whose marginal contribution is next, and at which size.

With invariabilities r_i and counts m_i the fidelity scores are f_i = m_i·r_i. Greedy selection
samples the player with the lowest score, which maximises the lowest score of all (Proposition 2 of
the paper). Several selections at once raise f_i by r_i for each: the water level rises, and nobody
else's score changes.

With ε1 given, Remark 1 of the paper selects for the product p = ∏(1 − 1/(ε1²·f_i)) instead: the
largest factor Δp = p'/p = (ε1²·r − 1/(m + 1))/(ε1²·r − 1/m) that one more contribution gains. Since
Δp − 1 = 1/((m + 1)·(ε1²·f − 1)), that is the lowest (m + 1)·(ε1²·f − 1). While ε1²·f ≤ 1 a
player's factor is not positive and says nothing (Chebyshev's bound is empty): the lowest f first.

A proposal q'(c) is the probability with which a player is put behind c predecessors. Importance
sampling draws the size c from q' instead of the semivalue's own α_c (Shapley: 1/n) and weights the
marginal contribution by α_c/q'(c). The variance is least for q'(c) proportional to α_c·√E[σ²] over
the coalitions of size c (`eq:optimal_q_card`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws import random_sizes
from fairshapley.errors import InputError
from fairshapley.estimators.moments import Means

# The least share of α_c in a learned proposal, which is what α = 0 leaves. A share η bounds every
# weight by 1/η = 20 and raises the second moment Σ α²E[σ²]/q' at most by 1/(1 − η), 5 %; without it
# a size at which the bootstrap saw only zeros would never be drawn and the estimate be biased.
MIN_SHARE = 0.05
# How far given probabilities may be from adding up to 1.
SUM_TOLERANCE = 1e-6


def invariability(values: FloatArray, variances: FloatArray, xi: float) -> FloatArray:
    """Return r_i = (|φ_i| + ξ)² / V_i, the fidelity of one contribution with the variance V_i.

    Infinite where the variance is 0, and NaN where it is unknown (NaN).

    Examples
    --------
    >>> invariability(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, np.nan]), 1.0)
    array([ 2., inf, nan])
    """
    positive = variances > 0
    ratio = np.square(np.abs(values) + xi) / np.where(positive, variances, 1.0)
    return np.where(positive, ratio, np.where(variances == 0, np.inf, np.nan))


def selection_keys(
    rates: FloatArray,
    attempts: IntArray | FloatArray,
    epsilon1: float | None = None,
    due: IntArray | None = None,
) -> FloatArray:
    """Return the numbers of which the lowest is selected; 0 before any or `due` attempts.

    Without `epsilon1` it is the fidelity f = attempts·r. With it, x = ε1²·f up to 1, and then
    1 + (attempts + 1)·(x − 1), which falls as Δp of Remark 1 rises.

    Examples
    --------
    >>> selection_keys(np.array([0.5]), np.array([4]))
    array([2.])
    >>> selection_keys(np.array([0.5, 0.5]), np.array([4, 0]), 1.0)
    array([6., 0.])
    """
    started = (attempts > 0) & (attempts >= (0 if due is None else due))
    keys = np.where(started, attempts, 1.0) * rates
    if epsilon1 is not None:
        keys = epsilon1**2 * keys
        keys = np.where(keys <= 1, keys, 1.0 + (attempts + 1) * (keys - 1.0))
    return np.where(started, keys, 0.0)


def pick(
    rates: FloatArray,
    attempts: IntArray | FloatArray,
    picks: int,
    epsilon1: float | None = None,
    due: IntArray | None = None,
) -> IntArray:
    """Return the next `picks` players, each chosen as if the picks before it had been told.

    `attempts` counts contributions and failed tries: a player whose evaluations fail has had its
    turn. A player with fewer than `due` attempts comes before the others. Ties go to the player
    with the fewest attempts, then to the first.

    The keys of a player rise with its attempts, so that these are the lowest keys of all; only the
    players with the lowest present keys can have them.
    """
    due = np.zeros(len(rates), dtype=np.int64) if due is None else due
    players = np.lexsort((attempts, selection_keys(rates, attempts, epsilon1, due)))[:picks]
    tries = (attempts[players, None] + np.arange(picks)).ravel()
    players = np.repeat(players, picks)
    keys = selection_keys(rates[players], tries, epsilon1, due[players])
    lowest = np.flatnonzero(keys <= np.partition(keys, picks - 1)[picks - 1])
    order = np.lexsort((players[lowest], tries[lowest], keys[lowest]))[:picks]
    return players[lowest[order]]


class SizeStatistics:
    """Moments of the marginal contributions by size, pooled over players or for each player.

    For each player they take n² numbers.
    """

    def __init__(self, n_players: int, *, per_player: bool = False) -> None:
        self.n_players = n_players
        self.pooled = Means(n_players)
        self.own = Means(n_players * n_players) if per_player else None

    def add(self, players: IntArray, sizes: IntArray, marginals: FloatArray) -> None:
        """Fold in marginal contributions, unweighted."""
        self.pooled.add_at(sizes, marginals)
        if self.own is not None:
            self.own.add_at(self.n_players * players + sizes, marginals)

    def second_moments(self) -> FloatArray:
        """Return E[σ²] by size, of shape (n,), or by player and size, (n, n).

        A size that a player never saw takes the pooled value; a size that nobody saw (all its
        evaluations failed) takes the mean over the sizes.
        """
        pooled, seen = _squares(self.pooled), self.pooled.counts > 0
        pooled = np.where(seen, pooled, pooled[seen].mean() if seen.any() else 0.0)
        if self.own is None:
            return pooled
        shape = (self.n_players, self.n_players)
        seen = self.own.counts.reshape(shape) > 0
        return np.where(seen, _squares(self.own).reshape(shape), pooled)

    def explained_by_size(self) -> float:
        """Return the number of `size_explained_variance`."""
        counts, means = self.pooled.counts, self.pooled.means
        total, sizes = int(counts.sum()), int(np.count_nonzero(counts))
        if total <= sizes:
            return float("nan")
        within = float(self.pooled.squares.sum())
        mean = float(counts @ means) / total
        overall = within + float(counts @ np.square(means - mean))
        if overall == 0:
            return 0.0
        return max(0.0, 1.0 - (within / (total - sizes)) / (overall / (total - 1)))


def _squares(means: Means) -> FloatArray:
    """Return the mean squares of what was folded in."""
    squares: FloatArray = means.squares / np.maximum(means.counts, 1) + np.square(means.means)
    return squares


def size_explained_variance(sizes: ArrayLike, marginals: ArrayLike) -> float:
    """Return the share of the marginal contributions' variance that the size explains.

    1 − (variance within sizes)/(variance), with both sums of squares over their degrees of
    freedom (the adjusted R²), so that a game in which sizes do not matter gives about 0 from
    however few marginals. This is the paper's cardinality assumption as a number: near 1 trust the
    learned proposal (a small α), near 0 the uniform one (a large α).

    Parameters
    ----------
    sizes
        The number of predecessors of each marginal contribution.
    marginals
        The marginal contributions, of any players; NaN is left out.

    Returns
    -------
    float
        Between 0 and 1; NaN when no size was seen twice.

    Examples
    --------
    >>> size_explained_variance([0, 0, 1, 1], [1.0, 1.0, 3.0, 3.0])
    1.0
    >>> size_explained_variance([0, 0, 1, 1], [1.0, 3.0, 1.0, 3.0])
    0.0
    """
    places = np.asarray(sizes, dtype=np.int64)
    values = np.asarray(marginals, dtype=np.float64)
    if places.shape != values.shape or places.ndim != 1 or places.size == 0:
        raise InputError(f"give one size per marginal, not {places.shape} and {values.shape}")
    statistics = SizeStatistics(int(places.max()) + 1)
    statistics.add(places, places, values)
    return statistics.explained_by_size()


def learned_proposal(second_moments: FloatArray, base: FloatArray, alpha: float) -> FloatArray:
    """Return the MAP estimate of q' with a Dirichlet prior (App. "Estimating the Parameters").

    θ_c ∝ n·w_c + α with w_c ∝ √E[σ²], which is a mixture of w and the uniform distribution with
    the share α/(1 + α). For semivalues w_c ∝ α_c·√E[σ²] is mixed with α_c, so that α → ∞ gives
    plain Monte Carlo there too. The share is at least `MIN_SHARE`.

    Examples
    --------
    >>> base = np.array([0.5, 0.5])
    >>> learned_proposal(np.array([9.0, 1.0]), base, alpha=1.0)
    array([0.625, 0.375])
    >>> learned_proposal(np.array([9.0, 0.0]), base, alpha=0.0)
    array([0.975, 0.025])
    """
    prior = alpha * base.size
    share = max(prior / (base.size + prior), MIN_SHARE)
    return (1.0 - share) * row_normalised(base * np.sqrt(second_moments), base) + share * base


def plain_probabilities(proposal: object) -> tuple[float | tuple[float, ...], ...]:
    """Return probabilities by size, or by player and size, as tuples."""
    try:
        q = np.asarray(proposal, dtype=np.float64)
    except (TypeError, ValueError):
        q = np.empty(0)
    if q.ndim not in (1, 2) or q.size == 0:
        raise InputError(
            "proposal must be 'pooled', 'per-player', or probabilities: one for each size, or one "
            f"such row per player, all of the same length; not {proposal!r}"
        )
    return tuple(row if isinstance(row, float) else tuple(row) for row in q.tolist())


def given_proposal(proposal: ArrayLike, n_players: int) -> FloatArray:
    """Check a user's proposal: (n,) for all players or (n, n), one row for each."""
    q = np.asarray(proposal, dtype=np.float64)
    if q.shape not in ((n_players,), (n_players, n_players)):
        raise InputError(
            f"a proposal for {n_players} players has one probability for each size "
            f"0 … {n_players - 1}, or one such row per player; this one has shape {q.shape}"
        )
    if not (q > 0).all() or np.abs(q.sum(axis=-1) - 1.0).max() > SUM_TOLERANCE:
        raise InputError(
            "the probabilities of a proposal must be positive for every size, or the estimate is "
            "biased, and add up to 1"
        )
    return q / q.sum(axis=-1, keepdims=True)


def proposed_sizes(rng: np.random.Generator, proposal: FloatArray, players: IntArray) -> IntArray:
    """Return one size for each of the players, drawn from its proposal."""
    if proposal.ndim == 1:
        return random_sizes(rng, len(players), proposal)
    cumulative = np.cumsum(proposal[players], axis=1)
    levels = rng.random(len(players)) * cumulative[:, -1]
    below: IntArray = (cumulative <= levels[:, None]).sum(axis=1).astype(np.int64)
    return np.minimum(below, len(proposal) - 1)


def row_normalised(weights: FloatArray, base: FloatArray) -> FloatArray:
    """Scale rows to add up to 1; return `base` where a row is all zero."""
    total = weights.sum(axis=-1, keepdims=True)
    scaled: FloatArray = weights / np.where(total > 0, total, 1.0)
    return np.where(total > 0, scaled, base)
