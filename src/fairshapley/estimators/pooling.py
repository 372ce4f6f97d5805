"""Players that no utility tells apart share one value: the mean of their contributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fairshapley._types import FloatArray, IntArray
from fairshapley.estimators.base import Problem


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
        """The groups that the pairs of a problem make up.

        Examples
        --------
        >>> from fairshapley.semivalues import Shapley
        >>> problem = Problem(4, Shapley(), 0.0, 1.0, 1e-3, identical=((0, 2), (2, 3)))
        >>> Pooling.of(problem).shared(np.array([[1.0, 7.0, 2.0, 6.0]]))
        array([[3., 7., 3., 3.]])
        """
        n_players = problem.n_players
        pairs = np.array(problem.identical, dtype=np.int64).reshape(-1, 2)
        links = csr_array(
            (np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_players, n_players)
        )
        count, group = connected_components(links, directed=False)
        members = csr_array(
            (np.ones(n_players), (np.arange(n_players), group)), shape=(n_players, count)
        )
        return cls(group.astype(np.int64), members, np.bincount(group, minlength=count))

    def shared(self, contributions: FloatArray) -> FloatArray:
        """Rows of one contribution per player, with the mean of its group for each."""
        means: FloatArray = (contributions @ self.members) / self.sizes
        return means[:, self.group]
