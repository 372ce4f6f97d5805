"""The paper's propositions: variances, proposals, greedy allocations, what a fidelity is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.estimators.greedy.plan import pick, row_normalised
from fairshapley.estimators.moments import ROUNDING
from fairshapley.fairness.levels import check_delta, check_epsilon1
from fairshapley.semivalues import Semivalue, parse_semivalue

# The share of α_c in an optimal proposal unless `support` says otherwise: it raises the second
# moment of a contribution at most by 1/(1 − 1e−3), and bounds every weight by 1000.
SUPPORT = 1e-3


def optimal_proposal(
    table: ArrayLike, semivalue: str | Semivalue = "shapley", *, support: float = SUPPORT
) -> FloatArray:
    """Return the proposal with the least variance, from all utilities (`eq:optimal_q_card`).

    With the default `support` every size has a positive probability, so that the result can be
    given to ``GreedyActive(proposal=…)`` as it is.

    Parameters
    ----------
    table
        All 2**n utilities, the index a bit mask with player 0 the lowest bit.
    semivalue
        The semivalue to estimate.
    support
        The share of α_c that is mixed in, below 1. 0 gives q'* exactly, which is 0 at sizes where
        all of a player's marginals are 0: no loss for that player, but an estimator refuses a
        proposal with zeros, because in general they mean bias.

    Returns
    -------
    FloatArray
        (n, n): row i is (1 − support)·q'*_i(c) + support·α_c, with q'*_i(c) ∝ α_c·√E[σ_i²], the
        expectation over the coalitions of c others. A null player's row is α.

    Examples
    --------
    >>> optimal_proposal([0.0, 3.0, 0.0, 1.0], support=0)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    >>> optimal_proposal([0.0, 3.0, 0.0, 1.0])
    array([[7.4975e-01, 2.5025e-01],
           [5.0000e-04, 9.9950e-01]])
    """
    checks.real("support", support, least=0)
    if support >= 1:
        raise InputError(f"support must be below 1, not {support!r}")
    second, _, base = _size_moments(table, semivalue)
    return (1.0 - support) * row_normalised(base * np.sqrt(second), base) + support * base


def importance_variance(
    table: ArrayLike, proposal: ArrayLike, semivalue: str | Semivalue = "shapley"
) -> FloatArray:
    """Return the variance of a weighted marginal contribution of each player (`eq:importance_var`).

    V_i = Σ_c α_c²·E[σ_i²]/q'_i(c) − φ_i², exactly, from all utilities.

    Parameters
    ----------
    table
        All 2**n utilities, the index a bit mask with player 0 the lowest bit.
    proposal
        q'(c), one probability for each size, or one row for each player. Infinite variance where
        a size with marginals other than 0 is never drawn.
    semivalue
        The semivalue to estimate.

    Examples
    --------
    >>> importance_variance([0.0, 3.0, 0.0, 1.0], [0.5, 0.5])
    array([1., 1.])
    >>> importance_variance([0.0, 3.0, 0.0, 1.0], [[0.75, 0.25], [0.5, 0.5]])
    array([0., 1.])
    """
    second, phi, base = _size_moments(table, semivalue)
    q = np.broadcast_to(np.asarray(proposal, dtype=np.float64), second.shape)
    terms = np.square(base) * second
    with_weight = q > 0
    ratios = terms / np.where(with_weight, q, 1.0)
    ratios = np.where(with_weight, ratios, np.where(terms > 0, np.inf, 0.0))
    return np.maximum(ratios.sum(axis=1) - np.square(phi), 0.0)


def antithetic_correlation(table: ArrayLike) -> FloatArray:
    """Return the correlation of each player's marginals on a permutation and on its reverse.

    A mean of m marginals from m/2 such pairs has the variance V/m·(1 + correlation), V that of one
    (`tab:var-fairness-result`): below 0 the pairs pay. Shapley values, exactly, from all utilities;
    NaN for a player whose marginals are all equal.

    Parameters
    ----------
    table
        All 2**n utilities, the index a bit mask with player 0 the lowest bit.

    Examples
    --------
    >>> antithetic_correlation([0.0, 3.0, 0.0, 1.0])
    array([-1., -1.])
    """
    marginals, sizes = _marginals(table)
    n_players = len(marginals)
    # A set of c others is that of the predecessors with probability 1/(n·C(n − 1, c)).
    chances = 1.0 / (n_players * np.bincount(sizes)[sizes])
    phi = marginals @ chances
    variances = np.square(marginals) @ chances - np.square(phi)
    # Who comes behind in the permutation comes before in its reverse: the mask of the others.
    covariances = (marginals * marginals[:, ::-1]) @ chances - np.square(phi)
    varied = variances > ROUNDING * np.square(marginals).max(initial=0.0)
    return np.where(varied, covariances / np.where(varied, variances, 1.0), np.nan)


def greedy_allocation(
    invariabilities: ArrayLike, counts: ArrayLike, budget: int, *, epsilon1: float | None = None
) -> IntArray:
    """Return how many of `budget` contributions each player gets from greedy selection.

    Parameters
    ----------
    invariabilities
        r_i > 0, one for each player.
    counts
        The contributions that each player has already: its initial fidelity is m_i·r_i.
    budget
        The contributions to share out.
    epsilon1
        When given, each goes where it raises the product ∏(1 − 1/(ε1²·f_i)) by the largest factor
        (Remark 1) instead of to the lowest fidelity; to the lowest while some ε1²·f_i ≤ 1.

    Examples
    --------
    >>> greedy_allocation([1.0, 2.0, 4.0], [0, 0, 0], 7)
    array([4, 2, 1])
    >>> greedy_allocation([0.3, 0.9], [4, 2], 1, epsilon1=1.0)
    array([1, 0])
    >>> greedy_allocation([0.3, 0.9], [4, 2], 1, epsilon1=10.0)
    array([0, 1])
    """
    rates = np.asarray(invariabilities, dtype=np.float64)
    held = np.asarray(counts, dtype=np.float64)
    if rates.shape != held.shape or rates.ndim != 1:
        raise InputError(
            f"give one invariability and one count per player, not {rates.shape} and {held.shape}"
        )
    if not budget:
        return np.zeros(len(rates), dtype=np.int64)
    return np.bincount(pick(rates, held, budget, epsilon1), minlength=len(rates)).astype(np.int64)


def minimum_fidelity(invariabilities: ArrayLike, budget: float, *, greedy: bool = True) -> float:
    """Return the lowest fidelity after m contributions whose variance is fixed for each player.

    Greedy selection makes all scores equal, m / Σ 1/r_i (`eq:greedy_k`), which is the most there is
    (Proposition 2). In equal parts the lowest is m·min r_i / n (`eq:mc_k`), never more, and as
    much only where all r_i are equal (Proposition 3).

    Parameters
    ----------
    invariabilities
        r_i = (|φ_i| + ξ)²/V_i, the fidelity of one contribution, whose variance is V_i.
    budget
        m, all players' contributions together.
    greedy
        Whether each contribution goes to the lowest score; else all players get as many.

    Examples
    --------
    >>> minimum_fidelity([1.0, 2.0, 4.0], 7), minimum_fidelity([1.0, 2.0, 4.0], 7, greedy=False)
    (4.0, 2.3333333333333335)
    """
    rates = checks.vector(invariabilities, "the invariabilities")
    if not (rates > 0).all():
        raise InputError("an invariability is not positive: give (|φ| + ξ)² / variance, with ξ > 0")
    return float(budget / (1.0 / rates).sum() if greedy else budget * rates.min() / rates.size)


def stratified_bound(delta: float, spread: float, budget: float, n_players: int) -> float:
    """Maleki's bound on the error of one value by stratified sampling.

    d·√(−ln(δ/2))/(n·√m_i)·(Σ_{k<n} (k + 1)^⅔)^{3/2}, which holds for all players with probability
    (1 − δ)ⁿ at least. The axioms speak of two players together; this bound does not.

    Parameters
    ----------
    delta
        δ, between 0 and 1.
    spread
        d = 2·(max v(C)/|C| − min v(C)/|C|).
    budget
        m_i, the marginal contributions of the player.
    n_players
        n.

    Examples
    --------
    >>> round(stratified_bound(0.1, spread=2.0, budget=10_000, n_players=10), 4)
    0.57
    """
    strata = float((np.arange(1, n_players + 1) ** (2 / 3)).sum()) ** 1.5
    root = np.sqrt(-np.log(check_delta(delta) / 2))
    return float(spread * root / (n_players * np.sqrt(budget)) * strata)


class BoundGain(NamedTuple):
    """What one more contribution does to the bound ∏(1 − 1/(ε1²·f_i)) of Remark 1."""

    factor: float
    """Δp, by which it grows"""
    by_invariability: float
    """The derivative of Δp by r_i, never positive"""
    by_count: float
    """The derivative of Δp by m_i, never positive"""


def bound_gain(invariability: float, count: float, epsilon1: float) -> BoundGain:
    """Δp of Remark 1 with its derivatives: 1 + 1/((m + 1)·(ε1²·r·m − 1)).

    Both derivatives are negative wherever the bound says anything, ε1²·r·m > 1: few contributions
    and a low invariability gain most. (The paper's derivative by r lacks a −1, and its condition
    for that by m, ε1² < 1/(r·(2m + 1)), holds only where the bound is empty.)

    Parameters
    ----------
    invariability, count
        r_i and m_i of the player that gets the contribution.
    epsilon1
        The multiplicative tolerance.

    Examples
    --------
    >>> bound_gain(1.0, 3, 1.0)
    BoundGain(factor=1.125, by_invariability=-0.1875, by_count=-0.09375)
    """
    tolerance = check_epsilon1(epsilon1) ** 2
    beyond = tolerance * invariability * count - 1.0
    if not beyond > 0:
        raise InputError(
            f"ε1²·r·m is {beyond + 1:.4g}, and the bound says nothing up to 1: raise epsilon1, or "
            "take more contributions first"
        )
    factor = 1.0 + 1.0 / ((count + 1) * beyond)
    by_rate = -tolerance * count / ((count + 1) * beyond**2)
    slope = tolerance * invariability * (2 * count + 1) - 1.0
    return BoundGain(factor, by_rate, -slope / ((count + 1) * beyond) ** 2)


def pdp_prefers(f: ArrayLike, f_prime: ArrayLike, *, tolerance: float = 1e-9) -> bool:
    """Return whether the Pigou–Dalton principle prefers the fidelity scores `f` to `f_prime`.

    It does when there are players i and j such that (a) everyone else has the same score in
    both, (b) f_i + f_j = f'_i + f'_j, and (c) |f_i − f_j| < |f'_i − f'_j|.

    Parameters
    ----------
    f, f_prime
        Finite fidelity scores, one per player.
    tolerance
        Differences up to this share of the largest score are rounding.

    Examples
    --------
    >>> pdp_prefers([20, 10, 5], [25, 5, 5])
    True
    >>> pdp_prefers([25, 5, 5], [20, 10, 5])
    False
    """
    scores, scores_prime = np.asarray(f, dtype=np.float64), np.asarray(f_prime, dtype=np.float64)
    if scores.shape != scores_prime.shape or scores.ndim != 1 or scores.size == 0:
        shapes = f"{scores.shape} and {scores_prime.shape}"
        raise InputError(f"give two vectors of equal length, not {shapes}")
    if not (np.isfinite(scores).all() and np.isfinite(scores_prime).all()):
        raise InputError("the Pigou–Dalton principle compares finite fidelity scores")
    slack = tolerance * float(np.abs([scores, scores_prime]).max())
    changed = np.flatnonzero(np.abs(scores - scores_prime) > slack)
    # Scores that differ in one place only have another sum; in three or more, (a) fails.
    if len(changed) != 2:
        return False
    pair, pair_prime = scores[changed], scores_prime[changed]
    same_sum = abs(float(pair.sum() - pair_prime.sum())) <= slack
    return same_sum and float(np.ptp(pair)) < float(np.ptp(pair_prime)) - slack


def _marginals(table: ArrayLike) -> tuple[FloatArray, IntArray]:
    """Each player's marginals by the bit mask of the others before it, and these masks' sizes."""
    utilities = np.asarray(table, dtype=np.float64)
    if utilities.ndim != 1 or utilities.size < 2 or utilities.size & (utilities.size - 1):
        raise InputError(f"give all 2**n utilities of the game, not shape {utilities.shape}")
    sizes = np.bitwise_count(np.arange(utilities.size // 2, dtype=np.uint64)).astype(np.int64)
    splits = [utilities.reshape(-1, 2, 1 << at) for at in range(utilities.size.bit_length() - 1)]
    return np.stack([(split[:, 1] - split[:, 0]).ravel() for split in splits]), sizes


def _size_moments(
    table: ArrayLike, semivalue: str | Semivalue
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """E[σ_i²] by player and size, the values φ, and α."""
    marginals, sizes = _marginals(table)
    n_players = len(marginals)
    base = parse_semivalue(semivalue).weights(n_players)
    number = np.bincount(sizes, minlength=n_players)
    first = np.stack([np.bincount(sizes, weights=row) for row in marginals]) / number
    second = np.stack([np.bincount(sizes, weights=np.square(row)) for row in marginals]) / number
    return second, first @ base, base
