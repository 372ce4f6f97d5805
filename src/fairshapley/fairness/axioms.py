"""The classical axioms F1–F3 as checks by enumeration, premises included.

A premise is a fact about the game: player i is null, i and j are interchangeable, i is strictly
more desirable than j. It is established from all 2**n utilities; then the values must agree.

The paper's A0–A3 ask the same of estimates, up to ε1·|φ| + ε2 with ε2 = ξ·ε1; `check_fairness`
needs no table, only the true values or what is known of the game. `Premises` are its cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.text import several
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.levels import check_epsilon1, check_xi

CLASSICAL = ("F1 nullity", "F2 symmetry", "F3 strict desirability")
APPROXIMATE = ("A1 nullity", "A2 symmetry", "A3 approximate desirability")


@dataclass(frozen=True)
class AxiomCheck:
    """One axiom: where its premise holds, and where the values break it."""

    axiom: str
    premises: tuple[tuple[int, ...], ...]
    """Players (F1) or pairs of players (F2, F3) of which the axiom speaks"""
    violations: tuple[tuple[int, ...], ...]
    """Those for which the conclusion fails"""

    @property
    def holds(self) -> bool:
        """Whether no premise has a violated conclusion; true as well when there is no premise."""
        return not self.violations

    def __str__(self) -> str:
        if not self.premises:
            return f"{self.axiom}: no case to check"
        verdict = "holds" if self.holds else f"is violated by {self.violations}"
        return f"{self.axiom} {verdict} ({several(len(self.premises), 'case')})"


@dataclass(frozen=True)
class Premises:
    """Where A1–A3 speak of a game: without a case, an axiom cannot fail and says nothing.

    Examples
    --------
    >>> found = Premises.of_table([0.0, 1.0, 0.0, 1.0])
    >>> found.null_players, found.desirable_pairs
    ((1,), ((0, 1),))
    >>> print(found)
    1 null player, 0 pairs of equal value, 1 dominated pair
    >>> print(Premises.of_values([1.0, 1.0, 0.0]) | found)
    2 null players, 1 pair of equal value, 1 dominated pair
    """

    null_players: tuple[int, ...] = ()
    """Players with φ_i = 0, of which A1 speaks"""
    symmetric_pairs: tuple[tuple[int, int], ...] = ()
    """Pairs i < j with φ_i = φ_j, of which A2 speaks"""
    desirable_pairs: tuple[tuple[int, int], ...] = ()
    """Pairs (i, j) with v(C ∪ {i}) > v(C ∪ {j}) for all C, of which A3 speaks"""

    @classmethod
    def of_table(cls, table: ArrayLike, tolerance: float = 1e-9) -> Premises:
        """Return what all 2**n utilities show: null, interchangeable and dominated players.

        Differences up to this share of the largest |utility| are rounding.
        """
        utilities = _as_table(table)
        slack = tolerance * float(np.abs(utilities).max())
        return cls(
            null_players(utilities, tolerance=slack),
            symmetric_pairs(utilities, tolerance=slack),
            desirable_pairs(utilities, strict_everywhere=True, tolerance=slack),
        )

    @classmethod
    def of_values(cls, truth: ArrayLike, tolerance: float = 1e-9) -> Premises:
        """Return what true values show: A1 and A2 are conditional on φ_i = 0 and on φ_i = φ_j.

        Differences up to this share of the largest |φ| are rounding.
        """
        phi = checks.vector(truth, "the true values")
        slack = tolerance * float(np.abs(phi).max())
        nulls = np.flatnonzero(np.abs(phi) <= slack).tolist()
        return cls(tuple(nulls), tuple(map(tuple, _equal_pairs(phi, slack).tolist())))

    def __or__(self, other: Premises) -> Premises:
        """What either shows."""
        both = self.symmetric_pairs + other.symmetric_pairs
        return Premises(
            tuple(sorted({*self.null_players, *other.null_players})),
            tuple(sorted({(min(pair), max(pair)) for pair in both})),
            tuple(sorted({*self.desirable_pairs, *other.desirable_pairs})),
        )

    @property
    def counts(self) -> tuple[int, int, int]:
        """The cases of A1, A2 and A3."""
        return len(self.null_players), len(self.symmetric_pairs), len(self.desirable_pairs)

    def __str__(self) -> str:
        nulls, equal, dominated = self.counts
        return (
            f"{several(nulls, 'null player')}, "
            f"{several(equal, 'pair of equal value', 'pairs of equal value')}, "
            f"{several(dominated, 'dominated pair')}"
        )


def _as_table(table: ArrayLike) -> FloatArray:
    utilities = np.asarray(table, dtype=np.float64)
    if utilities.ndim != 1 or utilities.size < 2 or utilities.size & (utilities.size - 1):
        raise InputError(f"give all 2**n utilities of the game, not shape {utilities.shape}")
    return utilities


def _swap(table: FloatArray, i: int, j: int) -> FloatArray:
    """Return v(C ∪ {i}) − v(C ∪ {j}) for all C without i and j."""
    low, high = sorted((i, j))
    cube = table.reshape(-1, 2, 1 << (high - low - 1), 2, 1 << low)
    with_high, with_low = cube[:, 1, :, 0], cube[:, 0, :, 1]
    return (with_low - with_high) if i == low else (with_high - with_low)


def null_players(table: ArrayLike, *, tolerance: float = 0.0) -> tuple[int, ...]:
    """Return the players whose every marginal contribution is 0 (up to `tolerance`).

    Examples
    --------
    >>> null_players([0.0, 1.0, 0.0, 1.0])
    (1,)
    """
    utilities = _as_table(table)
    nulls = []
    for player in range(utilities.size.bit_length() - 1):
        split = utilities.reshape(-1, 2, 1 << player)
        if np.abs(split[:, 1] - split[:, 0]).max() <= tolerance:
            nulls.append(player)
    return tuple(nulls)


def symmetric_pairs(table: ArrayLike, *, tolerance: float = 0.0) -> tuple[tuple[int, int], ...]:
    """Return the pairs i < j with v(C ∪ {i}) = v(C ∪ {j}) for all C without them.

    Examples
    --------
    >>> symmetric_pairs([0.0, 1.0, 1.0, 5.0])
    ((0, 1),)
    """
    utilities = _as_table(table)
    n_players = utilities.size.bit_length() - 1
    return tuple(
        (i, j)
        for j in range(n_players)
        for i in range(j)
        if np.abs(_swap(utilities, i, j)).max() <= tolerance
    )


def desirable_pairs(
    table: ArrayLike, *, strict_everywhere: bool = False, tolerance: float = 0.0
) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j) where i is strictly more desirable than j.

    F3: v(C ∪ {i}) ≥ v(C ∪ {j}) for all C, with > for at least one. With `strict_everywhere` the
    premise is that of the paper's A3: > for all C. Differences up to `tolerance` count as 0.

    Examples
    --------
    >>> desirable_pairs([0.0, 1.0, 2.0, 5.0])
    ((1, 0),)
    """
    utilities = _as_table(table)

    def preferred(i: int, j: int) -> bool:
        difference = _swap(utilities, i, j)
        if strict_everywhere:
            return bool(difference.min() > tolerance)
        return bool(difference.min() >= -tolerance and difference.max() > tolerance)

    pairs = permutations(range(utilities.size.bit_length() - 1), 2)
    return tuple(pair for pair in pairs if preferred(*pair))


def check_axioms(
    table: ArrayLike, values: ArrayLike, *, tolerance: float = 1e-9
) -> tuple[AxiomCheck, AxiomCheck, AxiomCheck]:
    """Check nullity (F1), symmetry (F2) and strict desirability (F3) of values of a small game.

    Parameters
    ----------
    table
        All 2**n utilities, the index a bit mask with player 0 the lowest bit.
    values
        One value per player.
    tolerance
        Differences up to this share of the largest |utility| are rounding.

    Examples
    --------
    >>> for check in check_axioms([0.0, 1.0, 1.0, 5.0], [2.5, 2.0]):
    ...     print(check)
    F1 nullity: no case to check
    F2 symmetry is violated by ((0, 1),) (1 case)
    F3 strict desirability: no case to check
    """
    utilities = _as_table(table)
    phi = np.asarray(values, dtype=np.float64)
    n_players = utilities.size.bit_length() - 1
    if phi.shape != (n_players,):
        raise InputError(f"give one value for each of the {n_players} players, not {phi.shape}")
    slack = tolerance * float(np.abs(utilities).max())
    nulls = checks.players(null_players(utilities, tolerance=slack), n_players)
    symmetric = checks.pairs(symmetric_pairs(utilities, tolerance=slack), n_players)
    desirable = checks.pairs(desirable_pairs(utilities, tolerance=slack), n_players)
    cases = nulls[:, None], symmetric, desirable
    return _judged(CLASSICAL, cases, phi, np.zeros(n_players), slack, least_lead=0.0)


def check_estimate(estimate: ArrayLike, truth: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return estimates and true values as vectors of one length, or raise InputError."""
    values, phi = checks.vector(estimate, "the estimates"), checks.vector(truth, "the true values")
    if values.shape != phi.shape:
        raise InputError(
            f"estimates and true values must be of the same players, not {values.size} and "
            f"{phi.size} of them"
        )
    return values, phi


def tolerances(values: FloatArray, epsilon1: float, xi: float) -> FloatArray:
    """Return what A0 allows each player: ε1·|φ| + ε2, with ε2 = ξ·ε1."""
    tolerance, floor = check_epsilon1(epsilon1), check_xi(xi)
    with np.errstate(over="ignore"):  # an infinite tolerance is one that always holds
        return tolerance * np.abs(values) + tolerance * floor


def within_tolerance(values: ArrayLike, truth: ArrayLike, epsilon1: float, xi: float) -> BoolArray:
    """Check A0, closeness, for each player: |φ̂_i − φ_i| ≤ ε1·|φ_i| + ε2.

    Equation `equ:A0` of the paper, with ε2 = ξ·ε1. When it holds for all players, so do A1–A3.

    Examples
    --------
    >>> within_tolerance([1.5, 0.2], [1.0, 0.0], epsilon1=0.5, xi=0.1)
    array([ True, False])
    """
    estimate, phi = check_estimate(values, truth)
    return np.abs(estimate - phi) <= tolerances(phi, epsilon1, xi)


def _equal_pairs(phi: FloatArray, slack: float) -> IntArray:
    """Return the pairs i < j with |φ_i − φ_j| ≤ slack."""
    return np.argwhere(np.triu(np.abs(phi[:, None] - phi) <= slack, 1))


def check_fairness(
    values: ArrayLike,
    *,
    epsilon1: float,
    xi: float,
    truth: ArrayLike | None = None,
    null_players: ArrayLike = (),
    symmetric_pairs: ArrayLike | None = None,
    desirable_pairs: ArrayLike = (),
    tolerance: float = 1e-9,
) -> tuple[AxiomCheck, AxiomCheck, AxiomCheck]:
    """Check the paper's A1 nullity, A2 symmetry and A3 approximate desirability of estimates.

    With ε2 = ξ·ε1 and t_i = ε1·|φ_i| + ε2 (Section "Fairness Axioms for Shapley Value Estimates"):

    - A1: |φ̂_i| ≤ ε2 for every i with φ_i = 0;
    - A2: |φ̂_i − φ̂_j| ≤ t_i + t_j for every pair with φ_i = φ_j;
    - A3: φ̂_i − φ̂_j > −t_i − t_j for every pair where i is the more desirable.

    Without `truth` the tolerances of A2 and A3 use the estimates in place of the unknown |φ|:
    t_i = ε1·|φ̂_i| + ε2. That is a plug-in reading of the axioms; it is not implied by A0, and with
    ε1 ≥ 1 it cannot fail, since |φ̂_i − φ̂_j| ≤ |φ̂_i| + |φ̂_j|. A1 needs no plug-in: φ_i is 0.

    Parameters
    ----------
    values
        The estimates φ̂, one per player.
    epsilon1, xi
        The multiplicative tolerance and ξ = ε2/ε1, in the unit of the utility.
    truth
        The true values φ. Players with φ_i = 0 are then found, and pairs with φ_i = φ_j unless
        `symmetric_pairs` are given; all equal pairs are listed, up to n²/2 of them.
    null_players
        Players known to be null, as indices or as a boolean mask; their φ_i is taken as 0.
    symmetric_pairs
        Pairs known to be interchangeable, such as duplicates.
    desirable_pairs
        Pairs (stronger, weaker): A3 speaks of games, so these cannot be found from `truth`.
        `desirable_pairs(table, strict_everywhere=True)` finds them in a small game.
    tolerance
        Differences up to this share of the largest |φ| are rounding: such values count as equal
        (or as 0), and a bound is broken only when exceeded by more than this share of the largest
        |φ| plus the largest |φ̂|.

    Examples
    --------
    >>> checks = check_fairness([1.0, 1.5, 0.2], truth=[1.0, 1.0, 0.0], epsilon1=0.5, xi=0.1)
    >>> for check in checks:
    ...     print(check)
    A1 nullity is violated by ((2,),) (1 case)
    A2 symmetry holds (1 case)
    A3 approximate desirability: no case to check
    """
    estimate, phi = check_estimate(values, values if truth is None else truth)
    n_players, equal = len(estimate), tolerance * float(np.abs(phi).max())
    nulls = checks.players(null_players, n_players)
    phi = phi.copy()
    phi[nulls] = 0.0
    symmetric = checks.pairs(() if symmetric_pairs is None else symmetric_pairs, n_players)
    if truth is not None:
        nulls = np.flatnonzero(np.abs(phi) <= equal)
        symmetric = _equal_pairs(phi, equal) if symmetric_pairs is None else symmetric
    desirable = checks.pairs(desirable_pairs, n_players)

    allowed = tolerances(phi, epsilon1, xi)
    slack = equal + tolerance * float(np.abs(estimate).max())
    cases = nulls[:, None], symmetric, desirable
    return _judged(APPROXIMATE, cases, estimate, allowed, slack, least_lead=-slack)


def _judged(
    axioms: tuple[str, ...],
    cases: tuple[IntArray, IntArray, IntArray],
    values: FloatArray,
    allowed: FloatArray,
    slack: float,
    least_lead: float,
) -> tuple[AxiomCheck, AxiomCheck, AxiomCheck]:
    """Check nullity, symmetry and desirability: values may be off by `allowed` and by rounding."""
    nulls, symmetric, desirable = cases
    gaps, leads = (values[pairs[:, 0]] - values[pairs[:, 1]] for pairs in (symmetric, desirable))
    broken = (
        np.abs(values[nulls[:, 0]]) > allowed[nulls[:, 0]] + slack,
        np.abs(gaps) > allowed[symmetric].sum(axis=1) + slack,
        ~(leads > least_lead - allowed[desirable].sum(axis=1)),
    )
    first, second, third = (
        AxiomCheck(axiom, _tuples(found), _tuples(found[wrong]))
        for axiom, found, wrong in zip(axioms, cases, broken, strict=True)
    )
    return first, second, third


def _tuples(cases: IntArray) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, cases.tolist()))
