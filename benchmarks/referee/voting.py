"""Votes with a quota, and the power index of each voter for any number of players."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

Floats = NDArray[np.float64]
# Entries of a temporary array: 2**20 doubles are 8 MiB.
CHUNK = 1 << 20


class WeightedVoting:
    """A weighted voting game: v(S) = 1 when the votes of S reach the quota, else 0.

    Parameters
    ----------
    weights
        The votes of each player, whole numbers of at least 0.
    quota
        The votes that win: more than 0 and at most all votes together.

    Examples
    --------
    >>> game = WeightedVoting([3, 2, 1, 1], quota=4)
    >>> game(np.array([[True, False, True, False], [False, True, True, False]]))
    array([1., 0.])
    >>> np.round(12 * game.shapley_values, 9)
    array([6., 2., 2., 2.])
    """

    def __init__(self, weights: Sequence[int] | NDArray[np.int64], quota: int) -> None:
        self.weights, self.quota = np.array(weights, dtype=np.int64), quota
        self.n_players = len(self.weights)
        self.value_range = (0.0, 1.0)

    @cached_property
    def shapley_values(self) -> Floats:
        """The Shapley–Shubik power index.

        φ_i = ∫₀¹ P[q − w_i ≤ W ≤ q − 1] dp, where W is the votes of a coalition that every other
        player joins with probability p. The integrand is a polynomial of degree n − 1 in p, so
        that Gauss–Legendre quadrature at ⌈n/2⌉ points is exact; only positive numbers are added,
        so that nothing overflows and nothing cancels.
        """
        votes, quota = self._reduced()
        nodes, node_weights = roots_legendre((self.n_players + 1) // 2)
        values = np.zeros(self.n_players)
        step = max(1, CHUNK // quota)
        for start in range(0, len(nodes), step):
            part = slice(start, start + step)
            p = (nodes[part, None] + 1) / 2
            empty = np.zeros((len(p), quota))
            empty[:, 0] = 1.0
            for player, others in _leave_one_out(empty, p, votes, 0, self.n_players):
                pivotal = others[:, max(0, quota - votes[player]) :].sum(axis=1)
                values[player] += node_weights[part] / 2 @ pivotal
        return values

    def _reduced(self) -> tuple[list[int], int]:
        """Weights and quota of an equal game with the shortest table of vote counts."""
        divisor = math.gcd(*self.weights.tolist())
        votes = [weight // divisor for weight in self.weights.tolist()]
        quota = -(-self.quota // divisor)
        # The dual game (S wins when the others cannot) has the same Shapley values.
        quota = min(quota, sum(votes) - quota + 1)
        return votes, quota

    def __call__(self, coalitions: NDArray[np.bool_]) -> Floats:
        """The utility of each row of `coalitions`."""
        votes = coalitions @ self.weights
        return (votes >= self.quota).astype(np.float64)


def _leave_one_out(
    table: Floats, p: Floats, votes: Sequence[int], first: int, last: int
) -> Iterator[tuple[int, Floats]]:
    """Each player of first..last, and the distribution of the votes of all others.

    `table` (points, quota) holds P[W = t] for the players outside first..last. Halving adds each
    player log2(n) times and never divides a player out again, which would lose digits.
    """
    if last - first == 1:
        yield first, table
        return
    middle = (first + last) // 2
    yield from _leave_one_out(_join(table, p, votes[middle:last]), p, votes, first, middle)
    yield from _leave_one_out(_join(table, p, votes[first:middle]), p, votes, middle, last)


def _join(table: Floats, p: Floats, votes: Sequence[int]) -> Floats:
    """The distribution of votes after more players joined, each with probability p."""
    for vote in votes:
        if vote:
            joined = (1 - p) * table
            joined[:, vote:] += p * table[:, :-vote]
            table = joined
    return table
