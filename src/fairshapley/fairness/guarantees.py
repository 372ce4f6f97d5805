"""Proposition 1: the (ε1, ε2, δ)-Shapley fairness that fidelity scores promise.

The scores are those estimated from the run, plugged in for the true ones; what can be defended
without plugging in is a certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from fairshapley._basics import checks
from fairshapley._basics.text import block_html, escaped, table_html
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.levels import (
    check_bound,
    check_delta,
    check_epsilon1,
    check_variances,
    check_xi,
    joint_failure,
    player_level,
)

BOUNDS = ("chebyshev", "normal")


@dataclass(frozen=True, eq=False)
class Guarantee:
    """The estimates satisfy A1–A3 jointly with a probability of at least 1 − δ.

    Examples
    --------
    >>> print(guarantee([400.0, 800.0], epsilon1=0.5, xi=1e-3, independent=True))
    (0.5, 0.0005, 0.01495)-Shapley fairness by chebyshev, independent estimates, fidelity plugged in
    """

    epsilon1: float
    epsilon2: float
    delta: float
    """The probability that an axiom fails, from each player's own fidelity"""
    bound: str
    independent: bool
    min_fidelity: float
    delta_from_minimum: float
    """The same from the minimum fidelity alone, as Proposition 1 is stated"""
    failures: FloatArray
    """Lemma 1: for each player the probability that |φ̂_i − φ_i| exceeds ε1·|φ_i| + ε2"""
    player_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        kind = "independent" if self.independent else "dependent"
        return (
            f"({self.epsilon1:g}, {self.epsilon2:g}, {self.delta:.4g})-Shapley fairness by "
            f"{self.bound}, {kind} estimates, fidelity plugged in"
        )

    def _repr_html_(self) -> str:
        """The sentence, with the numbers behind it."""
        worst = int(np.argmax(self.failures))
        rows = [
            ("probability of failure δ", f"{self.delta:.4g}"),
            ("δ from the minimum fidelity alone", f"{self.delta_from_minimum:.4g}"),
            ("minimum fidelity", f"{self.min_fidelity:.4g}"),
            ("most uncertain player", escaped((self.player_names or {worst: str(worst)})[worst])),
        ]
        return block_html(str(self), table_html((), rows))


def failure_probabilities(fidelity: FloatArray, epsilon1: float, bound: str) -> FloatArray:
    """Lemma 1: the probability that each player's estimate is off by more than ε1·(|φ| + ξ).

    Chebyshev: 1/(ε1²f), 1 where ε1²f ≤ 1. Normal: 2(1 − Φ(ε1√f)).
    """
    scaled = np.square(epsilon1) * fidelity
    if bound == "normal":
        return 2.0 * ndtr(-np.sqrt(scaled))
    return 1.0 / np.maximum(scaled, 1.0)


def guarantee(
    fidelity: ArrayLike, epsilon1: float, *, xi: float, independent: bool, bound: str = "chebyshev"
) -> Guarantee:
    """The fairness that fidelity scores guarantee (Proposition 1, Remark 1).

    Parameters
    ----------
    fidelity
        The fidelity score of each player.
    epsilon1
        The multiplicative tolerance; ε2 = ξ·ε1 is the absolute one.
    xi
        The tolerance near zero with which the scores were computed.
    independent
        Whether no sample serves two players.
    bound
        "chebyshev" as in the paper, or "normal".
    """
    tolerance, xi = check_epsilon1(epsilon1), check_xi(xi)
    check_bound(bound, BOUNDS)
    scores = np.atleast_1d(np.asarray(fidelity, dtype=np.float64))
    if scores.ndim != 1 or scores.size == 0:
        raise InputError(f"give one fidelity score per player, not shape {scores.shape}")
    check_variances(scores)
    if (scores < 0).any():
        raise InputError("a fidelity score is negative: give (|φ| + ξ)² / variance")
    failures = failure_probabilities(scores, tolerance, bound)
    lowest = float(scores.min())
    worst = np.full_like(failures, failures.max())
    return Guarantee(
        epsilon1=tolerance,
        epsilon2=xi * tolerance,
        delta=joint_failure(failures, independent=independent) + 0.0,  # no -0
        bound=bound,
        independent=independent,
        min_fidelity=lowest,
        delta_from_minimum=joint_failure(worst, independent=independent),
        failures=failures,
    )


def required_fidelity(
    n_players: int,
    epsilon1: float,
    delta: float,
    independent: bool = True,
    bound: str = "chebyshev",
) -> float:
    """The minimum fidelity with which n players are (ε1, ξ·ε1, δ)-Shapley fair (Proposition 1).

    Examples
    --------
    >>> round(required_fidelity(100, 0.5, 0.1), 1)
    3798.5
    >>> required_fidelity(100, 0.5, 0.1, independent=False)
    4000.0
    >>> round(required_fidelity(100, 0.5, 0.1, bound="normal"), 2)
    42.93
    """
    check_bound(bound, BOUNDS)
    tolerance, failure = check_epsilon1(epsilon1), check_delta(delta)
    level = player_level(failure, checks.whole("n_players", n_players), independent=independent)
    if bound == "normal":
        return float(ndtri(level / 2) / tolerance) ** 2
    return 1.0 / (tolerance**2 * level)


def minimum_fidelity(invariabilities: ArrayLike, budget: float, *, greedy: bool = True) -> float:
    """The lowest fidelity after m contributions, where those of each player have a fixed variance.

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


@dataclass(frozen=True)
class Prediction:
    """What a target would cost, from the present result.

    Examples
    --------
    >>> print(Prediction(fidelity=43.0, contributions=1200, evaluations=8000))
    a minimum fidelity of 43 takes about 8,000 evaluations at the present allocation; samples spent
    where they are needed (Corollary 1) would be 1,200 contributions
    """

    fidelity: float
    """The minimum fidelity that the target asks for"""
    contributions: int
    """Corollary 1: Σ_i ⌈f/r_i⌉ contributions when each player gets just what it needs"""
    evaluations: int
    """Evaluations when the run goes on as it has: in proportion to the missing fidelity"""

    def __str__(self) -> str:
        return (
            f"a minimum fidelity of {self.fidelity:.4g} takes about {self.evaluations:,} "
            "evaluations at the present allocation; samples spent where they are needed "
            f"(Corollary 1) would be {self.contributions:,} contributions"
        )


def predict(fidelity: FloatArray, counts: IntArray, evaluations: int, target: float) -> Prediction:
    """The budget that Corollary 1 and the present run predict for a minimum fidelity.

    Parameters
    ----------
    fidelity, counts
        The score and the number of contributions of each player now; their ratio is the
        invariability r_i.
    evaluations
        Utility evaluations so far.
    target
        The minimum fidelity asked for, e.g. from `required_fidelity`.
    """
    check_variances(fidelity)
    if not 0 < target < math.inf:
        raise InputError(f"the target fidelity must be positive and finite, not {target!r}")
    finite = np.isfinite(fidelity)
    scores, numbers = fidelity[finite], counts[finite]
    if (scores == 0).any():
        raise InputError(
            f"player {int(np.flatnonzero(fidelity == 0)[0])} has a fidelity of 0, as its value and "
            "ξ are 0: no number of evaluations will suffice; choose a positive ξ"
        )
    needed = int(np.ceil(target * numbers / scores).sum())
    lowest = float(scores.min()) if scores.size else math.inf
    return Prediction(target, needed, math.ceil(evaluations * max(1.0, target / lowest)))
