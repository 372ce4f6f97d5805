"""Players that no utility tells apart share one value: the mean of theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.estimators.estimator import Estimate, Problem
from fairshapley.games.player_data import group_numbers


@dataclass(frozen=True, eq=False)
class Pooling:
    """Groups of identical players.

    The value of a group's members is the same, so that the mean of their contributions has the
    right mean and at most the variance of one of them; its i.i.d. copies give the error.

    Attributes
    ----------
    group
        The group of each player; one alone is a group.
    members
        1 for each player in its group, (n_players, groups).
    sizes
        The players of each group.
    """

    group: IntArray
    members: csr_array
    sizes: IntArray

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the groups that the pairs of a problem make up.

        Examples
        --------
        >>> from fairshapley.semivalues import Shapley
        >>> problem = Problem(4, Shapley(), 0.0, 1.0, 1e-3, identical=((0, 2), (2, 3)))
        >>> Pooling.of(problem).shared(np.array([[1.0, 7.0, 2.0, 6.0]]))
        array([[3., 7., 3., 3.]])
        """
        n_players = problem.n_players
        group = group_numbers(problem.identical, n_players)
        sizes = np.bincount(group)
        members = csr_array(
            (np.ones(n_players), (np.arange(n_players), group)), shape=(n_players, len(sizes))
        )
        return cls(group, members, sizes)

    def shared(self, contributions: FloatArray) -> FloatArray:
        """Return rows of one contribution per player, with the mean of its group for each."""
        means: FloatArray = (contributions @ self.members) / self.sizes
        return means[:, self.group]

    def share(self, found: Estimate, *, independent: bool) -> Estimate:
        """Return the estimate in which the players of a group have the mean of their estimates.

        The standard error of a mean is at most the mean of the standard errors, however the
        estimates depend on each other; where they are independent the variances add up. A group
        counts as many contributions as the fewest of a player in it, and its tails are the
        heaviest: bounds then hold as they did for each player. A player without a value gets that
        of the others in its group.

        Examples
        --------
        >>> from fairshapley.semivalues import Shapley
        >>> pooling = Pooling.of(Problem(3, Shapley(), 0.0, 1.0, 1e-3, identical=((0, 2),)))
        >>> values, variances = np.array([1.0, 5.0, 2.0]), np.array([1.0, 1.0, 9.0])
        >>> found = Estimate(values, variances, np.array([7, 8, 9]))
        >>> shared = pooling.share(found, independent=False)
        >>> shared.values, shared.variances, shared.counts
        (array([1.5, 5. , 1.5]), array([4., 1., 4.]), array([7, 8, 7]))
        """
        known = ~np.isnan(found.values)
        members = (known.astype(np.float64) @ self.members)[self.group]
        together = (self.sizes[self.group] > 1) & (members > 0)
        shares = 1.0 / np.maximum(members, 1.0)

        def added(numbers: FloatArray) -> FloatArray:
            sums: FloatArray = np.where(known, numbers, 0.0) @ self.members
            return sums[self.group]

        if independent:
            variances = added(np.square(shares) * found.variances)
        else:
            variances = np.square(added(shares * np.sqrt(found.variances)))
        counts = np.full(len(self.sizes), np.iinfo(np.int64).max)
        np.minimum.at(counts, self.group[known], found.counts[known])
        extremes = found.extremes
        if extremes is not None:
            heaviest = np.zeros(len(self.sizes))
            with np.errstate(invalid="ignore"):  # unknown ones stay so
                np.maximum.at(heaviest, self.group, extremes)
            extremes = np.where(together, heaviest[self.group], extremes)
        return replace(
            found,
            values=np.where(together, added(shares * found.values), found.values),
            variances=np.where(together, variances, found.variances),
            counts=np.where(together, counts[self.group], found.counts),
            extremes=extremes,
        )

    def widest(self, values: FloatArray) -> tuple[int, int]:
        """Return the two players of a group with values farthest apart, the lower value first."""
        order = np.lexsort((values, self.group))
        ends = np.cumsum(self.sizes)
        lowest, highest = order[ends - self.sizes], order[ends - 1]
        at = int(np.argmax(values[highest] - values[lowest]))
        return int(lowest[at]), int(highest[at])
