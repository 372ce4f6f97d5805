"""The classical axioms F1–F3 as checks by enumeration, premises included.

A premise is a fact about the game: player i is null, i and j are interchangeable, i is strictly
more desirable than j. It is established from all 2**n utilities; then the values must agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._types import FloatArray
from fairshapley.errors import InputError


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
        verdict = "holds" if self.holds else f"is violated by {self.violations}"
        return f"{self.axiom} {verdict} ({len(self.premises)} cases)"


def _as_table(table: ArrayLike) -> FloatArray:
    utilities = np.asarray(table, dtype=np.float64)
    if utilities.ndim != 1 or utilities.size < 2 or utilities.size & (utilities.size - 1):
        raise InputError(f"give all 2**n utilities of the game, not shape {utilities.shape}")
    return utilities


def _swap(table: FloatArray, i: int, j: int) -> FloatArray:
    """v(C ∪ {i}) − v(C ∪ {j}) for all C without i and j."""
    low, high = sorted((i, j))
    cube = table.reshape(-1, 2, 1 << (high - low - 1), 2, 1 << low)
    with_high, with_low = cube[:, 1, :, 0], cube[:, 0, :, 1]
    difference: FloatArray = (with_low - with_high) if i == low else (with_high - with_low)
    return difference


def null_players(table: ArrayLike, *, tolerance: float = 0.0) -> tuple[int, ...]:
    """The players whose every marginal contribution is 0 (up to `tolerance`).

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
    """The pairs i < j with v(C ∪ {i}) = v(C ∪ {j}) for all C without them.

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
    """The pairs (i, j) where i is strictly more desirable than j.

    F3: v(C ∪ {i}) ≥ v(C ∪ {j}) for all C, with > for at least one. With `strict_everywhere` the
    premise is that of the paper's A3: > for all C. Differences up to `tolerance` count as 0.

    Examples
    --------
    >>> desirable_pairs([0.0, 1.0, 2.0, 5.0])
    ((1, 0),)
    """
    utilities = _as_table(table)
    n_players = utilities.size.bit_length() - 1
    pairs = []
    for i in range(n_players):
        for j in range(n_players):
            if i == j:
                continue
            difference = _swap(utilities, i, j)
            lowest, highest = difference.min(), difference.max()
            if lowest > tolerance or (
                not strict_everywhere and lowest >= -tolerance and highest > tolerance
            ):
                pairs.append((i, j))
    return tuple(pairs)


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
    F1 nullity holds (0 cases)
    F2 symmetry is violated by ((0, 1),) (1 cases)
    F3 strict desirability holds (0 cases)
    """
    utilities = _as_table(table)
    phi = np.asarray(values, dtype=np.float64)
    n_players = utilities.size.bit_length() - 1
    if phi.shape != (n_players,):
        raise InputError(f"give one value for each of the {n_players} players, not {phi.shape}")
    slack = tolerance * float(np.abs(utilities).max())
    nulls = tuple((player,) for player in null_players(utilities, tolerance=slack))
    symmetric = symmetric_pairs(utilities, tolerance=slack)
    desirable = desirable_pairs(utilities, tolerance=slack)
    unequal = tuple(pair for pair in symmetric if abs(phi[pair[0]] - phi[pair[1]]) > slack)
    reversed_ = tuple(pair for pair in desirable if not phi[pair[0]] > phi[pair[1]])
    return (
        AxiomCheck("F1 nullity", nulls, tuple(p for p in nulls if abs(phi[p[0]]) > slack)),
        AxiomCheck("F2 symmetry", symmetric, unequal),
        AxiomCheck("F3 strict desirability", desirable, reversed_),
    )
